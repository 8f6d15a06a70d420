"""Bad input at the door of FHIR: an OperationOutcome, and nothing charged."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.core.session import answers
from tests.app.clinic import Put, ageless, model_json
from tests.app.doors.fhir.filler import (
    MEDIA_TYPE,
    Json,
    absent,
    asked,
    call,
    first,
    post,
    said,
    url_of,
    validated,
    with_answer,
)
from tests.app.doors.fhir.hooks import coded

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]
DOORS = ["fhir", "cds"]


def refused(response: Any, status: int, code: str, field: str | None = None) -> Json:
    """Check the status and kind of a refusal; give its first issue."""
    assert response.status_code == status, response.text
    outcome = validated(response)
    assert outcome["resourceType"] == "OperationOutcome"
    issue: Json = outcome["issue"][0]
    assert (issue["severity"], issue["code"]) == ("error", code)
    if field is not None:
        assert issue["expression"] == [field]
    return issue


@pytest.fixture
def form(client: TestClient, put: Put) -> Json:
    """A session's form with its first question open."""
    return call(client, first(put(), 60))


def spent(client: TestClient, form: Json) -> tuple[float, int]:
    session = client.get(f"/predict/{said(form, 'session')}").json()
    return session["budget"]["spent"], session["version"]


def item(name: str, **value: Any) -> Json:
    return {"linkId": name, "answer": [value]}


def test_what_is_no_json_is_refused(client: TestClient) -> None:
    for body in [b"", b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000, b'{"a":1,"a":2}']:
        path = "/fhir/Questionnaire/$next-question"
        response = client.post(path, content=body, headers={"content-type": MEDIA_TYPE})

        refused(response, 422, "invalid")


WRONG = [
    ({"item": [item("nope", valueDecimal=1)]}, "item[0].linkId"),
    ({"item": [item("age", valueString="old")]}, "item[0].answer"),
    ({"item": [item("sex", valueCoding={"code": "neither"})]}, "item[0].answer"),
    ({"item": [item("sex", valueCoding={"system": "urn:x"})]}, None),
    ({"item": [item("age", valueQuantity={"value": 3, "unit": "months"})]}, None),
    (
        {"item": [item("age", valueQuantity={"value": 3, "comparator": "<"})]},
        "item[0].answer[0].valueQuantity.comparator",
    ),
    ({"item": [{"linkId": "age", "answer": [{"valueDecimal": 1}] * 2}]}, None),
    ({"item": [item("age", valueDecimal=1)] * 2}, None),
    ({"item": [item("age", valueNope=1)]}, "item[0].answer[0].valueNope"),
    ({"item": [item("age", valueReference={"reference": "Patient/1"})]}, None),
    ({"item": [item("age", valueDecimal=1, valueInteger=1)]}, None),
    ({"item": [{"answer": [{"valueDecimal": 1}]}]}, None),
    ({"item": {"linkId": "age"}}, "item"),
    ({"item": [7]}, "item[0]"),
    ({"item": [{"linkId": "age"}] * 1001}, "item"),
    ({"status": "entered-in-error"}, "status"),
    ({"status": "nope"}, None),
    ({"status": None}, None),
    ({"questionnaire": None}, "questionnaire"),
    ({"questionnaire": "#other"}, "questionnaire"),
    ({"questionnaire": "http://x/Questionnaire/other"}, "questionnaire"),
    ({"contained": 7}, "contained"),
    ({"contained": [{"resourceType": "Patient", "id": "form"}]}, "questionnaire"),
    ({"subject": "Patient/1"}, None),
    ({"extension": {}}, "extension"),
    ({"extension": 0}, "extension"),
    ({"nonsense": 1}, "nonsense"),
]


def nested(depth: int, innermost: Json, around: Callable[[Json], Json]) -> Json:
    for _ in range(depth):
        innermost = around(innermost)
    return innermost


def budget(value: float, **more: Any) -> Json:
    quantity = {"value": value, **more}
    return {"url": url_of("budget"), "valueQuantity": quantity}


def wrong_forms(form: Json, other: Json) -> Iterator[tuple[Json, str | None]]:
    """Yield what a later call must not be, with the field that is named."""
    right = with_answer(form, asked(form) or {}, 63)
    for change, field in WRONG:
        yield {**right, **change}, field
    for odd in [
        *(7, {"id": "x"}, {"resourceType": 7}),
        {"resourceType": "Nonsense", "id": "x"},
        {"resourceType": "Patient", "birthDate": "x"},
    ]:
        yield form | {"contained": [*form["contained"], odd]}, None
    yield right | {"contained": other["contained"]}, "contained"
    for depth in [100, 200, 400]:
        held = nested(depth, {}, lambda held: {"identifier": {"assigner": held}})
        yield form | {"subject": held}, None
    deep = nested(12, {"linkId": "x"}, lambda part: {"linkId": "x", "item": [part]})
    yield form | {"item": [deep]}, None
    begun = form["extension"]
    others = [part for part in begun if part["url"] != url_of("budget")]
    yield form | {"extension": [*others, budget(1000, unit="CAD")]}, "extension"
    # The path counts what stands before.
    version = {"url": url_of("version"), "valueInteger": "x"}
    path = f"extension[{len(begun)}].valueInteger"
    yield form | {"extension": [*begun, version]}, path


def test_wrong_later_call_is_refused_and_nothing_is_charged(
    client: TestClient, form: Json
) -> None:
    other = call(client, first("clinic", 60))

    for sent, field in wrong_forms(form, other):
        refused(post(client, sent), 422, "invalid", field)

    assert spent(client, form) == spent(client, other) == (0, 1)
    ageless_form = call(client, with_answer(form, asked(form) or {}, 63))
    client.post("/models", json=model_json(ageless(), "ageless"))
    refused(post(client, ageless_form, "ageless"), 422, "invalid", "questionnaire")


def session_of(value: Any) -> list[Json]:
    return [{"url": url_of("session"), "valueString": value}]


NOWHERE = "ses_" + "0" * 24
# What a first call must not be: the resource, its status, code and field.
FIRST: list[tuple[Any, int, str, str | None]] = [
    ({"resourceType": "Patient", "id": "1"}, 422, "invalid", "resourceType"),
    ({"resourceType": "Bundle", "type": "batch"}, 422, "invalid", "resourceType"),
    *(
        ({"resourceType": "Parameters", "parameter": part}, 422, "invalid", None)
        for part in ([], [7])
    ),
    ([], 422, "invalid", "resourceType"),
    ("x", 422, "invalid", "resourceType"),
    *((first(name), 404, "not-found", None) for name in ("nope", "clinic@7")),
    (first("clinic", extension=session_of(NOWHERE)), 404, "not-found", None),
    *(
        (first("clinic", extension=session_of(odd)), 422, "invalid", None)
        for odd in ("ses_x", "\0", "", 7)
    ),
    *(
        (
            first("clinic", extension=[{"url": url_of("budget"), "valueDecimal": odd}]),
            *(422, "invalid", None),
        )
        for odd in (-1, 1e300, "much", True)
    ),
    *(
        (first("clinic", extension=odd), 422, "invalid", "extension")
        for odd in (
            [budget(60, unit="USD")],
            [budget(60, unit="CAD", code="USD")],
            [budget(60, comparator="<")],
            [budget(60), budget(1000)],
        )
    ),
    (
        first("clinic", item=[{"linkId": "age", "extension": absent("refused")}]),
        *(422, "invalid", "item[0]"),
    ),
    (first("clinic", status="completed"), 422, "invalid", "status"),
]


def test_wrong_first_call_is_refused_and_starts_nothing(
    client: TestClient, put: Put
) -> None:
    put()
    put(ageless(), "ageless")
    for sent, status, code, field in FIRST:
        refused(post(client, sent), status, code, field)

    refused(post(client, first("clinic"), "nope"), 404, "not-found")
    refused(client.get("/fhir/Questionnaire/nope"), 404, "not-found")
    refused(post(client, first("ageless"), "clinic"), 422, "invalid", "questionnaire")
    assert client.get("/predict").json()["items"] == []


def test_unknown_reason_is_refused(client: TestClient, form: Json) -> None:
    for code in ["asked-wrongly", "as-text", "not-a-number", "", None]:
        reason = absent("refused")[0] | {"valueCode": code}
        sent = form | {"item": [{"linkId": "age", "extension": [reason]}]}

        response = post(client, sent)

        assert response.status_code == (200 if code is None else 422), response.text
        assert spent(client, form) == (0, 1)


def test_refusal_repeats_no_value(client: TestClient, form: Json) -> None:
    sent = form | {"item": [item("sex", valueString="a secret of the patient")]}

    assert "secret" not in post(client, sent).text


def test_answer_beyond_the_budget_is_a_broken_business_rule(
    client: TestClient, put: Put
) -> None:
    form = call(client, first(put(), 2))
    many = [item("age", valueDecimal=63), item("ecg", valueDecimal=1)]

    issue = refused(post(client, form | {"item": many}), 409, "business-rule")

    assert issue["details"]["coding"][0]["code"] == "over-budget"
    assert spent(client, form) == (0, 1)


def test_answer_that_changes_nothing_is_refused(client: TestClient, put: Put) -> None:
    form = call(client, first(put(ageless(), "ageless"), 60))

    sent = form | {"item": [item("age", valueDecimal=63)]}

    refused(post(client, sent), 409, "business-rule")


def test_old_version_with_new_answers_is_a_conflict(
    client: TestClient, form: Json
) -> None:
    one = with_answer(form, asked(form) or {}, 63)
    other = with_answer(form, asked(form) or {}, 36)
    call(client, one)

    refused(post(client, other), 412, "conflict")

    assert spent(client, form) == (1, 2)


def test_late_order_does_not_undo_its_result(client: TestClient, form: Json) -> None:
    ordered = with_answer(form, asked(form) or {}, "ordered")
    call(client, ordered)
    path = f"/predict/{said(form, 'session')}/answers"
    answer = {"feature": "age", "outcome": "value", "value": 63}
    client.post(path, json={"answers": [answer]})
    del ordered["extension"]

    again = call(client, ordered)

    assert again["item"][0]["answer"] == [{"valueDecimal": 63}]


def test_closed_and_erased_sessions_take_no_answer(
    client: TestClient, form: Json
) -> None:
    sent = with_answer(form, asked(form) or {}, 63)
    client.post(f"/predict/{said(form, 'session')}/stop")
    refused(post(client, sent), 409, "expired")
    client.delete(f"/predict/{said(form, 'session')}")

    refused(post(client, sent), 409, "expired")
    refused(post(client, form), 409, "expired")


def test_answer_that_was_corrected_too_often_is_refused_by_its_path(
    client: TestClient, form: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MAX_TAKEN", 3)
    path = f"/predict/{said(form, 'session')}/answers"
    for place in range(3):
        answer = {"feature": "age", "outcome": "value", "value": 20 + place}
        body = {"answers": [answer], "insist": True}
        client.post(path, json=body).raise_for_status()

    again = with_answer(form, asked(form) or {}, 19) | {"extension": []}
    refused(post(client, again), 422, "invalid", "item[0]")


def test_version_that_has_passed_ends_no_session(
    client: TestClient, form: Json
) -> None:
    call(client, with_answer(form, asked(form) or {}, 63))

    refused(post(client, form | {"status": "completed"}), 412, "conflict")

    session = client.get(f"/predict/{said(form, 'session')}").json()
    assert session["state"] == "open"


def test_units_are_converted_and_coded_yes_is_read(
    client: TestClient,
) -> None:
    model = client.post("/models", json=coded()).json()["id"]
    yes = {"system": "http://loinc.org", "code": "LA33-6"}
    known = [
        item("age", valueQuantity={"value": 756, "code": "mo"}),
        item("fbs", valueCoding=yes),
    ]

    form = call(client, first(model, item=known))

    values = {item["linkId"]: item["answer"][0] for item in form["item"]}
    assert values["age"] == {"valueDecimal": 63}
    assert values["fbs"] == {"valueBoolean": True}


def test_budget_in_the_unit_of_prices_is_taken(client: TestClient, put: Put) -> None:
    form = call(client, first(put(), extension=[budget(60, unit="CAD")] * 2))

    assert said(form, "budget") == 60


def test_other_types_of_content_and_methods_are_refused(
    client: TestClient, put: Put
) -> None:
    path = f"/fhir/Questionnaire/{put()}"
    xml = {"content-type": "application/fhir+xml"}

    wrong = client.post(f"{path}/$next-question", content="<a/>", headers=xml)
    refused(wrong, 415, "not-supported")
    refused(client.delete(path), 405, "not-supported")
    refused(client.get("/fhir/Patient/1"), 404, "not-found")
    refused(client.get("/fhir/StructureDefinition/nope"), 404, "not-found")
    assert client.head(f"{path}x").content == b""


def test_same_key_repeats_the_first_call(client: TestClient, put: Put) -> None:
    sent, headers = first(put(), 60), {"Idempotency-Key": "one"}

    one, other = (post(client, sent, headers=headers) for _ in range(2))

    assert json.loads(one.content) == json.loads(other.content)
    assert other.headers["Idempotent-Replayed"] == "true"
