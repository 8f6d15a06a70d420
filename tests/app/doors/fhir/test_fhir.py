"""Adaptive questionnaires: the same case as over /predict."""

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from askless.app.doors.fhir.vocabulary import EXTENSIONS
from tests.app.clinic import Put, clinic, model_json
from tests.app.doors.fhir.filler import (
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

pytest_plugins = ["tests.app.conftest_http"]
DOORS = ["fhir", "cds"]
N_AT_ONCE = 16

ROOT = Path(__file__).resolve().parents[4]
HEART = ROOT / "tests/pages/heart.json"


@pytest.fixture
def heart(client: TestClient) -> str:
    """The demo's table's model, with the codes of the demo's spec."""
    raw = json.loads(HEART.read_text(encoding="utf-8"))
    spec = json.loads((ROOT / "app/demo/heart.json").read_text(encoding="utf-8"))
    told = {feature["name"]: feature for feature in spec["features"]}
    for feature in raw["features"]:
        for key in ("code", "system", "ucum"):
            if key in told[feature["name"]]:
                feature[key] = told[feature["name"]][key]
    response = client.post("/models", json=raw)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def rows() -> list[dict[str, str]]:
    with (ROOT / "app/demo/heart.csv").open(encoding="utf-8") as file:
        return [*csv.DictReader(file)][:200:40]


def value_of(kind: str, cell: str) -> Any:
    """What a person answers of a cell; an empty one is unavailable."""
    if not cell:
        return "unavailable"
    if kind == "number":
        return float(cell)
    return cell == "1" if kind == "boolean" else cell


def play_api(client: TestClient, model: str, row: Json, budget: float | None) -> Json:
    session = client.post("/predict", json={"model": model, "budget": budget}).json()
    while session["question"] is not None and not session["should_stop"]:
        question = session["question"]
        value = value_of(question["type"], row[question["feature"]])
        answer = {"feature": question["feature"], "outcome": "value", "value": value}
        if value == "unavailable":
            answer = {"feature": question["feature"], "outcome": value}
        path = f"/predict/{session['id']}/answers"
        response = client.post(path, json={"answers": [answer]})
        assert response.status_code == 200, response.text
        session = response.json()
    return session


def play_door(client: TestClient, model: str, row: Json, budget: float | None) -> Json:
    kinds = {"decimal": "number", "boolean": "boolean", "choice": "category"}
    form = call(client, first(model, budget), model)
    while (item := asked(form)) is not None:
        assert form["status"] == "in-progress"
        value = value_of(kinds[item["type"]], row[item["linkId"]])
        form = call(client, with_answer(form, item, value), model)
    assert form["status"] == "completed"
    return form


def books(client: TestClient, session_id: str) -> list[tuple[str, str | None, float]]:
    items = client.get(f"/predict/{session_id}/ledger").json()["items"]
    return [(item["feature"], item["group"], item["amount"]) for item in items]


@pytest.mark.parametrize(
    ("budget", "place", "n_rows"), [(0, 0, 1), (12, 0, 2), (120, 1, 2), (None, 4, 1)]
)
def test_demo_case_is_the_same_as_over_predict(
    client: TestClient, heart: str, budget: float | None, place: int, n_rows: int
) -> None:
    for row in rows()[place : place + n_rows]:
        by_api = play_api(client, heart, row, budget)
        form = play_door(client, heart, row, budget)

        session = client.get(f"/predict/{said(form, 'session')}").json()
        same = ("answers", "prediction", "budget", "question", "stop_reason", "version")
        assert {one: session[one] for one in same} == {one: by_api[one] for one in same}
        assert books(client, session["id"]) == books(client, by_api["id"])


def test_item_has_code_unit_price_and_reason(client: TestClient, heart: str) -> None:
    form = call(client, first(heart, 120), heart)
    while (item := asked(form)) is not None and item["linkId"] != "trestbps":
        form = call(client, with_answer(form, item, "refused"), heart)

    assert item is not None
    # A title of ours is not what LOINC calls the code.
    assert item["code"] == [{"code": "8480-6", "system": "http://loinc.org"}]
    units = [
        extension["valueCoding"]
        for extension in item["extension"]
        if "valueCoding" in extension
    ]
    assert units[0] == {
        "system": "http://unitsofmeasure.org",
        "code": "mm[Hg]",
        "display": "mmHg",
    }
    session = client.get(f"/predict/{said(form, 'session')}").json()
    assert said(item, "price") == session["question"]["price"]
    assert said(item, "reason") == session["question"]["why"]
    assert item["text"] == session["question"]["text"]


def test_chances_and_amounts_are_those_of_the_session(
    client: TestClient, put: Put
) -> None:
    form = call(client, first(put(), 60))
    form = call(client, with_answer(form, asked(form) or {}, 63))

    session = client.get(f"/predict/{said(form, 'session')}").json()
    shown = [
        {part["url"]: next(v for k, v in part.items() if k != "url") for part in parts}
        for parts in (
            extension["extension"]
            for extension in form["extension"]
            if "extension" in extension
        )
    ]
    expected = session["prediction"]["classes"]
    assert [entry["label"] for entry in shown] == [entry["label"] for entry in expected]
    assert shown[0]["probability"] == pytest.approx(expected[0]["probability"], 1e-5)
    assert said(form, "spent") == session["budget"]["spent"] == 1
    assert said(form, "remaining") == session["budget"]["remaining"] == 59
    assert said(form["item"][0], "charged") == 1


@pytest.mark.parametrize("outcome", ["refused", "unknown", "unavailable", "ordered"])
def test_absent_value_is_its_outcome_and_comes_back(
    client: TestClient, put: Put, outcome: str
) -> None:
    form = call(client, first(put(), 60))
    item = asked(form)
    assert item is not None

    form = call(client, with_answer(form, item, outcome))

    session = client.get(f"/predict/{said(form, 'session')}").json()
    answer = session["answers"][0]
    assert (answer["feature"], answer["outcome"]) == (item["linkId"], outcome)
    assert session["budget"]["spent"] == (1 if outcome == "ordered" else 0)
    assert absent(outcome)[0] in form["item"][0]["extension"]
    assert "answer" not in form["item"][0]


def test_ordered_result_is_awaited_and_free_when_it_comes(
    client: TestClient, put: Put
) -> None:
    form = call(client, first(put(clinic()), None))
    while (item := asked(form)) is not None:
        form = call(client, with_answer(form, item, "ordered"))
    assert form["status"] == "in-progress"
    spent = said(form, "spent")

    values = {"age": 63, "sex": "male", "chol": 250, "fbs": True, "ecg": 1.0}
    for one in form["item"]:
        value = values.get(one["linkId"], 2.0)
        kind = {bool: "valueBoolean", str: "valueString"}.get(
            type(value), "valueDecimal"
        )
        one["answer"] = [{kind: value}]
    form = call(client, form)

    assert form["status"] == "completed"
    assert said(form, "spent") == spent == 36.37
    assert all("answer" in item for item in form["item"])


def test_repeated_call_changes_and_charges_nothing(
    client: TestClient, put: Put
) -> None:
    form = call(client, first(put(), 60))
    sent = with_answer(form, asked(form) or {}, 63)
    once = call(client, sent)

    again = [call(client, sent), call(client, once), call(client, once)]

    assert again == [once] * 3
    assert len(books(client, said(once, "session"))) == 1


def test_changed_answer_is_a_correction_that_costs_nothing(
    client: TestClient, put: Put
) -> None:
    form = call(client, first(put(), 60))
    form = call(client, with_answer(form, asked(form) or {}, 63))
    form["item"][0]["answer"] = [{"valueDecimal": 36}]

    form = call(client, form)

    assert form["item"][0]["answer"] == [{"valueDecimal": 36}]
    assert said(form, "spent") == 1
    assert said(form, "version") == 3


def test_values_of_a_first_call_are_known_and_free(
    client: TestClient, put: Put
) -> None:
    known = [{"linkId": "age", "answer": [{"valueInteger": 63}]}]
    form = call(client, first(put(), 60, item=known))
    assert said(form, "spent") == 0

    form = call(client, with_answer(form, asked(form) or {}, "male"))

    session = client.get(f"/predict/{said(form, 'session')}").json()
    assert [answer["outcome"] for answer in session["answers"]] == ["known", "value"]
    assert session["budget"]["spent"] == 0.5


def test_known_value_that_is_repeated_is_no_purchase(
    client: TestClient, put: Put
) -> None:
    known = [
        {"linkId": "age", "answer": [{"valueDecimal": 2**60}]},
        {"linkId": "fbs", "answer": [{"valueBoolean": True}]},
        {"linkId": "sex", "answer": [{"valueString": "male"}]},
    ]
    form = call(client, first(put(), 60, item=known))
    known[0]["answer"] = [{"valueDecimal": 2.0**60}]
    known[1]["answer"] = [{"valueInteger": 1}]
    known[2]["answer"] = [{"valueString": " male "}]

    again = call(client, form | {"item": known, "status": "in-progress"})

    assert again == form
    assert said(again, "spent") == 0


def test_known_value_can_be_ordered_anew(client: TestClient, put: Put) -> None:
    known = [{"linkId": "age", "answer": [{"valueDecimal": 63}]}]
    form = call(client, first(put(), 60, item=known))

    form = call(client, form | {"item": []})
    form = call(client, with_answer(form | {"item": []}, {"linkId": "age"}, "ordered"))

    assert absent("ordered")[0] in form["item"][0]["extension"]
    assert said(form, "spent") == 1


def test_session_that_the_api_began_goes_on_as_a_form_at_its_prices(
    client: TestClient, put: Put
) -> None:
    model = put()
    prices = {"costs": {"age": 2, "sex": 1.5, "chol": 0.25, "fbs": 4, "ecg": 30}}
    body = {"model": model, "budget": 60, "prices": prices | {"groups": []}}
    session = client.post("/predict", json=body).json()
    ours = {"url": url_of("session"), "valueString": session["id"]}
    form = call(client, first(model, extension=[ours]))
    item = asked(form) or {}
    price = said(item, "price")
    assert said(form, "session") == session["id"]
    assert item["linkId"] == session["question"]["feature"]
    assert price == session["question"]["price"] != 1

    form = call(client, with_answer(form, item, 63))

    assert said(form, "spent") == said(form["item"][0], "charged") == price


def test_client_that_says_completed_ends_the_session(
    client: TestClient, put: Put
) -> None:
    form = call(client, first(put(), 60))
    sent = with_answer(form, asked(form) or {}, 63) | {"status": "completed"}

    ended = call(client, sent)

    session = client.get(f"/predict/{said(form, 'session')}").json()
    assert (session["state"], session["budget"]["spent"]) == ("closed", 1)
    assert ended["status"] == "completed"
    assert asked(ended) is None
    assert call(client, sent) == ended


def test_session_is_found_by_the_contained_form_alone(
    client: TestClient, put: Put
) -> None:
    form = call(client, first(put(), 60))
    sent = with_answer(form, asked(form) or {}, 63)
    del sent["extension"]

    again = call(client, sent)

    assert said(again, "session") == said(form, "session")
    assert said(again, "spent") == 1


def test_parameters_are_taken_too(client: TestClient, put: Put) -> None:
    part = {"name": "questionnaire-response", "resource": first(put(), 60)}
    form = call(client, {"resourceType": "Parameters", "parameter": [part]})

    assert form["resourceType"] == "QuestionnaireResponse"


def test_client_keeps_its_identifier_which_finds_the_case(
    client: TestClient, put: Put
) -> None:
    mine = {"system": "urn:visits", "value": "visit-4711"}
    form = call(client, first(put(), 60, identifier=mine))

    assert form["identifier"] == mine
    found = client.get("/predict?client_ref=visit-4711").json()["items"]
    assert [entry["id"] for entry in found] == [said(form, "session")]


def test_author_that_is_contained_comes_back(client: TestClient, put: Put) -> None:
    nurse = {"resourceType": "Practitioner", "id": "nurse"}
    sent = first(put(), 60, author={"reference": "#nurse"})
    sent["contained"].append(nurse)

    form = call(client, sent)
    again = call(client, with_answer(form, form["contained"][0]["item"][0], 63))

    for one in (form, again):
        assert [part["id"] for part in one["contained"]] == ["form", "nurse"]
        assert one["author"] == {"reference": "#nurse"}


def test_form_of_a_model_has_no_question_and_begins_a_session(
    client: TestClient, put: Put
) -> None:
    model = put()
    shown = [
        validated(client.get(f"/fhir/Questionnaire/{one}"))
        for one in (model, model.replace("_", "-"), "clinic")
    ]

    assert shown == shown[:1] * 3
    assert shown[0]["id"] == model.replace("_", "-")
    assert shown[0]["url"].endswith(f"/fhir/Questionnaire/{shown[0]['id']}")
    assert "item" not in shown[0]
    sent = first("clinic", questionnaire=shown[0]["url"])
    del sent["contained"]
    assert asked(call(client, sent)) is not None


@pytest.mark.parametrize("name", ["my clinic", "clinic 100%", "a|b?c=d", "me@home"])
def test_name_in_an_address_is_read_as_addresses_are_written(
    client: TestClient, put: Put, name: str
) -> None:
    model = put(name=name)
    sent = first(
        "x", questionnaire=f"http://127.0.0.1/fhir/Questionnaire/{quote(name)}"
    )
    del sent["contained"]

    form = call(client, sent)
    again = call(client, with_answer(form, asked(form) or {}, 63), quote(name))

    session = client.get(f"/predict/{said(again, 'session')}").json()
    assert (session["model"]["id"], session["budget"]["spent"]) == (model, 1)


def test_version_of_an_address_is_that_of_the_model(
    client: TestClient, put: Put
) -> None:
    one = put()
    raw = model_json(clinic(), "clinic")
    other = client.post("/models?as_version=true", json=raw).json()["id"]

    for model, version in ((one, 1), (other, 2)):
        form = call(client, first(f"clinic|{version}"))
        session = client.get(f"/predict/{said(form, 'session')}").json()
        assert session["model"]["id"] == model
        assert call(client, form, f"clinic@{version}") == form
        assert post(client, form, f"clinic@{3 - version}").status_code == 422


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"])
def test_one_answer_many_times_at_once_is_charged_once(
    client: TestClient, put: Put
) -> None:
    form = call(client, first(put(), 60))
    sent = with_answer(form, asked(form) or {}, 63)

    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        answers = [*pool.map(lambda _: post(client, sent), range(N_AT_ONCE))]

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert books(client, said(form, "session")) == [("age", None, 1)]


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"])
def test_many_answers_at_once_are_one_and_conflicts(
    client: TestClient, put: Put
) -> None:
    form = call(client, first(put(), 60))
    item = asked(form) or {}

    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        sent = [with_answer(form, item, 20 + place) for place in range(N_AT_ONCE)]
        answers = [*pool.map(lambda one: post(client, one), sent)]

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] + [412] * (N_AT_ONCE - 1)
    assert books(client, said(form, "session")) == [("age", None, 1)]


def test_statement_names_the_operation_and_needs_no_key(client: TestClient) -> None:
    statement = validated(client.get("/fhir/metadata"))

    (questionnaire, _) = statement["rest"][0]["resource"]
    assert questionnaire["operation"][0]["name"] == "next-question"


def test_a_search_lists_the_newest_form_of_each_model(
    client: TestClient, put: Put
) -> None:
    put(name="first")
    newest = [put(name="second"), put(name="first")]

    listed = validated(client.get("/fhir/Questionnaire"))
    url = listed["entry"][0]["resource"]["url"]
    single = validated(client.get("/fhir/Questionnaire", params={"url": url}))
    none = validated(client.get("/fhir/Questionnaire", params={"url": "urn:other"}))

    forms = [entry["resource"] for entry in listed["entry"]]
    assert {form["id"].replace("-", "_") for form in forms} == {*newest}
    assert (listed["type"], listed["total"], single["total"]) == ("searchset", 2, 1)
    assert (none["total"], "entry" in none) == (0, False)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_each_extension_has_its_definition(client: TestClient, name: str) -> None:
    definition = validated(client.get(f"/fhir/StructureDefinition/{name}"))

    assert definition["url"] == url_of(name)
