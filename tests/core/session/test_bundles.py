"""A category and the bundle of its dummies are the same feature, told twice."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.simulation.curves import evaluate
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.training.rules import RULES
from tests.rounds import run
from tests.small import table_of

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("ASKLESS_DATA", ROOT.parent / "shared" / "data"))
VALUES = ("A", "C", "G", "T")
MICROS = 1_000_000


def as_categories(letters, targets, costs):
    """One category per column, each at its cost."""
    features = tuple(
        Feature(f"p{idx}", "category", cost, categories=VALUES)
        for idx, cost in enumerate(costs)
    )
    values = np.searchsorted(VALUES, letters).astype(np.float64)
    return table_of(values.T, targets, Catalogue(features))


def as_bundles(letters, targets, costs):
    """Four dummies per column, bought together at its cost."""
    features = tuple(
        Feature(f"p{idx}_{value}", "boolean", 0, group=f"p{idx}")
        for idx in range(len(costs))
        for value in VALUES
    )
    groups = tuple(Group(f"p{idx}", price=cost) for idx, cost in enumerate(costs))
    dummies = letters[:, :, None] == np.array(VALUES)
    values = dummies.reshape(len(letters), -1).astype(np.float64)
    return table_of(values.T, targets, Catalogue(features, groups))


def curve_of(data, algorithm, policy, budgets):
    rounds = run(data, BoostParams(algorithm, rounds=40))
    ensemble = make_ensemble(data, BoostParams(algorithm), rounds)
    return evaluate(ensemble, data, budgets, policy, seed=3)


def random_letters(n_rows, n_columns):
    rng = np.random.default_rng(1)
    letters = rng.choice(VALUES, size=(n_rows, n_columns))
    score = (
        (letters[:, 0] == "G") * 2.0 + (letters[:, 1] == "T") + rng.normal(size=n_rows)
    )
    return letters, (score > 1).astype(np.int64)


def check_curves(letters, targets, costs, algorithm, budgets):
    """Whether bundles of dummies cost and err as the categories they stand for."""
    policy = RULES[algorithm].policy
    category, bundle = (
        curve_of(make(letters, targets, costs), algorithm, policy, budgets)
        for make in (as_categories, as_bundles)
    )
    assert bundle.errors == pytest.approx(category.errors)
    assert bundle.mean_spends == pytest.approx(category.mean_spends)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", list(RULES))
def test_bundle_of_dummies_equals_the_category(algorithm):
    letters, targets = random_letters(150, 6)
    costs = [3 * MICROS, 1 * MICROS, 500_000, 2 * MICROS, MICROS, 0]
    budgets = [0, MICROS, 3 * MICROS, 5 * MICROS, None]

    check_curves(letters, targets, costs, algorithm, budgets)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["adaboost_bt_smoothed", "adaboost_rs"])
def test_splice_as_bundles_equals_splice_as_categories(algorithm):
    path = SHARED / "splice.csv.gz"
    if not path.exists():
        pytest.skip(f"the data set splice is not in {SHARED.name}/")
    with gzip.open(path, "rt") as file:
        rows = list(csv.reader(file))[1:]
    # Ambiguous bases would be further categories, which have no dummy.
    rows = [row for row in rows if set(row[:-1]) <= set(VALUES)][::8]
    letters = np.array([row[:-1] for row in rows])
    targets = np.array([row[-1] != "N" for row in rows], dtype=np.int64)
    costs = (np.random.default_rng(0).uniform(0, 2, 60) * MICROS).astype(int).tolist()
    budgets = [k * MICROS for k in (2, 6, 12, 24)]

    check_curves(letters, targets, costs, algorithm, budgets)
