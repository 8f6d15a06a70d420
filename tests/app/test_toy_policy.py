"""The service and the command line know a policy that a test adds by one class."""

import json

import pytest

from askless.core.session.policies import POLICIES
from tests.app.clinic import clinic, model_json
from tests.cheapest import Cheapest

pytest_plugins = ["tests.app.conftest_http"]


@pytest.fixture(autouse=True)
def cheapest(monkeypatch):
    monkeypatch.setitem(POLICIES, "cheapest", Cheapest())


def test_service_and_openapi_know_a_policy_that_a_test_adds(client, start, answer):
    session = start(30, policy="cheapest")
    asked = session["question"]

    session = answer(session, (asked["feature"], "ordered")).json()
    while session["question"] is not None:
        session = answer(session, (session["question"]["feature"], "unknown")).json()

    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    others = [alternative["price"] for alternative in asked["alternatives"]]
    assert asked["price"] <= min(others)
    assert (session["policy"], session["budget"]["spent"]) == (
        "cheapest",
        asked["price"],
    )
    assert "cheapest" in schemas["Policy"]["enum"]


def test_rows_are_played_by_a_policy_that_a_test_adds(tmp_path, run, table, spec):
    data, path, model = tmp_path / "d.csv", tmp_path / "s.json", tmp_path / "m.json"
    data.write_bytes(table)
    path.write_text(json.dumps(spec))
    run("train", data, "--spec", path, "-o", model)

    told = run(
        "evaluate", model, data, "--budgets", "1,inf", "--policy", "cheapest", "--json"
    )

    curve = json.loads(told.out)
    assert curve["policy"] == "cheapest"
    assert max(curve["max_spend"][:1]) <= 1


def test_command_line_knows_a_policy_that_a_test_adds(tmp_path, run):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(model_json(clinic(), "clinic")))

    ended = run("ask", path, "--budget", 30, "--policy", "cheapest", answers="stop")
    refused = run("ask", path, "--budget", 30, "--policy", "dearest")

    assert (ended.code, refused.code) == (0, 2)
    assert "cheapest for this model" in refused.err
