"""What sessions are to reach: over HTTP, on the command line, in stored states."""

import json
from dataclasses import replace

import pytest

from askless.app.service.sessions.terms import aim_of
from askless.app.words.wording import describe_error_change
from askless.core.model.measured import MeasuredErrors
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.state import Aim
from tests.app.clinic import model_json
from tests.documents import state_from_json, state_to_json
from tests.panels import make_aimed
from tests.small import MICROS

pytest_plugins = ["tests.app.conftest_http"]


@pytest.fixture
def model(client):
    raw = json.dumps(model_json(make_aimed(), "aimed"))
    made = client.post(
        "/models", content=raw, headers={"Content-Type": "application/json"}
    )
    assert made.status_code == 201, made.text
    return "aimed"


def test_session_with_an_aim_says_what_it_comes_to_on_average(start, model):
    session = start(None, model=model, aim={"mean_budget": 2.5}, seed=3)

    assert session["aim"] == {
        "mean_budget": 2.5,
        "wanted_error": None,
        "error_price": None,
        "expected_spend": 2.5,
        "expected_error": pytest.approx(0.25),
    }
    assert session["policy"] == "adaptive"


@pytest.mark.parametrize(
    ("aim", "expected"),
    [
        (Aim(mean_budget=1 * MICROS), (1.05, 0.4)),
        (Aim(mean_budget=3 * MICROS), (3.15, 0.3)),
        (Aim(mean_budget=9 * MICROS), (4.2, 0.2)),
        (Aim(wanted_error=0.4), (0.0, 0.45)),
    ],
)
def test_aim_says_what_held_out_rows_of_the_card_did(aim, expected):
    assert expect_of(aim) == pytest.approx(expected)


MEASURED = MeasuredErrors((0, None), (0.45, 0.2))
COSTS = ((0.0, 1.0), (5.0, 0.0))


@pytest.mark.parametrize(
    ("card", "changes"),
    [
        ({}, {"measured": MEASURED}),
        ({"mean_budgets": [{"mean_budget": 1}]}, {"measured": MEASURED}),
        (None, {"measured": None}),
        (None, {"measured": MEASURED, "error_costs": COSTS}),
    ],
)
def test_aim_says_what_its_rules_did_where_the_card_says_nothing(card, changes):
    told = expect_of(Aim(mean_budget=2.5 * MICROS), card, **changes)

    assert told == pytest.approx((2.5, 0.25))


def expect_of(aim, card=None, measured=MEASURED, **changes):
    """Mean spend and error of an aim; the card is of three budgets if none is given."""
    points = [(2, 2.1, 0.35), (4, 4.2, 0.25), (5, 4.2, 0.2)]
    names = "mean_budget", "mean_spend", "error"
    if card is None:
        card = {"mean_budgets": [dict(zip(names, at, strict=True)) for at in points]}
    ensemble = replace(make_aimed(), measured=measured, **changes)
    state = machine.start(ensemble, None, policy="adaptive")
    session_aim = aim_of(Model("m", ensemble, card=card), replace(state, aim=aim))
    return session_aim.expected_spend, session_aim.expected_error


def test_question_under_an_aim_promises_no_error_that_was_not_measured(start, model):
    session = start(None, model=model, aim={"wanted_error": 0.1})

    assert session["stop_reason"] is None
    assert session["question"]["worth"] is None
    assert "the risk of a wrong prediction" not in session["question"]["why"]


def test_aim_can_be_changed_with_and_without_the_budget(client, start, model):
    session = start(None, model=model, aim={"error_price": 1})
    path = f"/predict/{session['id']}"

    worth = client.patch(path, json={"aim": {"error_price": 100}}).json()
    again = client.patch(path, json={"aim": {"error_price": 100}}).json()
    none = client.patch(path, json={"budget": 4, "aim": None}).json()

    assert (session["should_stop"], session["stop_reason"]) == (True, "not_worth_it")
    assert session["question"]["feature"] == "f0"
    assert (worth["stop_reason"], worth["version"]) == (None, 2)
    assert again == worth
    assert (none["aim"], none["budget"]["limit"]) == (None, 4.0)
    assert client.get(path).json() == none


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("aim", "field", "rule"),
    [
        ({}, "aim", "must be one of"),
        ({"mean_budget": 1, "error_price": 2}, "aim", "must be one of"),
        ({"mean_budget": -1}, "aim.mean_budget", "must"),
        ({"mean_budget": 0}, "aim.mean_budget", "must be positive"),
        ({"wanted_error": 0.05}, "aim.wanted_error", "must be at least 0.1"),
        ({"spend": 1}, "aim.spend", "is no field"),
    ],
)
def test_wrong_aim_is_refused_by_field(client, model, aim, field, rule):
    wanted = {"model": model, "budget": None, "aim": aim}

    refused = client.post("/predict", json=wanted)

    assert refused.status_code == 422
    (found,) = refused.json()["errors"]
    assert found["field"] == field
    assert found["rule"].startswith(rule)


def test_aim_is_refused_where_the_policy_takes_none(client, start, model):
    wanted = {"model": model, "budget": None, "aim": {"mean_budget": 1}}

    started = client.post("/predict", json={**wanted, "policy": "panels"})
    session = start(None, model=model, policy="panels")
    changed = client.patch(f"/predict/{session['id']}", json={"aim": wanted["aim"]})
    empty = client.patch(f"/predict/{session['id']}", json={})

    said = "is for sessions of the policy adaptive, not for the policy panels"
    rule = {"field": "aim", "rule": said}
    assert started.json()["errors"] == changed.json()["errors"] == [rule]
    assert empty.json()["errors"][0]["field"] == "budget"


def test_command_line_evaluates_predicts_and_asks_by_aims(run, tmp_path):
    path, table = tmp_path / "m.json", tmp_path / "t.csv"
    path.write_text(json.dumps(model_json(make_aimed(), "aimed")))
    table.write_text("f0,f1,disease\n0,1,c0\n1,0,c1\n2,2,c1\n")
    aims = "--aim", "mean_budget=0.000001", "--aim", "wanted_error=0.1"

    told = run("evaluate", path, table, "--budgets", "inf", *aims, "--json")
    shown = run("evaluate", path, table, "--budgets", "inf", *aims)
    out = tmp_path / "o.csv"
    ran = run("predict", path, table, "--budget", "inf", "-o", out, *aims[2:])
    asked = run("ask", path, "--budget", "inf", *aims[:2], answers="stop")

    curve = json.loads(told.out)
    assert curve["aims"] == ["mean_budget=0.000001", "wanted_error=0.1"]
    assert (curve["policy"], curve["mean_spend"]) == ("adaptive", [0.0, 5.0])
    assert "wanted_error=0.1" in shown.out
    assert ran.code == 0, ran.err
    assert ",5,f0;f1," in out.read_text().splitlines()[1]
    assert "saves less error than it costs" in asked.out


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("--aim", "spend=1"), "must be NAME=NUMBER"),
        (("--aim", "mean_budget=x"), "--aim"),
        (("--aim", "wanted_error=0.01"), "must be at least 0.1"),
        (("--budgets", "1,2", "--aim", "mean_budget=1"), "must be one beside --aim"),
        (("--aim", "mean_budget=1", "--disagreement", ".1"), "must be left out"),
    ],
)
def test_wrong_aim_of_the_command_line_is_refused(run, tmp_path, words, rule):
    path, table = tmp_path / "m.json", tmp_path / "t.csv"
    path.write_text(json.dumps(model_json(make_aimed(), "aimed")))
    table.write_text("f0,f1,disease\n0,1,c0\n1,0,c1\n")

    refused = run("evaluate", path, table, "--budgets", "inf", *words)

    assert refused.code == 2
    assert rule in refused.err


@pytest.mark.parametrize(
    "aim", [Aim(mean_budget=7), Aim(wanted_error=0.25), Aim(error_price=9), None]
)
def test_state_keeps_its_aim(aim):
    ensemble = make_aimed()
    state = machine.start(ensemble, None, aim=aim, policy="adaptive")

    raw = state_to_json(state, ensemble.catalogue)

    assert state_from_json(raw, ensemble.catalogue) == state
    assert ("aim" in raw) == (aim is not None)


def test_costs_of_errors_are_told_as_costs():
    ensemble = replace(make_aimed(), error_costs=((0.0, 1.0), (20.0, 0.0)))

    told = describe_error_change(ensemble, 2.5, 0.333333, "it")

    assert told.endswith("the expected cost of errors should fall from 2.5 to 0.333.")
