"""CDS Hooks: cards of prepared sessions, feedback, and who may ask."""

from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from askless.app.doors.cds.calls import CardPlace, read_id, write_id
from tests.app.clinic import Put
from tests.app.doors.fhir.hooks import (
    CODES,
    SOME,
    ask,
    bundle,
    cards,
    coded,
    drafts,
    feed,
    hook,
    observation,
    quantity,
    session_of,
)

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]
DOORS = ["fhir", "cds"]


@pytest.fixture
def client(client: TestClient) -> TestClient:
    """A client of a service that has a model with codes."""
    client.post("/models", json=coded()).raise_for_status()
    return client


def test_discovery_lists_two_hooks_of_each_model_with_codes(
    client: TestClient, put: Put
) -> None:
    put(name="uncoded")

    services = client.get("/cds-services").json()["services"]

    assert [(service["hook"], service["id"]) for service in services] == [
        ("patient-view", "clinic.patient-view"),
        ("order-select", "clinic.order-select"),
    ]
    query = services[0]["prefetch"]["observations"]
    assert query.startswith("Observation?patient={{context.patientId}}&code=")
    assert "http://loinc.org|2093-3" in query


def test_newest_observations_in_the_right_unit_become_known_values(
    client: TestClient,
) -> None:
    (card,) = cards(client, hook())

    session = session_of(client, card)
    taken = {
        answer["feature"]: (answer["outcome"], answer["value"])
        for answer in session["answers"]
    }
    known = {"age": ("known", 63), "chol": ("known", 250), "sex": ("known", "male")}
    assert taken == known
    assert session["budget"]["spent"] == 0


def test_card_says_chance_next_test_and_its_price(client: TestClient) -> None:
    (card,) = cards(client, hook(prefetch={"observations": SOME}))

    session = session_of(client, card)
    question, prediction = session["question"], session["prediction"]
    assert (
        f"{prediction['display']}: {prediction['probability']:.0%}" in card["summary"]
    )
    assert f"{question['label']} ({question['price']:g} CAD)" in card["summary"]
    assert question["why"] in card["detail"]
    assert "chol: 250 (2026-11-02)" in card["detail"]
    page = client.get(card["links"][0]["url"], headers={"accept": "text/html"})
    assert page.status_code == 200


def test_same_hook_again_has_the_same_session(client: TestClient) -> None:
    body = hook()

    assert cards(client, body) == cards(client, body)
    assert len(client.get("/predict").json()["items"]) == 1


def test_order_of_what_is_known_has_a_warning(client: TestClient) -> None:
    body = hook("order-select", context=drafts("2093-3", "99999-9"))

    warning, case = cards(client, body)

    assert warning["indicator"] == "warning"
    assert warning["summary"] == "chol is known already: 250"
    assert case["indicator"] == "info"


def test_order_that_would_change_nothing_has_a_warning(client: TestClient) -> None:
    raw = coded("small")
    # Only sex and age are read.
    raw["hypotheses"] = raw["hypotheses"][:2]
    client.post("/models", json=raw).raise_for_status()
    body = hook("order-select", context=drafts("2093-3"), prefetch={})

    shown = ask(client, body, "small").json()["cards"]

    assert "would not change the prediction" in shown[0]["summary"]
    assert "7.27 CAD" in shown[0]["summary"]
    session = session_of(client, shown[0])
    assert (session["budget"]["spent"], session["answers"]) == (0, [])


def test_accepted_order_is_charged_once(client: TestClient) -> None:
    (card,) = cards(client, hook(prefetch={}))
    (suggestion,) = card["suggestions"]
    accepted = {"acceptedSuggestions": [{"id": suggestion["uuid"].upper()}]}
    asked = session_of(client, card)["question"]

    for _ in range(2):
        response = feed(client, card, outcome="accepted", **accepted)
        assert response.status_code == 200, response.text

    session = session_of(client, card)
    assert session["pending"] == [asked["feature"]]
    assert session["budget"]["spent"] == asked["price"]
    assert len(client.get(f"/predict/{session['id']}/ledger").json()["items"]) == 1
    (coding,) = suggestion["actions"][0]["resource"]["code"]["coding"]
    code = CODES[asked["feature"]]["code"]
    assert coding == {"system": "http://loinc.org", "code": code}


@pytest.mark.parametrize("code", ["unavailable", "unknown", "refused", None])
def test_overridden_card_writes_its_reason_and_charges_nothing(
    client: TestClient, code: str | None
) -> None:
    (card,) = cards(client, hook(prefetch={}))
    feature = session_of(client, card)["question"]["feature"]
    reasons = {reason["code"]: reason for reason in card["overrideReasons"]}
    reason = {} if code is None else {"overrideReason": {"reason": reasons[code]}}

    assert feed(client, card, outcome="overridden", **reason).status_code == 200

    session = session_of(client, card)
    outcomes = {answer["feature"]: answer["outcome"] for answer in session["answers"]}
    assert outcomes[feature] == (code or "refused")
    assert session["budget"]["spent"] == 0


def test_accepted_card_without_a_suggestion_changes_nothing(client: TestClient) -> None:
    (card,) = cards(client, hook())

    assert feed(client, card, outcome="accepted").status_code == 200

    assert session_of(client, card)["version"] == 1


def test_card_id_is_a_uuid_that_holds_its_place() -> None:
    for idx in [None, 0, 12, 2**24 - 3]:
        place = CardPlace("ses_3b5d7f90a1c2e4f607182930", idx)

        text = write_id(place)

        assert UUID(text).version == 8
        assert read_id(text) == read_id(text.upper()) == place


BAD = [
    ({"hook": "order-sign"}, 422),
    ({"hook": "order-select"}, 422),
    ({"hookInstance": None}, 422),
    ({"hookInstance": "a b"}, 422),
    ({"context": {}}, 422),
    ({"context": []}, 422),
    ({"prefetch": []}, 422),
]


def test_bad_request_is_refused(client: TestClient) -> None:
    path = "/cds-services/clinic.patient-view"
    for change, status in BAD:
        response = client.post(path, json={**hook(), **change})

        assert response.status_code == status, response.text
        assert client.get("/predict").json()["items"] == []


# Values are read as in test_observations; here it is what is around them.
ODD = [
    None,
    {"observations": {"resourceType": "OperationOutcome", "issue": []}},
    {"observations": 7, "other": "x"},
    {"observations": {"resourceType": "Bundle", "entry": [7, {}, {"resource": []}]}},
    {"observations": bundle(observation("2093-3", valueQuantity=[], component=7))},
    {"observations": bundle({"resourceType": "Observation", "code": {"coding": [7]}})},
    {"patient": {"resourceType": "Patient", "birthDate": [], "gender": {}}},
]


def test_odd_observations_are_left_out(client: TestClient) -> None:
    for prefetch in ODD:
        (card,) = cards(client, hook(prefetch=prefetch))

        assert session_of(client, card)["answers"] == []


def test_card_says_what_was_left_out_and_why(client: TestClient) -> None:
    (card,) = cards(client, hook())

    told = "chol: left out (2026-11-09), since its unit `mmol/L` can't be converted"
    assert told in card["detail"]


def test_components_are_read_as_observations(client: TestClient) -> None:
    code = {"coding": [{"system": "http://loinc.org", "code": "2093-3"}]}
    part = {"code": code, "valueQuantity": quantity(199, "mg/dL")}
    panel = bundle(observation("57698-3", component=[part]))

    (card,) = cards(client, hook(prefetch={"observations": panel}))

    assert session_of(client, card)["answers"][0]["value"] == 199


def test_unknown_service_is_not_found(client: TestClient) -> None:
    for service in ["clinic", "clinic.order-sign", "nope.patient-view"]:
        response = client.post(f"/cds-services/{service}", json=hook())

        assert response.status_code == 404


def test_feedback_on_an_unknown_card_is_refused(client: TestClient) -> None:
    for card, status in [
        ("x", 422),
        ("6c0e9c0e-3f43-4f0a-9d2a-0d5b1f6a7c11", 404),
        ("00000000-0000-8000-8000-000000000001", 404),
    ]:
        response = feed(client, {"uuid": card}, outcome="overridden")

        assert response.status_code == status
