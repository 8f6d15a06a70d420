"""The command line: tables are checked, trained on, evaluated and predicted."""

import csv
import io
import json

import numpy as np
import pytest

from askless.app.documents import files
from askless.core.session import machine
from askless.core.session.probability import decide_label
from askless.core.session.state import StopRule
from askless.core.simulation.simulate import class_probabilities, simulate
from tests.sessions import observe

pytest_plugins = ["tests.app.conftest_small"]


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
        "promised_error",
        "lists",
        "commonest_list",
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
    assert curve["rows"] == 80
    # Nothing is asked for nothing, which is one list, of all.
    assert (curve["lists"][0], curve["commonest_list"][0]) == (1, 1.0)


def test_evaluate_tells_what_the_first_question_promises(place, model, run):
    asked = ("--budgets", "0,4.5,inf", "--json")
    stored = json.loads(model.read_text())["curve"]

    told = json.loads(run("evaluate", model, place / "data.csv", *asked).out)
    of_others = run("evaluate", model, place / "data.csv", *asked, "--policy", "sample")

    promised, errors = told["promised_error"], stored["errors_calibrated"]
    assert (promised[0], promised[-1]) == (errors[0], errors[-1])
    assert promised[1] in errors
    # No rows measured how another policy errs.
    assert json.loads(of_others.out)["promised_error"] == [None] * 3


def test_evaluate_tells_what_early_stops_save_or_why_there_are_none(place, model, run):
    options = ("evaluate", model, place / "data.csv", "--budgets", "0,inf")
    wish = ("--disagreement", "0.1", "--delta", "0.2")

    told = json.loads(run(*options, *wish, "--json").out)["early"]
    shown = run(*options, *wish).out

    assert [entry["threshold"] for entry in told] == [None, None]
    assert [entry["differing"] for entry in told] == [0.0, 0.0]
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
    names = [feature.name for feature in ensemble.catalogue.features]
    values = np.array([read_cells(row, names) for row in read_csv(place / "data.csv")])

    walks = simulate(ensemble, values, [budget], policy)
    chances = class_probabilities(ensemble, walks)
    forecasts = []
    for stream, row in enumerate(values.tolist()):
        rule = StopRule(certain=False)
        state = machine.start(ensemble, budget, policy=policy, stream=stream, stop=rule)
        while (idx := state.next_feature_idx) is not None:
            state = observe(ensemble, state, idx, "value", row[idx])
        forecasts.append(machine.forecast(ensemble, state))

    labels = [ensemble.classes[forecast.label].label for forecast in forecasts]
    assert [row["label"] for row in read_csv(out)] == labels
    assert decide_label(ensemble, chances)[:, 0].tolist() == [
        forecast.label for forecast in forecasts
    ]
    np.testing.assert_allclose(
        chances[:, 0], [forecast.probabilities for forecast in forecasts]
    )


def read_csv(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def read_cells(row, names):
    kinds = {"red": 1.0, "blue": 0.0}
    return [kinds.get(row[name]) if name == "c" else float(row[name]) for name in names]


def test_predict_writes_a_row_per_row(place, model, run):
    out = place / "out.csv"

    run("predict", model, place / "data.csv", "--budget", "4.5", "-o", out)

    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(rows) == 80
    assert all(float(row["spend"]) <= 4.5 for row in rows)
    assert all(0 <= float(row["probability"]) <= 1 for row in rows)
    assert set(";".join(row["features"] for row in rows).split(";")) <= {"n", "c", "b"}


def test_new_categories_are_warned_about_and_charged(place, model, run):
    (place / "new.csv").write_text("n,c,b\n0.1,green,1\n")
    out = place / "new-out.csv"

    finished = run("predict", model, place / "new.csv", "--budget", "inf", "-o", out)

    assert "did not see" in finished.err
    assert "10.5" in out.read_text()


def test_model_trained_on_0_and_1_predicts_rows_with_a_2(run, tmp_path):
    lines = ["flag,y", *("01"[row % 2] + "," + "ab"[row % 2] for row in range(20))]
    (tmp_path / "old.csv").write_text("\n".join(lines))
    (tmp_path / "new.csv").write_text("flag,y\n0,a\n2,b\n")
    (tmp_path / "spec.json").write_text('{"target": "y", "algorithm": "adaboost"}')
    path = tmp_path / "m.json"
    run("train", tmp_path / "old.csv", "--spec", tmp_path / "spec.json", "-o", path)

    done = run("evaluate", path, tmp_path / "new.csv", "--budgets", "inf", "--json")

    assert json.loads(done.out)["error"] == [0.0]
