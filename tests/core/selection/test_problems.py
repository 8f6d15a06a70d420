"""Selection on the papers' own problems."""

import csv
import gzip
import os
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue
from tests.selections import LEARNERS, make_dataset, run

ROOT = Path(__file__).resolve().parents[3]


SHARED = Path(os.environ.get("ASKLESS_DATA", ROOT.parent / "shared" / "data"))


needs_shared = pytest.mark.skipif(
    not (SHARED / "xd6.csv.gz").is_file(),
    reason="the shared data sets are not there (ASKLESS_DATA names their folder)",
)


def read_shared(name, n_rows=None):
    """A shared set of numbers or booleans, its first rows."""
    with gzip.open(SHARED / f"{name}.csv.gz", "rt") as lines:
        rows = list(islice(csv.reader(lines), 1, n_rows and n_rows + 1))
    columns = np.array([row[:-1] for row in rows], np.float64).T
    labels, targets = np.unique([row[-1] for row in rows], return_inverse=True)
    kinds = ["boolean"] * len(columns)
    return make_dataset(columns, targets, kinds, n_classes=labels.size)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("method", ["fs2boost", "ifs2boost"])
def test_xd6_gets_its_nine_relevant_features(method):
    found = run(read_shared("xd6"), method=method)

    assert set(found.feature_idxs) == set(range(9))


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize(("learner", "n_rows"), [("knn", 500), ("stump", None)])
def test_led24_gets_its_seven_segments(learner, n_rows):
    dataset = read_shared("led24", n_rows)

    found = run(dataset, method="fs2boost", learner=learner, rounds=10)

    assert set(found.feature_idxs) >= set(range(7))


@needs_shared
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("name", "seen"), [("monks1", {4}), ("monks3", {1, 3, 4})])
def test_single_steps_see_what_one_feature_shows_alone(name, seen, learner):
    boolean = read_shared(name)
    features = (
        replace(feature, type="category") for feature in boolean.catalogue.features
    )
    dataset = replace(boolean, catalogue=Catalogue(tuple(features)))

    assert set(run(dataset, learner=learner).feature_idxs) == seen


@needs_shared
@pytest.mark.parametrize("learner", LEARNERS)
def test_an_exclusive_or_shows_nothing_to_single_steps(learner):
    assert run(read_shared("hard"), learner=learner).feature_idxs == ()
