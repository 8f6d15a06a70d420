"""What is not worth buying is said at each entrance, and bought only if asked for."""

import csv
import io
import json
from dataclasses import replace

import pytest

from askless.app.batch.orders import parse_predict_order
from askless.app.documents.model.model import model_to_json
from askless.app.words.facts import list_facts
from askless.app.words.own_questions import describe_out_of_force
from askless.app.words.savings import describe_knee
from askless.app.words.trust import budgets_now_and_at_end, describe_errors
from askless.core.model.ensemble import BudgetRange, Knee
from askless.core.session import machine
from askless.core.session.state import StopRule
from tests.panels import make_ladder
from tests.sessions import NEVER, observe
from tests.small import MICROS
from tests.worthwhile import BUDGETS, KNEES, WORTH, ensemble_of, model_of

pytest_plugins = ["tests.app.conftest_http"]


@pytest.fixture
def model(client) -> str:
    made = client.post("/models", json=model_to_json(model_of()))
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


@pytest.fixture
def place(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(model_to_json(model_of())))
    (tmp_path / "rows.csv").write_text("f0,f1,f2,y\n1,1,1,yes\n0,1,0,no\n")
    return tmp_path


def read(finished) -> list[dict[str, str]]:
    assert finished.code == 0, finished.err
    return list(csv.DictReader(io.StringIO(finished.out)))


def answer_first(client, session) -> dict:
    body = {"answers": [{"feature": "f0", "outcome": "value", "value": 1}]}
    answered = client.post(f"/predict/{session['id']}/answers", json=body)
    assert answered.status_code == 200, answered.text
    return answered.json()


@pytest.mark.parametrize("spend", ["worthwhile", "all"])
@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_plan_is_what_a_session_does(client, start, model, spend) -> None:
    plan = client.get(f"/models/{model}/plan", params={"budget": 3, "spend": spend})
    begun = start(3, model=model, stop={"certain": False, "spend": spend})

    ended = answer_first(client, begun)

    is_all = spend == "all"
    assert plan.json()["total"] == (3.0 if is_all else 1.0)
    assert begun["stop"]["spend"] == spend
    assert ended["stop_reason"] == (None if is_all else "not_worth_it")
    assert ended["should_stop"] is not is_all
    assert ended["question"]["feature"] == "f1"
    assert ended["question"]["worth"]["error_at_end"] == 0.3


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_session_says_the_price_of_what_is_not_worth_it(client, start, model) -> None:
    begun = start(None, model=model, stop={"certain": False})

    ended = answer_first(client, begun)

    assert begun["question"]["worth"]["error_at_end"] == 0.3
    assert begun["question"]["worth"]["spend_left"] == 1.0
    assert ended["stop_words"] == (
        "Going on is not worth it: 6.00 more, 2.00 for the next question, for 1 to 3 "
        "errors fewer in 100 cases."
    )
    assert ended["question"]["worth"]["error_at_end"] == 0.28


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_session_promises_nothing_once_an_answer_is_lacking(client, start) -> None:
    ladder = make_ladder(ensemble_of(), [(0, 1, 2)], can_hide=True)
    raw = model_to_json(model_of(panels=ladder))
    model = client.post("/models", json=raw).json()["id"]
    begun = start(None, model=model, stop={"certain": False, "spend": "all"})
    body = {"answers": [{"feature": "f0", "outcome": "refused"}]}

    after = client.post(f"/predict/{begun['id']}/answers", json=body).json()

    assert "If you follow the whole plan" in begun["question"]["why"]
    assert after["question"]["worth"] is None
    assert "If you follow" not in after["question"]["why"]


def test_errors_of_cases_with_every_answer_are_not_told_of_one_without() -> None:
    model = model_of()
    state = machine.start(model.ensemble, 3 * MICROS, stop=NEVER)
    assert describe_errors(model, state).startswith("The model was wrong in")

    state = observe(model.ensemble, state, 0, "refused")

    assert describe_errors(model, state) == ""


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_unknown_spend_is_refused(client, model) -> None:
    body = {"model": model, "budget": 3, "stop": {"spend": "most"}}
    refused = client.post("/predict", json=body)
    plan = client.get(f"/models/{model}/plan", params={"spend": "most"})

    assert (refused.status_code, plan.status_code) == (422, 422)
    assert refused.json()["errors"][0]["field"] == "stop.spend"


@pytest.mark.parametrize(
    ("options", "used", "spends"),
    [
        (["--budget", "3"], "1", {"1.0"}),
        (["--budget", "1"], None, {"1.0"}),
        (["--budget", "3", "--spend", "all"], None, {"3.0"}),
        (["--budget", "3", "--exact-budget"], None, {"3.0"}),
        (["--budget", "inf"], "1", {"1.0"}),
        (["--budget", "3", "--policy", "ordered"], None, {"3.0"}),
    ],
)
def test_predict_says_under_which_budget_it_played(
    place, run, options, used, spends
) -> None:
    done = run("predict", place / "m.json", place / "rows.csv", "-o", "-", *options)

    rows = read(done)
    assert {row.get("budget_used") for row in rows} == {used}
    assert {str(float(row["spend"])) for row in rows} == spends
    assert ("does as well" in done.err) == (used is not None)


def test_order_of_a_job_says_what_is_spent() -> None:
    model = model_of()
    chosen = [
        parse_predict_order({"budgets": [3]} | more, model).choose_budget(
            model.ensemble, 3 * MICROS
        )
        for more in ({}, {"spend": "all"}, {"exact_budget": True})
    ]
    assert chosen == [MICROS, 3 * MICROS, 3 * MICROS]


def test_ask_stops_where_it_is_not_worth_it_and_goes_on_if_told(place, run) -> None:
    command = "ask", place / "m.json", "--budget", "3"

    ended = run(*command, answers="1")
    whole = run(*command, "--spend", "all", answers="1 1")

    words = "Stopped: going on is not worth it: 2.00 more, for at most 1 error fewer"
    assert words in " ".join(ended.out.split())
    assert "not worth it" not in whole.out


def test_card_and_show_say_from_where_on_it_does_not_pay(place, run) -> None:
    shown = run("show", place / "m.json")

    assert ("Worth spending", WORTH) in list_facts(model_of())
    assert WORTH in " ".join(shown.out.split())


@pytest.mark.parametrize(
    "knees",
    [
        (),
        tuple(Knee(budget, budget) for budget in BUDGETS),
        # Only what nobody limits pays, which is said elsewhere.
        (Knee(0, 0), Knee(3 * MICROS, 3 * MICROS), Knee(None, None)),
    ],
)
def test_nothing_is_said_where_all_is_worth_it(knees) -> None:
    model = model_of(knees=knees)
    assert describe_knee(model) == ""
    assert "Worth spending" not in dict(list_facts(model))
    assert describe_knee(replace(model_of(), curve=None)) == ""


def test_largest_limit_that_is_not_worth_it_is_named() -> None:
    knees = (*KNEES[:3], Knee(None, None))
    assert describe_knee(model_of(knees=knees)) == (
        "going on from 1.00 to 3.00 is not worth it: 2.00 more on average for at most "
        "1 error fewer in 100 cases"
    )


def test_errors_now_and_at_the_end_are_those_of_what_is_spent() -> None:
    ensemble = ensemble_of()
    begun = machine.start(ensemble, 3 * MICROS, stop=NEVER)
    ended = observe(ensemble, begun, 0, "value", 1.0)
    beyond = observe(ensemble, ended, 1, "value", 1.0)
    whole = machine.start(ensemble, 3 * MICROS, stop=StopRule(spend="all"))

    ends = [
        budgets_now_and_at_end(ensemble, state)
        for state in (begun, ended, beyond, whole)
    ]

    assert ends == [
        (0, MICROS),
        (MICROS, 3 * MICROS),
        (3 * MICROS, 3 * MICROS),
        (0, 3 * MICROS),
    ]


def test_own_questions_are_in_force_where_the_worthwhile_part_has_them() -> None:
    ranges = (BudgetRange(MICROS, "worth"), BudgetRange(None, "panels"))
    ensemble = ensemble_of(ranges=ranges)
    state = machine.start(ensemble, 3 * MICROS, policy="panels", stop=NEVER)
    named = replace(state, policy="worth")

    assert describe_out_of_force(ensemble, named) is None
    assert describe_out_of_force(replace(ensemble, knees=()), named) is not None
