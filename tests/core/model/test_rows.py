"""Which columns rows are played with, and what is wrong with them column by column."""

import pickle

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.errors import RefusedError
from askless.core.model.hypotheses import Product, Stump
from askless.core.model.rows import cell_refusals, check_rows, mark_askable_features
from tests.small import ensemble_of


def read_by(*read):
    """Stumps on some of six features: two in a bundle, two in a group, one dear."""
    features = (
        Feature("alone"),
        Feature("left", group="pair", cost=0),
        Feature("right", group="pair", cost=0),
        Feature("one", group="fee"),
        Feature("other", group="fee"),
        Feature("dear", cost=9_000_000),
    )
    groups = (Group("pair", price=5), Group("fee", fee=5))
    stumps = [Stump(idx, 0.5, (1,)) for idx in read]
    return ensemble_of(stumps, Catalogue(features, groups))


@pytest.mark.parametrize(
    ("read", "expected"),
    [([0], [0]), ([1], [1, 2]), ([0, 2, 3], [0, 1, 2, 3]), ([4, 5], [4, 5])],
)
def test_what_comes_with_a_bundle_is_needed_too(read, expected):
    assert np.flatnonzero(mark_askable_features(read_by(*read))).tolist() == expected


def test_columns_read_one_by_one_are_refused_as_all_together():
    columns = {"alone": np.array([1.0, np.inf]), "one": np.array(["x", "1"], object)}
    ensemble = read_by(0, 3, 4, 5)

    found = cell_refusals(columns, ensemble, most=9_000_000 - 1)

    assert [problem.field for problem in found] == [
        "column alone",
        "column one",
        "features",
    ]
    with pytest.raises(RefusedError) as caught:
        check_rows(columns, ensemble, most=9_000_000 - 1)
    assert list(caught.value.refusals) == found


def test_refusal_comes_whole_from_another_process():
    with pytest.raises(RefusedError) as caught:
        check_rows({"alone": np.array([np.inf])}, read_by(0))

    there = pickle.loads(pickle.dumps(caught.value))

    assert there.refusals == caught.value.refusals
    assert str(there) == str(caught.value)


@pytest.mark.parametrize(
    ("hypothesis", "told"),
    [
        (Stump(0, 0, (1,), is_category=True), "every stump on it abstains there"),
        (
            Product((Stump(0, 0, (1,), is_category=True), Stump(1, 0.5, (1,)))),
            "the model reads it there as none of its categories",
        ),
    ],
)
def test_words_on_unseen_categories_follow_the_algorithm(hypothesis, told):
    features = Feature("c", "category", categories=("a", "b")), Feature("x")
    columns = {"c": np.array(["a", "z"], object), "x": np.array([1.0, 2.0])}

    _, (warning,) = check_rows(columns, ensemble_of([hypothesis], Catalogue(features)))

    assert warning.endswith(f"training did not see, as 'z'; {told}")
