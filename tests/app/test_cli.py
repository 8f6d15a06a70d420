import csv
import io
import json
import re

import numpy as np
import pytest

from app.batch.budgets import parse_budget
from app.cli import models
from app.documents import files
from core.model.hypotheses import Stump
from core.session import machine
from core.session.probability import decide
from core.session.state import StopRule
from core.simulation.simulate import class_probabilities, walk
from core.table.catalogue import UNSEEN, Catalogue, Feature
from tests.sessions import observe
from tests.small import ensemble_of
from tests.talks import play

ROWS = 80


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A small table with a spec and a trained model beside it."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    lines = ["n,c,b,y"]
    for _ in range(ROWS):
        n, c, b = rng.normal(), rng.choice(["red", "blue"]), rng.integers(0, 2)
        y = "sick" if n + b + (c == "red") + rng.normal() / 2 > 1 else "well"
        lines.append(f"{n:.3f},{c},{b},{y}")
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    spec = {
        "name": "small",
        "target": "y",
        "positive": "sick",
        "cost_unit": "EUR",
        "features": [
            {"name": "n", "type": "number", "cost": 3},
            {"name": "c", "type": "category", "cost": 1.5, "label": "Colour"},
            {"name": "b", "type": "boolean", "cost": 2, "group": "visit"},
        ],
        "groups": [{"name": "visit", "fee": 4}],
        "algorithm": "adaboost_bt_smoothed",
        "params": {"rounds": 20},
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    return folder


@pytest.fixture
def model(place, run):
    path = place / "model.json"
    if not path.exists():
        run("train", place / "data.csv", "--spec", place / "spec.json", "-o", path)
    return path


def test_check_says_that_a_table_is_ready(place, run):
    finished = run("check", place / "data.csv", "--spec", place / "spec.json")

    assert finished.code == 0
    assert "80 rows, 3 features" in finished.out


def test_train_writes_a_model_that_can_be_read(model):
    stored = files.load_model(model)

    assert stored.name == "small"
    assert stored.target == "y"


def test_training_again_gives_the_same_bytes(place, model, run):
    again = place / "again.json"

    run("train", place / "data.csv", "--spec", place / "spec.json", "-o", again)

    assert again.read_bytes() == model.read_bytes()


def test_evaluate_prints_the_agreed_json(place, model, run):
    finished = run(
        "evaluate", model, place / "data.csv", "--budgets", "0,4.5,inf", "--json"
    )

    curve = json.loads(finished.out)
    assert list(curve) == [
        "policy",
        "budgets",
        "error",
        "error_calibrated",
        "interval",
        "mean_spend",
        "max_spend",
        "rows",
        "predictive",
    ]
    assert curve["budgets"] == [0, 4.5, None]
    assert curve["max_spend"][1] <= 4.5
    assert curve["rows"] == ROWS


def test_evaluate_tells_what_early_stops_save_or_why_there_are_none(place, model, run):
    options = ("evaluate", model, place / "data.csv", "--budgets", "0,inf")
    wish = ("--disagreement", "0.1", "--delta", "0.2")

    told = json.loads(run(*options, *wish, "--json").out)["early"]
    shown = run(*options, *wish).out

    assert [one["threshold"] for one in told] == [None, None]
    assert [one["differing"] for one in told] == [0.0, 0.0]
    assert told[1]["mean_spend"] == told[1]["mean_spend_whole"] > 0
    assert "With early stops" in shown


def test_evaluate_prints_a_table_for_people(place, model, run):
    finished = run(
        "evaluate",
        model,
        place / "data.csv",
        "--budgets",
        "inf",
        "--policy",
        "sample",
    )

    assert "unlimited" in finished.out


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_predict_says_what_sessions_and_walks_of_the_model_say(
    place, model, run, policy
):
    out, budget = place / "same.csv", 4_500_000
    run(
        *("predict", model, place / "data.csv", "--budget", "4.5", "-o", out),
        *("--policy", policy),
    )
    ensemble = files.load_model(model).ensemble
    names = [one.name for one in ensemble.catalogue.features]
    values = np.array([read_cells(row, names) for row in read_csv(place / "data.csv")])

    walks = walk(ensemble, values, [budget], policy)
    chances = class_probabilities(ensemble, walks)
    forecasts = []
    for stream, row in enumerate(values.tolist()):
        rule = StopRule(certain=False)
        state = machine.start(ensemble, budget, policy=policy, stream=stream, stop=rule)
        while (idx := state.next_feature_idx) is not None:
            state = observe(ensemble, state, idx, "value", row[idx])
        forecasts.append(machine.forecast(ensemble, state))

    labels = [ensemble.classes[one.label].label for one in forecasts]
    assert [row["label"] for row in read_csv(out)] == labels
    assert decide(ensemble, chances)[:, 0].tolist() == [one.label for one in forecasts]
    np.testing.assert_allclose(chances[:, 0], [one.probabilities for one in forecasts])


def read_csv(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def read_cells(row, names):
    kinds = {"red": 1.0, "blue": 0.0}
    return [kinds.get(row[name]) if name == "c" else float(row[name]) for name in names]


def test_predict_writes_a_row_per_row(place, model, run):
    out = place / "out.csv"

    run("predict", model, place / "data.csv", "--budget", "4.5", "-o", out)

    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(rows) == ROWS
    assert all(float(row["spend"]) <= 4.5 for row in rows)
    assert all(0 <= float(row["probability"]) <= 1 for row in rows)
    assert set(";".join(row["features"] for row in rows).split(";")) <= {"n", "c", "b"}


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
    assert [one for one in words if one not in finished.out] == []


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


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--budget", "-1", "--budget: must be a number from 0"),
        ("--budget", "0.0000001", "at most 6 decimals"),
        ("--budget", "nan", "--budget"),
        (
            "--policy",
            "magic",
            "must be one of ordered, sample, sample_reyzin for this model",
        ),
        ("--known", "zz=1", "feature of the model"),
    ],
)
def test_wrong_option_is_refused(model, run, option, value, words):
    arguments = {"--budget": "5"} | {option: value}

    finished = run("ask", model, *[x for pair in arguments.items() for x in pair])

    assert finished.code == 2
    assert words in finished.err


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"version": 3', '"version": 9'),
        lambda text: text.replace('"feature": 0', '"feature": 77', 1),
        lambda _text: "[]",
        lambda _text: "",
    ],
)
def test_damaged_model_is_refused(place, model, run, damage):
    broken = place / "broken.json"
    broken.write_text(damage(model.read_text()))

    finished = run("ask", broken, "--budget", "5")

    assert finished.code == 2
    assert "refused" in finished.err


@pytest.mark.parametrize("name", ["nothing.json", "data.csv"])
def test_missing_or_foreign_model_is_refused(place, run, name):
    finished = run("ask", place / name, "--budget", "5")

    assert finished.code == 2


def test_refused_training_writes_nothing(place, run):
    out = place / "never.json"
    (place / "bad.csv").write_text("n,c,b,y\nx,red,2,sick\n1,blue,0,well\n")

    finished = run("train", place / "bad.csv", "--spec", place / "spec.json", "-o", out)

    assert finished.code == 2
    assert not out.exists()
    assert "column n: must be a number, or empty; " in finished.err
    assert "; found 'x' in row 1" in finished.err
    assert "column b: must be true or false" in finished.err


@pytest.mark.parametrize(
    ("out", "words"),
    [("no/model.json", "--out: its folder must exist"), ("", "--out: must be a file")],
)
def test_output_that_can_not_be_written_is_refused_before_anything_is_read(
    place, run, out, words
):
    finished = run("train", place / "none", "--spec", place / "none", "-o", place / out)

    assert finished.code == 2
    assert words in finished.err


def test_name_that_no_file_can_hold_is_refused_before_training(place, run):
    spec = json.loads((place / "spec.json").read_text()) | {"name": "\ud800"}
    (place / "half.json").write_text(json.dumps(spec))
    out = place / "half-out.json"

    finished = run(
        "train", place / "data.csv", "--spec", place / "half.json", "-o", out
    )

    assert finished.code == 2
    assert "refused name: must have neither U+0000 nor halves" in finished.err
    assert not out.exists()


def test_unwritable_output_is_refused(place, model, run):
    (place / "folder.csv").mkdir(exist_ok=True)

    finished = run(
        "predict",
        model,
        place / "data.csv",
        "--budget",
        "5",
        "-o",
        place / "folder.csv",
    )

    assert finished.code == 2
    assert not list(place.glob(".*partial"))


def test_new_categories_are_warned_about_and_charged(place, model, run):
    (place / "new.csv").write_text("n,c,b\n0.1,green,1\n")
    out = place / "new-out.csv"

    finished = run("predict", model, place / "new.csv", "--budget", "inf", "-o", out)

    assert "did not see" in finished.err
    assert "10.5" in out.read_text()


def test_slip_in_a_category_is_not_charged_on_a_terminal(model):
    ensemble = files.load_model(model).ensemble
    lines = ["0.7", "purple", "list", "red", "stop"]

    state, said = play(ensemble, *lines, is_terminal=True)

    assert "Training saw no such category" in said
    assert [answer.value for answer in state.history] == [0.7, 1.0]


def test_new_category_can_be_kept_by_repeating_it(model):
    ensemble = files.load_model(model).ensemble

    state, _ = play(ensemble, "0.7", "purple", "purple", "stop", is_terminal=True)

    assert state.history[-1].value == UNSEEN


def odd_ensemble(*features):
    """A model with one stump on each feature, whatever they are called."""
    stumps = [
        Stump(i, 1.0, (1,), is_category=one.type == "category")
        for i, one in enumerate(features)
    ]
    return ensemble_of(stumps, Catalogue(features))


SIGNS = Feature("sign", "category", categories=("go", "list", "stop", "x = y"))


@pytest.mark.parametrize("category", SIGNS.categories)
def test_category_wins_over_the_command_of_its_name(category):
    state, _ = play(odd_ensemble(SIGNS, Feature("x")), category)

    assert [answer.value for answer in state.history] == [
        SIGNS.categories.index(category)
    ]


def test_command_in_capitals_is_one_beside_a_category_of_its_name():
    state, said = play(odd_ensemble(SIGNS, Feature("x")), "LIST", "STOP", "go")

    assert state.history == ()
    assert "x: x, 1.00" in said


def test_session_ends_with_its_input_where_stop_is_a_category():
    state, _ = play(odd_ensemble(SIGNS))

    assert state.history == ()


@pytest.mark.parametrize("line", ["a=b = 1", "a=b=1", "a=b =1"])
def test_feature_with_an_equals_sign_is_named(line):
    ensemble = odd_ensemble(SIGNS, Feature("a"), Feature("a=b"))

    state, _ = play(ensemble, line)

    assert [(one.feature_idx, one.value) for one in state.history] == [(2, 1.0)]


def test_known_value_of_a_feature_with_an_equals_sign_is_read():
    ensemble = odd_ensemble(SIGNS, Feature("a=b"))

    assert models.parse_known(["a=b = 2"], ensemble) == {1: 2.0}


def test_slip_in_a_named_category_is_not_charged_on_a_terminal():
    ensemble = odd_ensemble(Feature("x"), SIGNS)

    state, said = play(ensemble, "sign = slip", "stop", is_terminal=True)

    assert "Training saw no such category" in said
    assert state.history == ()


def test_answer_to_nothing_asked_must_name_its_feature():
    state, said = play(
        odd_ensemble(Feature("x")), "ordered", "7", "x = 7", is_terminal=True
    )

    assert "must be NAME = ANSWER, or stop" in said
    assert [answer.outcome for answer in state.history] == ["ordered", "value"]


def test_budget_may_be_written_with_an_exponent():
    assert parse_budget("1e9", "--budgets") == 10**15


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--seed", "18446744073709551616"),
        ("--seed", "-1"),
        ("--seed", "1_0"),
        ("--seed", "9" * 5000),
        ("--max-questions", "1_0"),
        ("--confidence", "0.9_5"),
        ("--confidence", "nan"),
        ("--confidence", "0"),
        ("--max-questions", "1000000001"),
    ],
)
def test_number_out_of_bounds_is_refused_by_its_option(run, model, option, given):
    done = run("ask", model, "--budget", 5, f"{option}={given}", answers="stop\n")

    assert done.code == 2
    assert option in done.err
    assert "Traceback" not in done.err


def test_number_with_underscores_is_no_answer(run, model):
    done = run("ask", model, "--budget", 5, "--known", "n=1_000")

    assert done.code == 2
    assert "must be a finite number" in done.err


def test_model_trained_on_0_and_1_predicts_rows_with_a_2(run, tmp_path):
    lines = ["flag,y", *("01"[row % 2] + "," + "ab"[row % 2] for row in range(20))]
    (tmp_path / "old.csv").write_text("\n".join(lines))
    (tmp_path / "new.csv").write_text("flag,y\n0,a\n2,b\n")
    (tmp_path / "spec.json").write_text('{"target": "y", "algorithm": "adaboost"}')
    path = tmp_path / "m.json"
    run("train", tmp_path / "old.csv", "--spec", tmp_path / "spec.json", "-o", path)

    done = run("evaluate", path, tmp_path / "new.csv", "--budgets", "inf", "--json")

    assert json.loads(done.out)["error"] == [0.0]
