"""A class of few rows: what is printed in place of errors that are all the same."""

import json

import numpy as np
import pytest

from askless.app.batch.curves import list_thresholds
from askless.app.batch.results import curve_to_arrow
from askless.app.documents.files import load_model
from askless.app.words.figures import RARE_NOTE
from askless.core.model.measured import MeasuredErrors
from askless.core.session.state import Aim
from askless.core.simulation.blocks import Conditions
from tests.small import MICROS
from tests.worthwhile import BUDGETS, ERRORS, ensemble_of

N_ROWS = 600
SPEC = {
    "target": "y",
    "positive": "ill",
    "features": [{"name": "a", "cost": 1}, {"name": "b", "cost": 4}],
    "algorithm": "adaboost_bt_smoothed",
    "params": {"rounds": 8},
    "validation": {"folds": 3},
}


def write_rows(path, share, seed):
    rng = np.random.default_rng(seed)
    is_ill = rng.random(N_ROWS) < share
    values = rng.normal(size=(N_ROWS, 2)) + np.outer(is_ill, (1.5, 2.5))
    lines = ["a,b,y"]
    for (first, second), ill in zip(values, is_ill, strict=True):
        lines.append(f"{first:.2f},{second:.2f},{'ill' if ill else 'well'}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def place(tmp_path):
    for name, share in (("rare", 0.06), ("even", 0.4)):
        write_rows(tmp_path / f"{name}.csv", share, 0)
        write_rows(tmp_path / f"{name}-new.csv", share, 1)
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    return tmp_path


@pytest.fixture
def train(place, run):
    def trained(name, spec="spec.json"):
        paths = ("--spec", place / spec, "-o", place / f"{name}.json")
        return run("train", place / f"{name}.csv", *paths)

    return trained


def thresholds_of(finished):
    figures = json.loads(finished.out)["predictive"]
    return [figure["rare"] and figure["rare"]["threshold"] for figure in figures]


def test_card_of_a_rare_class_has_thresholds_and_names_error_costs(place, train):
    told = train("rare").out

    assert all(word in told for word in ("threshold", "precision", "recall"))
    assert "95 %" not in told
    assert RARE_NOTE.split(";")[0] in " ".join(told.split())
    assert "`error_costs`" in told
    curve = load_model(place / "rare.json").curve
    assert 0 < curve.predictive[-1].rare.threshold < 1
    assert curve.predictive[-1].rare.recall.value > 0.5


def test_card_of_even_classes_has_no_thresholds(place, run, train):
    told = train("even").out
    measured = run("evaluate", place / "even.json", place / "even-new.csv", "--json")

    assert "95 %" in told
    assert "threshold" not in told + run("show", place / "even.json").out
    assert set(thresholds_of(measured)) == {None}


def test_costs_of_errors_take_the_place_of_thresholds(place, train):
    costs = {"ill": {"well": 20}, "well": {"ill": 1}}
    (place / "priced.json").write_text(json.dumps(SPEC | {"error_costs": costs}))

    told = train("rare", "priced.json").out

    assert "threshold" not in told
    assert load_model(place / "rare.json").curve.predictive[-1].rare is None


def test_rows_are_judged_by_thresholds_that_they_have_no_say_in(place, run, train):
    train("rare")
    new, other = place / "rare-new.csv", place / "other.csv"
    text = new.read_text().replace("well", "x").replace("ill", "well")
    other.write_text(text.replace("x", "ill"))
    curve = load_model(place / "rare.json").curve
    options = ("--json", "--spend", "all")

    measured = run("evaluate", place / "rare.json", new, *options)
    turned = run("evaluate", place / "rare.json", other, *options)

    chosen = [figure.rare.threshold for figure in curve.predictive]
    assert thresholds_of(measured) == thresholds_of(turned) == chosen
    recalls = [
        json.loads(finished.out)["predictive"][-1]["rare"]["recall"]["value"]
        for finished in (measured, turned)
    ]
    assert recalls[0] > 0.6 > recalls[1]


@pytest.mark.parametrize(
    ("conditions", "thresholds"),
    [
        # What a session does not spend has no say: 1 is the worthwhile part of 3.
        (Conditions([0, 3 * MICROS, None]), [0.1, 0.2, 0.2]),
        (Conditions([3 * MICROS, None], spend="all"), [0.3, 0.4]),
        (Conditions([None], policy="worth", spend="all"), [None]),
        (Conditions([None], aims=[Aim(error_price=2 * MICROS)]), [None]),
    ],
)
def test_thresholds_are_those_of_sessions_that_the_curve_is_of(conditions, thresholds):
    measured = MeasuredErrors(BUDGETS, ERRORS, (0.1, 0.2, 0.3, 0.4))

    listed = list_thresholds(ensemble_of(measured=measured), conditions)

    assert listed == thresholds


def test_columns_of_a_curve_have_the_threshold_only_of_a_rare_class(place, run, train):
    columns = {}
    for name in ("rare", "even"):
        train(name)
        measured = run(
            "evaluate", place / f"{name}.json", place / f"{name}.csv", "--json"
        )
        columns[name] = curve_to_arrow(json.loads(measured.out)).to_pydict()

    added = {"threshold"}
    for measure in ("precision", "recall"):
        added |= {measure, f"{measure}_low", f"{measure}_high"}
    assert columns["rare"].keys() - columns["even"].keys() == added
    low, high = (columns["rare"][f"recall_{end}"][-1] for end in ("low", "high"))
    assert low < columns["rare"]["recall"][-1] < high


def test_named_threshold_has_precision_and_recall(place, run, train):
    train("rare")
    paths = (place / "rare.json", place / "rare-new.csv")

    named = run("evaluate", *paths, "--json", "--threshold", "0")

    for figure in json.loads(named.out)["predictive"]:
        assert figure["rare"]["threshold"] == 0
        assert figure["rare"]["recall"]["value"] == pytest.approx(1)
        assert figure["rare"]["precision"]["value"] < 0.1
    shown = run("evaluate", *paths, "--threshold", "0").out
    assert "precision: of cases from the threshold on" in shown
    assert "sensitivity" not in shown
