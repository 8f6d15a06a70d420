"""Cases that agents work through: as over /predict, to the last charge."""

import csv
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.terminal.demo import DATA
from tests.app.clinic import Json, Put, Start
from tests.app.doors.agents import OLDER_VERSION, VERSION, Agent
from tests.pages import site

pytest_plugins = ["tests.app.conftest_http"]
DOORS = ["mcp"]

TIMES = ("created_at", "updated_at", "at", "digest")


@pytest.fixture
def agent(client: TestClient) -> Agent:
    return Agent(client.post)


@pytest.fixture
def heart(client: TestClient) -> str:
    """The name of a model on the demo's data, stored."""
    made: Json = client.post("/models", json=site.heart()).json()
    return str(made["name"])


def without_names(told: Any, case: str) -> Any:
    """What is told, without times and digests, and with the same id for each case."""
    text = json.dumps(told).replace(case, "ses_x")
    return json.loads(re.sub(rf'"({"|".join(TIMES)})": "[^"]*"', r'"\1": ""', text))


def values_of(patient: int) -> dict[str, Any]:
    """The answers of a patient of the demo's table; those without one are left out."""
    spec = json.loads((DATA / "heart.json").read_text(encoding="utf-8"))
    types = {feature["name"]: feature["type"] for feature in spec["features"]}
    with (DATA / "heart.csv").open(encoding="utf-8") as table:
        row = [*csv.DictReader(table)][patient]
    read = {"number": float, "boolean": lambda cell: cell == "1", "category": str}
    return {name: read[types[name]](row[name]) for name in types if row[name]}


QUESTION = (
    *("number", "feature", "features", "label", "text", "type", "unit", "range"),
    *("categories", "category_labels", "why"),
)
AS_THEY_ARE = (
    *("state", "version", "should_stop", "stop_reason", "stop_words", "pending"),
    "warnings",
)


def told_of(session: Json, charged: float) -> Json:
    """What a tool is to tell of a session, from what HTTP tells of it."""
    asked, predicted = session["question"], session["prediction"]
    return {
        "case": session["id"],
        "model": session["model"]["name"],
        "question": None if asked is None else {name: asked[name] for name in QUESTION},
        "price": None if asked is None else asked["price"],
        "label": predicted["label"],
        "display": predicted["display"],
        "chance": predicted["probability"],
        "charged": charged,
        "spent": session["budget"]["spent"],
        "remaining": session["budget"]["remaining"],
        "unit": session["budget"]["unit"],
        **{name: session[name] for name in AS_THEY_ARE},
    }


class Twin:
    """One case by the door, and the same over /predict."""

    def __init__(self, client: TestClient, agent: Agent, **wish: Any) -> None:
        self.client, self.agent = client, agent
        self.over_http: Json = client.post("/predict", json=wish).json()
        self.case = agent.do("start_case", **wish)

    def check(self, charged: float = 0.0) -> None:
        """Both stand alike, in the tool's result and in all that is told of them."""
        expected = told_of(self.over_http, charged)
        ids = self.case["case"], self.over_http["id"]
        assert without_names(self.case, ids[0]) == without_names(expected, ids[1])
        whole = self.client.get(f"/predict/{ids[0]}").json()
        assert without_names(whole, ids[0]) == without_names(self.over_http, ids[1])

    def answer(self, tool: str, given: Json) -> None:
        path = f"/predict/{self.over_http['id']}/answers"
        before = self.over_http["budget"]["spent"]
        body = {"answers": [{"outcome": "value", **given}]}
        self.over_http = self.client.post(path, json=body).json()
        arguments = {"answers": [given]} if tool == "answer" else given
        self.case = self.agent.do(tool, case=self.case["case"], **arguments)
        self.check(round(self.over_http["budget"]["spent"] - before, 6))

    def stop(self) -> None:
        path = f"/predict/{self.over_http['id']}"
        self.over_http = self.client.post(f"{path}/stop").json()
        self.case = self.agent.do("stop_case", case=self.case["case"])
        self.check()
        there = self.client.get(f"{path}/ledger").json()
        here = self.agent.do("ledger", case=self.case["case"])
        ids = self.case["case"], self.over_http["id"]
        assert without_names(here, ids[0]) == without_names(there, ids[1])
        assert sum(item["amount"] for item in here["items"]) == pytest.approx(
            self.case["spent"]
        )


@pytest.mark.parametrize(
    ("version", "budget", "patients"),
    [(VERSION, 60, (0, 96)), (OLDER_VERSION, 250.5, (3, 40)), (VERSION, None, (17,))],
)
def test_case_of_the_demo_is_as_over_predict(
    client: TestClient,
    heart: str,
    version: str,
    budget: float | None,
    patients: tuple[int, ...],
) -> None:
    agent = Agent(client.post, version)
    for patient in patients:
        values = values_of(patient)
        wish = {"model": heart, "budget": budget, "known": {}, "seed": 7}
        twin = Twin(client, agent, **wish)
        twin.check()
        n_asked = 0
        while twin.case["question"] is not None and not twin.case["should_stop"]:
            name = twin.case["question"]["feature"]
            n_asked += 1
            if n_asked == 2:
                twin.answer(
                    "correct_or_refuse", {"feature": name, "outcome": "unknown"}
                )
            elif name in values:
                twin.answer("answer", {"feature": name, "value": values[name]})
            else:
                given = {"feature": name, "outcome": "unavailable"}
                twin.answer("correct_or_refuse", given)
        twin.stop()
        assert n_asked > 1


def test_bundles_orders_and_corrections_are_as_over_predict(
    client: TestClient, agent: Agent, put: Put
) -> None:
    twin = Twin(client, agent, model=put(), budget=40, known={"age": 63}, seed=7)

    twin.answer("answer", {"feature": "chol", "outcome": "ordered"})
    twin.answer("answer", {"feature": "chol", "value": 260})
    twin.answer("answer", {"feature": "echo1", "value": 2})
    twin.answer("answer", {"feature": "echo2", "value": 1})
    twin.answer("correct_or_refuse", {"feature": "sex", "outcome": "refused"})
    twin.answer("correct_or_refuse", {"feature": "fbs", "outcome": "unknown"})
    twin.answer(
        "correct_or_refuse", {"feature": "chol", "outcome": "value", "value": 190}
    )
    twin.stop()
    assert twin.case["spent"] == 2.1 + 5.17 + 9


def test_same_answer_again_changes_and_charges_nothing(
    agent: Agent, start: Start
) -> None:
    case = start(20)["id"]
    first = agent.do("answer", case=case, answers=[{"feature": "age", "value": 63}])

    second = agent.do("answer", case=case, answers=[{"feature": "age", "value": 63}])

    assert second == {**first, "charged": 0.0}
    assert first["charged"] == 1.0
    assert agent.do("ledger", case=case)["sums"][0]["net"] == 1.0


def test_price_above_what_remains_is_refused_as_over_predict(
    agent: Agent, start: Start, client: TestClient
) -> None:
    case = start(5)["id"]

    told = agent.refusal(
        "answer", case=case, answers=[{"feature": "ecg", "value": 1}], insist=True
    )

    problem = json.loads(told)
    assert problem["type"] == "/problems/over-budget"
    assert (problem["feature"], problem["price"]) == ("ecg", 15.5)
    assert client.get(f"/predict/{case}").json()["budget"]["spent"] == 0


def test_version_that_has_passed_is_refused(agent: Agent, start: Start) -> None:
    case = start(20)["id"]
    given = [{"feature": "age", "value": 63}]
    agent.do("answer", case=case, answers=given, version=1)

    told = agent.refusal("stop_case", case=case, version=1)

    assert json.loads(told)["type"] == "/problems/version-mismatch"


def test_resources_are_what_http_shows(
    client: TestClient, agent: Agent, heart: str
) -> None:
    (listed,) = agent.do("list_models")["items"]
    case = agent.do("start_case", model=heart, budget=60)["case"]
    shown = {
        listed["card"]: f"/models/{listed['id']}",
        listed["curve"]: f"/models/{listed['id']}/curve",
        f"askless://models/{heart}/card": f"/models/{listed['id']}",
        f"askless://cases/{case}": f"/predict/{case}",
    }

    for uri, path in shown.items():
        (read,) = agent.send("resources/read", {"uri": uri}).json()["result"][
            "contents"
        ]

        assert read["mimeType"] == "application/json"
        assert json.loads(read["text"]) == client.get(path).json()
    listed_too = agent.send("resources/list").json()["result"]["resources"]
    assert [resource["uri"] for resource in listed_too] == [
        listed["card"],
        listed["curve"],
    ]


def test_prompt_names_model_budget_and_facts(agent: Agent, put: Put) -> None:
    put()
    arguments = {"model": "clinic", "budget": "12.50", "facts": "A man of {63}."}
    params = {"name": "work_through_a_case", "arguments": arguments}

    told = agent.send("prompts/get", params).json()["result"]["messages"][0]

    text = told["content"]["text"]
    assert "budget 12.50" in text
    assert "predicts disease (healthy or ill)" in text
    assert "A man of {63}." in text


def pages(agent: Agent, tool: str, limit: int) -> Iterator[Json]:
    after: Json = {}
    while True:
        page = agent.do(tool, limit=limit, **after)
        yield page
        if page["next"] is None:
            return
        after = {"after": page["next"]}


def test_models_and_charges_come_in_pages(agent: Agent, put: Put, start: Start) -> None:
    ids = [put(name=name) for name in ("a", "b", "c")]
    case = start(None, model=ids[0])["id"]
    given = [{"feature": name, "value": 1} for name in ("age", "chol", "ecg")]
    agent.do("answer", case=case, answers=given, insist=True)

    listed = [item for page in pages(agent, "list_models", 2) for item in page["items"]]
    charged = [item for page in pages(agent, "ledger", 2) for item in page["items"]]

    assert [entry["id"] for entry in listed] == ids[::-1]
    assert listed[0]["target"] == "disease"
    assert [charge["feature"] for charge in charged] == ["ecg", "chol", "age"]
