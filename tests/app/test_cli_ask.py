"""The command line: a case is asked about, charged and corrected."""

import csv
import io
import json
import re

import pytest

from askless.app.batch.budgets import parse_budget
from askless.app.cli import models
from askless.app.documents import files
from askless.core.catalogue.catalogue import Feature
from tests.app.test_ask import voters
from tests.talks import play

pytest_plugins = ["tests.app.conftest_small"]


@pytest.mark.parametrize(
    ("options", "answers", "words"),
    [
        pytest.param(
            "--budget inf --go-on",
            "0.7 red yes",
            ["Stopped: everything that the model needs", "10.50 EUR"],
            id="takes piped answers to the end",
        ),
        pytest.param(
            "--budget 20",
            "0.7 stop",
            [
                "1. n   3.00 EUR",
                "the chance of sick goes from",
                "17.00 left",
            ],
            id="shows price, reason and what is left",
        ),
        pytest.param(
            "--budget 20", "", ["Stopped: stopped on request"], id="ends with its input"
        ),
        pytest.param(
            "--budget inf --go-on",
            "ordered red yes n=3",
            ["Waiting for n", "Stopped: everything that the model needs"],
            id="waits for what was ordered",
        ),
        pytest.param(
            "--budget 0 --known n=0.5 --known b=yes",
            "",
            ["for 0.00 EUR"],
            id="takes known values for free",
        ),
        pytest.param(
            "--budget inf --max-questions 1",
            "1",
            ["the agreed number of questions"],
            id="stops after the agreed number of questions",
        ),
        pytest.param(
            "--budget inf --policy sample --seed 3 --go-on",
            "b=yes stop",
            ["draws; such a lead"],
            id="names its draws",
        ),
        pytest.param(
            "--budget 20",
            "list help c=red undo stop",
            ["c: Colour, 1.50 EUR", "not available"],
            id="lists what can be answered out of turn",
        ),
    ],
)
def test_ask_says(model, run, options, answers, words):
    finished = run("ask", model, *options.split(), answers=answers)

    assert finished.code == 0
    assert [word for word in words if word not in finished.out] == []


@pytest.fixture
def prices(place):
    path = place / "prices.json"
    groups = [{"name": "visit", "fee": 0.5}]
    path.write_text(json.dumps({"costs": {"n": 1, "c": 9, "b": 2}, "groups": groups}))
    return path


def test_ask_charges_the_prices_of_a_list(model, run, prices):
    options = ("--budget", "20", "--prices", prices)

    finished = run("ask", model, *options, answers="c=red b=yes n=1 stop")

    spends = re.findall(r"spent (\S+) EUR", finished.out)
    assert spends[:3] == ["9.00", "11.50", "12.50"]


def test_predict_spends_by_a_list(place, model, run, prices):
    out = place / "dear.csv"
    options = ("--budget", "inf", "-o", out)

    run("predict", model, place / "data.csv", *options, "--prices", prices)

    spends = {row["spend"] for row in csv.DictReader(io.StringIO(out.read_text()))}
    assert spends <= {"1", "3.5", "9", "10", "11.5", "12.5"}
    assert "12.5" in spends


def test_list_that_lacks_a_feature_is_refused_by_name(place, model, run):
    path = place / "short.json"
    path.write_text('{"costs": {"n": 1, "b": 2}}')

    finished = run("ask", model, "--budget", "20", "--prices", path)

    assert finished.code == 2
    assert "prices.costs.c: is required" in finished.err


@pytest.mark.parametrize("answers", ["c=red c=blue stop", "c=red undo stop"])
def test_ask_corrects_and_undoes_without_charging_twice(model, run, answers):
    finished = run("ask", model, "--budget", "20", answers=answers)

    assert finished.out.count("spent 1.50 EUR") == 2


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ("n=seven", "n: must be a finite number"),
        ("b=maybe", "b: must be true or false"),
        ("undo", "there is no answer yet"),
    ],
)
def test_ask_refuses_a_wrong_answer_from_a_pipe(model, run, answers, words):
    finished = run("ask", model, "--budget", "inf", answers=answers)

    assert finished.code == 2
    assert words in finished.err


def test_ask_refuses_what_the_budget_does_not_pay(model, run):
    finished = run("ask", model, "--budget", "5", answers="b=yes")

    assert finished.code == 2
    assert "b costs 6.00, and 5.00 is left" in finished.err


def test_slip_in_a_category_is_not_charged_on_a_terminal(model):
    ensemble = files.load_model(model).ensemble
    lines = ["0.7", "purple", "list", "red", "stop"]

    state, said = play(ensemble, *lines, is_terminal=True)

    assert "Training saw no such category" in said
    assert [answer.value for answer in state.history] == [0.7, 1.0]


SIGNS = Feature("sign", "category", categories=("go", "list", "stop", "x = y"))


@pytest.mark.parametrize("category", SIGNS.categories)
def test_category_wins_over_the_command_of_its_name(category):
    state, _ = play(voters(SIGNS, Feature("x")), category)

    assert [answer.value for answer in state.history] == [
        SIGNS.categories.index(category)
    ]


def test_command_in_capitals_is_one_beside_a_category_of_its_name():
    state, said = play(voters(SIGNS, Feature("x")), "LIST", "STOP", "go")

    assert state.history == ()
    assert "x: x, 1.00" in said


def test_session_ends_with_its_input_where_stop_is_a_category():
    state, _ = play(voters(SIGNS))

    assert state.history == ()


@pytest.mark.parametrize("line", ["a=b = 1", "a=b=1", "a=b =1"])
def test_feature_with_an_equals_sign_is_named(line):
    ensemble = voters(SIGNS, Feature("a"), Feature("a=b"))

    state, _ = play(ensemble, line)

    assert [(question.feature_idx, question.value) for question in state.history] == [
        (2, 1.0)
    ]


def test_known_value_of_a_feature_with_an_equals_sign_is_read():
    ensemble = voters(SIGNS, Feature("a=b"))

    assert models.parse_known(["a=b = 2"], ensemble) == {1: 2.0}


def test_slip_in_a_named_category_is_not_charged_on_a_terminal():
    ensemble = voters(Feature("x"), SIGNS)

    state, said = play(ensemble, "sign = slip", "stop", is_terminal=True)

    assert "Training saw no such category" in said
    assert state.history == ()


def test_answer_to_nothing_asked_must_name_its_feature():
    state, said = play(voters(Feature("x")), "ordered", "7", "x = 7", is_terminal=True)

    assert "must be NAME = ANSWER, or stop" in said
    assert [answer.outcome for answer in state.history] == ["ordered", "value"]


def test_budget_may_be_written_with_an_exponent():
    assert parse_budget("1e9", "--budgets") == 10**15


def test_number_with_underscores_is_no_answer(run, model):
    done = run("ask", model, "--budget", 5, "--known", "n=1_000")

    assert done.code == 2
    assert "must be a finite number" in done.err
