"""What `evaluate` says of chances and labels on a table."""

import json
from dataclasses import replace

import numpy as np
import pytest

from askless.app.documents.files import model_text
from askless.core.model.model import Model
from tests.app.clinic import clinic

N_ROWS = 60


@pytest.fixture
def place(tmp_path):
    """A model of the clinic without a curve, and rows with their classes."""
    rng = np.random.default_rng(0)
    lines = ["age,sex,chol,fbs,ecg,echo1,echo2,disease,visits,person"]
    for row in range(N_ROWS):
        age = rng.integers(30, 80)
        ill = int(age + rng.normal(0, 10) > 55)
        sex = rng.choice(["male", "female"])
        lines.append(f"{age},{sex},200,true,1,1,2,{ill},{1 + row % 4},{row // 2}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    costs = ((0.0, 1.0), (8.0, 0.0))
    priced = replace(clinic(), error_costs=costs)
    for name, ensemble in (("m", clinic()), ("priced", priced)):
        text = model_text(Model(name, ensemble, "disease"))
        (tmp_path / f"{name}.json").write_text(text)
    return tmp_path


@pytest.fixture
def measure(place, run):
    def measured(*options, model="m"):
        paths = (place / f"{model}.json", place / "rows.csv")
        return run("evaluate", *paths, *options)

    return measured


def figures(finished):
    return json.loads(finished.out)["predictive"]


def test_figures_stand_beside_the_error_at_each_budget(measure):
    told = json.loads(measure("--budgets", "0,1,inf", "--json").out)

    assert len(told["predictive"]) == 3
    for measured in told["predictive"]:
        assert measured["expected_cost"] is None
        for name in ("auroc", "log_loss", "brier", "sensitivity", "specificity"):
            low, high = measured[name]["interval"]
            assert low <= measured[name]["value"] <= high
    assert told["predictive"][1]["auroc"]["value"] > 0.6


def test_budgets_are_the_usual_ones_where_none_are_named(measure):
    budgets = json.loads(measure("--json").out)["budgets"]

    assert budgets[:3] == [0, 1, 1.5]
    assert budgets[-1] is None


def test_table_explains_each_figure(measure):
    shown = measure("--budgets", "inf", model="priced").out

    for words in ("error: how often", "AUROC: how often 'ill'", "cost of errors: "):
        assert words in shown
    assert "cost of errors" not in measure("--budgets", "inf").out


def test_threshold_moves_labels_and_not_chances(measure):
    (plain,) = figures(measure("--budgets", "1", "--json"))
    (low,) = figures(measure("--budgets", "1", "--json", "--threshold", "0"))

    assert low["sensitivity"]["value"] == 1
    assert low["specificity"]["value"] == 0
    assert low["auroc"] == plain["auroc"]
    shown = measure("--budgets", "1", "--threshold", "0.3").out
    assert "'ill' from a chance of 0.3 on" in shown


def test_rows_that_belong_together_widen_intervals(measure):
    (apart,) = figures(measure("--budgets", "1", "--json"))
    (grouped,) = figures(measure("--budgets", "1", "--json", "--group-by", "person"))

    assert grouped["brier"]["value"] == pytest.approx(apart["brier"]["value"])
    assert grouped["sensitivity"]["interval"] != apart["sensitivity"]["interval"]


def test_weights_count_rows(measure):
    options = ("--budgets", "1", "--json")
    plain = json.loads(measure(*options).out)
    weighted = json.loads(measure(*options, "--weight", "visits").out)

    assert weighted["error"] != plain["error"]
    assert weighted["predictive"][0]["auroc"] != plain["predictive"][0]["auroc"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--weight", "visit"), "--weight: must be a column of the table; the nearest"),
        (("--group-by", "x"), "--group-by: must be a column of the table"),
        (("--weight", "sex"), "column sex: must be a number"),
        (("--threshold", "1.5"), "must be a number from 0 to 1"),
    ],
)
def test_wrong_option_is_refused_with_its_name(measure, options, words):
    finished = measure("--budgets", "1", *options)

    assert finished.code == 2
    assert words in finished.err
