"""Which session a hook has, what of a record it knows, and what it may not mix up."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.service.models import list_newest
from tests.app.clinic import Json
from tests.app.doors.fhir.hooks import (
    SOME,
    ask,
    cards,
    coded,
    drafts,
    feed,
    hook,
    session_of,
)
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]
DOORS = ["fhir", "cds"]


@pytest.fixture
def client(client: TestClient) -> TestClient:
    """A client of a service that has a model with codes."""
    client.post("/models", json=coded()).raise_for_status()
    return client


def values_of(client: TestClient, card: Json) -> Json:
    answers = session_of(client, card)["answers"]
    return {answer["feature"]: answer["value"] for answer in answers}


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"])
def test_same_hook_many_times_at_once_has_one_session(client: TestClient) -> None:
    body = hook()
    with ThreadPoolExecutor(16) as pool:
        answers = [*pool.map(lambda _: ask(client, body), range(16))]

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert len(client.get("/predict").json()["items"]) == 1


def test_same_hook_with_other_values_has_a_session_of_its_own(
    client: TestClient,
) -> None:
    body = hook()
    (one,) = cards(client, body)
    (other,) = cards(client, body | {"prefetch": {"observations": SOME}})

    assert values_of(client, one) == {"age": 63, "chol": 250, "sex": "male"}
    assert values_of(client, other) == {"chol": 250}
    assert "age" not in other["detail"]


def test_long_ids_of_two_hooks_are_two(client: TestClient) -> None:
    shown = [
        cards(client, hook(hookInstance="a" * 199 + end, prefetch={})) for end in "bc"
    ]

    assert shown[0][0]["uuid"] != shown[1][0]["uuid"]


def test_hook_of_a_stopped_case_still_has_its_card(client: TestClient) -> None:
    body = hook("order-select", context=drafts("2093-3"), prefetch={})
    (card,) = cards(client, body)
    client.post(f"/predict/{session_of(client, card)['id']}/stop").raise_for_status()

    (again,) = cards(client, body)

    assert again["links"] == card["links"]
    assert "no further test" in again["summary"]


def test_order_of_what_was_ordered_or_has_come_in_has_a_warning(
    client: TestClient,
) -> None:
    body = hook("order-select", context=drafts("2093-3"), prefetch={})
    (card,) = cards(client, body)
    path = f"/predict/{session_of(client, card)['id']}/answers"
    summaries = []
    for outcome in ({"outcome": "ordered"}, {"outcome": "value", "value": 250}):
        answers = {"answers": [{"feature": "chol", **outcome}]}
        client.post(path, json=answers).raise_for_status()
        summaries.append(cards(client, body)[0]["summary"])

    assert summaries == ["chol is ordered already", "chol is known already: 250"]


PATIENT: Json = {
    **{"resourceType": "Patient", "id": "1288992"},
    **{"birthDate": "1950-01-01", "gender": "female"},
}


def test_patient_says_age_and_sex(client: TestClient) -> None:
    services = client.get("/cds-services").json()["services"]
    assert services[0]["prefetch"]["patient"] == "Patient/{{context.patientId}}"

    (card,) = cards(client, hook(prefetch={"patient": PATIENT}))

    values = values_of(client, card)
    assert values["age"] >= 76
    assert values["sex"] == "female"


def recoded(*codes: tuple[str, str]) -> Json:
    """A model whose first features have these codes, and the others none."""
    raw = coded("odd")
    for place, feature in enumerate(raw["features"]):
        for key in ("code", "system", "ucum"):
            feature.pop(key, None)
        if place < len(codes):
            feature |= dict(zip(("code", "system"), codes[place], strict=True))
    return raw


def test_prefetch_asks_for_panels_and_escapes_codes(client: TestClient) -> None:
    raw = recoded(("8480-6", "loinc"), ("a&b, c|d", "urn:x?y#z"))
    client.post("/models", json=raw).raise_for_status()

    services = client.get("/cds-services").json()["services"]
    prefetch = next(service for service in services if service["id"].startswith("odd"))[
        "prefetch"
    ]

    codes = prefetch["observations"].partition("&code=")[2].partition("&_sort")[0]
    assert codes == (
        r"http://loinc.org|8480-6,urn:x%3Fy%23z|a%26b%5C,%20c%5C|d,"
        "http://loinc.org|85354-9"
    )
    assert "patient" not in prefetch


def test_many_versions_of_a_model_hide_no_other(
    client: TestClient, engine: sa.Engine
) -> None:
    for _ in range(3):
        client.post("/models?as_version=true", json=coded("other")).raise_for_status()

    with transaction(engine) as db:
        names = {name.name for name in list_newest(db, most=2)}

    assert names == {"clinic", "other"}


def test_model_of_any_name_has_services_that_work(client: TestClient) -> None:
    for name in ["clinic@1", "my clinic", "a/b", "..", "<b>"]:
        made = client.post("/models", json=coded(name)).json()

        services = client.get("/cds-services").json()["services"]
        (service,) = (
            service["id"]
            for service in services
            if service["title"].startswith(f"{name}:")
            and service["hook"] == "patient-view"
        )
        response = client.post(f"/cds-services/{service}", json=hook())

        (card,) = response.json()["cards"]
        assert session_of(client, card)["model"] == {"id": made["id"], "name": name}


def test_feedback_at_another_models_service_is_not_found(client: TestClient) -> None:
    client.post("/models", json=coded("other")).raise_for_status()
    (card,) = cards(client, hook(prefetch={}))

    for model in ("other", "nope"):
        response = feed(client, card, model, outcome="overridden")
        assert response.status_code == 404, response.text

    assert session_of(client, card)["answers"] == []
