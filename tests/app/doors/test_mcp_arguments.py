"""Arguments of tools as programs of agents send them: in texts, and as null."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.documents.arguments import read_arguments
from askless.app.doors.mcp.tools import DESCRIBED
from tests.app.clinic import Json, Put
from tests.app.doors.agents import Agent

pytest_plugins = ["tests.app.conftest_http"]
DOORS = ["mcp"]


DEEP: Any = {}
for _ in range(900):
    DEEP = {"a": DEEP}


def read(tool: str, arguments: Json) -> Any:
    return read_arguments(DESCRIBED[tool].input_schema, arguments)


@pytest.mark.parametrize(
    ("tool", "sent", "meant"),
    [
        ("start_case", {"budget": "60"}, {"budget": 60}),
        ("start_case", {"budget": "12.50"}, {"budget": 12.5}),
        ("start_case", {"budget": "null"}, {"budget": None}),
        ("start_case", {"budget": None}, {"budget": None}),
        ("start_case", {"known": '{"age": 63}'}, {"known": {"age": 63}}),
        ("start_case", {"known": {"age": None, "sex": "m"}}, {"known": {"sex": "m"}}),
        ("start_case", {"known": None, "stop": None, "seed": None}, {}),
        ("start_case", {"known": "null", "stop": " null ", "seed": "null"}, {}),
        ("start_case", {"stop": '{"certain": "true"}'}, {"stop": {"certain": True}}),
        ("start_case", {"aim": {"mean_budget": "7"}}, {"aim": {"mean_budget": 7}}),
        (
            "answer",
            {"answers": '[{"feature": "age", "value": "63", "outcome": null}]'},
            {"answers": [{"feature": "age", "value": "63"}]},
        ),
        (
            "stop_case",
            {"case": "ses_1", "version": "3"},
            {"case": "ses_1", "version": 3},
        ),
        ("list_models", {"limit": "2", "after": None}, {"limit": 2}),
    ],
)
def test_a_text_is_what_its_schema_has(tool: str, sent: Json, meant: Json) -> None:
    assert read(tool, sent) == meant


@pytest.mark.parametrize(
    ("tool", "sent"),
    [
        # A text is a text where one may stand.
        ("start_case", {"model": "60", "known": {"age": "63"}, "client_ref": "null"}),
        # What says nothing that fits is refused as it is.
        ("start_case", {"budget": "much"}),
        ("start_case", {"budget": "NaN", "seed": "1.5", "run": "yes"}),
        ("start_case", {"budget": True, "stop": "[1]", "known": "63"}),
        ("start_case", {"known": '{"age": 1, "age": 2}', "aim": 3, "nonsense": "3"}),
        ("answer", {"answers": "[" * 100_000}),
        ("start_case", {"nonsense": DEEP, "known": {"age": DEEP}}),
    ],
)
def test_what_does_not_fit_stays(tool: str, sent: Json) -> None:
    assert read(tool, sent) == sent


def test_a_case_is_worked_through_in_texts(client: TestClient, put: Put) -> None:
    agent, model = Agent(client.post), put()
    known = json.dumps({"sex": "male"})

    case = agent.do("start_case", model=model, budget="60", known=known, stop=None)
    given = json.dumps([{"feature": "age", "value": "63"}])
    after = agent.do("answer", case=case["case"], answers=given, version="1")

    assert (case["remaining"], after["spent"], after["version"]) == (60, 1, 2)
    refusal = agent.refusal("start_case", model=model, budget="much")
    assert "a number, not a text" in refusal


def test_models_are_listed_with_what_they_ask_and_err(
    client: TestClient, put: Put
) -> None:
    put()

    (listed,) = Agent(client.post).do("list_models")["items"]

    (age, sex, *_) = listed["features"]
    assert (listed["target"], listed["unit"], listed["error"]) == (
        "disease",
        "CAD",
        None,
    )
    assert (age["label"], age["unit"], age["cost"]) == ("Age", "years", 1)
    assert sex["categories"] == ["female", "male"]
