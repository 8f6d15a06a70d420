"""Values of features as a model knows them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.hypotheses import Stump, Tree
from askless.core.model.values import (
    N_VALUES,
    add_distinct_values,
    add_value_ranges,
    list_cuts,
    middle_values,
    possible_values,
    typical_values,
)
from tests.panels import make_ladder
from tests.small import ensemble_of

KINDS = Catalogue(
    (
        Feature("n", value_range=(0.0, 8.0)),
        Feature("b", "boolean"),
        Feature("c", "category", categories=("x", "y")),
        Feature("d", "category", categories=("p", "q", "r")),
    )
)


def panels_of(codes, means):
    """An ensemble of one panel, whose columns have these codes and means."""
    ensemble = ensemble_of([], KINDS, policy="panels")
    idxs = [idx for idx, _ in codes]
    ladder = make_ladder(ensemble, [tuple(dict.fromkeys(idxs))])
    whole = ladder.panels[0]
    size = len(codes)
    columns = replace(
        whole.blend.columns,
        feature_idxs=np.array(idxs),
        codes=np.array([code for _, code in codes]),
        lows=np.full(size, -2.0),
        highs=np.full(size, 6.0),
        means=np.array(means),
        scales=np.ones(size),
    )
    panel = replace(whole, blend=replace(whole.blend, columns=columns))
    return replace(ensemble, panels=replace(ladder, panels=(panel, ladder.panels[-1])))


def test_ranges_are_those_of_numbers_that_are_read():
    stumps = [Stump(0, 1.0, (1,)), Stump(2, 0.5, (1,))]
    catalogue = Catalogue((Feature("a"), Feature("b"), Feature("c", "boolean")))
    ranges = np.array([[-1.0, 3.0], [9.0, 9.0], [0.0, 1.0]])

    told = add_value_ranges(ensemble_of(stumps, catalogue), ranges)

    found = [feature.value_range for feature in told.catalogue.features]
    assert found == [(-1.0, 3.0), None, None]


def test_number_without_a_value_has_no_range():
    ranges = np.array([[math.nan, math.nan]])

    told = add_value_ranges(ensemble_of([Stump(0, 1.0, (1,))]), ranges)

    assert told.catalogue.features[0].value_range is None


def test_a_number_keeps_its_values_where_they_are_few():
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(4)]
    features = (Feature("a"), Feature("b"), Feature("c", "boolean"), Feature("d"))
    ensemble = ensemble_of(stumps, Catalogue(features))
    few, none = np.arange(40) % 2 * 3.0, np.full(40, math.nan)
    rows = np.column_stack((few, np.arange(40.0), few, none))
    rows[3, 0] = math.nan
    ranges = np.array([[-1.0, 3.0], [0.0, 39.0], [0.0, 3.0], [math.nan, math.nan]])

    told = add_distinct_values(add_value_ranges(ensemble, ranges), rows)

    found = [feature.values for feature in told.catalogue.features]
    assert found == [(-1.0, 0.0, 3.0), (), (), ()]


@pytest.mark.parametrize(("n_values", "n_kept"), [(10, 10), (11, 0)])
def test_more_values_than_ten_are_not_kept(n_values, n_kept):
    """The eleventh may come late, so that a quick look has not seen it."""
    rows = np.minimum(np.arange(3_000.0) // 10 % 100, n_values - 2)[:, None]
    rows[-1] = n_values - 1
    ends = np.array([[0.0, n_values - 1.0]])
    ensemble = add_value_ranges(ensemble_of([Stump(0, 1.0, (1,))]), ends)

    told = add_distinct_values(ensemble, rows)

    assert len(told.catalogue.features[0].values) == n_kept


def test_the_typical_value_is_one_that_training_saw():
    panels = panels_of([(0, -1)], [0.2])
    feature = replace(panels.catalogue.features[0], values=(0.0, 1.0, 5.0))
    features = (feature, *panels.catalogue.features[1:])
    seen = replace(panels, catalogue=replace(panels.catalogue, features=features))

    assert typical_values(panels)[0] == 0.2
    assert typical_values(seen)[0] == 0.0


def test_cuts_are_those_of_all_hypotheses():
    tree = Tree((Stump(0, 3.0, (1,)), Stump(1, 5.0, (1,))), ((1, -1), (-1, -1)))

    assert list_cuts(ensemble_of([Stump(0, 4.0, (1,)), tree])) == [[3.0, 4.0], [5.0]]


@pytest.mark.parametrize(
    ("columns", "means", "expected"),
    [
        pytest.param([(0, -1)], [2.5], [2.5, 0, 0, 0], id="a number is its mean"),
        pytest.param([(1, -1)], [0.7], [0, 1, 0, 0], id="a boolean is what is likely"),
        pytest.param([(2, 0)], [0.7], [0, 0, 0, 0], id="the one of two with a column"),
        pytest.param([(2, 0)], [0.3], [0, 0, 1, 0], id="the one without"),
        pytest.param(
            [(3, 1), (3, 2)], [0.3, 0.4], [0, 0, 0, 2], id="the most frequent"
        ),
        pytest.param([(0, -1), (0, -2)], [2.0, 0.9], [2, 0, 0, 0], id="not missing"),
    ],
)
def test_middle_value_is_that_of_panels(columns, means, expected):
    assert middle_values(panels_of(columns, means)) == expected


@pytest.mark.parametrize(
    ("idx", "expected"), [(1, [0, 1]), (2, [0, 1]), (3, [0, 1, 2])]
)
def test_all_values_of_booleans_and_categories_are_possible(idx, expected):
    ensemble = ensemble_of([], KINDS)

    assert possible_values(ensemble, idx, has_votes=True).tolist() == expected


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0.0, 8.0), [0.0, 3.0, 8.0]),
        (None, [0.0, 3.0, 6.0]),
        ((3.5, 3.5), [2.0, 3.0, np.nextafter(4.0, 5.0)]),
    ],
)
def test_each_segment_of_votes_has_a_value(ends, expected):
    stumps = [Stump(0, cut, (1,)) for cut in (4.0, 2.0, 4.0)]
    ensemble = ensemble_of(stumps, Catalogue((Feature("n", value_range=ends),)))

    assert possible_values(ensemble, 0, has_votes=True).tolist() == expected


def test_numbers_of_panels_are_tried_over_their_range():
    known = possible_values(panels_of([(0, -1)], [1.0]), 0, has_votes=False)
    bare = replace(KINDS, features=(Feature("n"), *KINDS.features[1:]))
    clips = replace(panels_of([(0, -2), (0, -1)], [1.0, 1.0]), catalogue=bare)

    guessed = possible_values(clips, 0, has_votes=False)

    assert (known[0], known[-1], known.size) == (0.0, 8.0, N_VALUES)
    assert (guessed[0], guessed[-1], guessed.size) == (-2.0, 6.0, N_VALUES)


def test_number_of_which_nothing_is_known_has_no_values():
    ensemble = ensemble_of([], Catalogue((Feature("n"),)))

    assert possible_values(ensemble, 0, has_votes=True).size == 0


def test_values_are_found_once_and_can_not_be_changed():
    ensemble = ensemble_of([Stump(0, 2.5, (1,))], KINDS)

    first = possible_values(ensemble, 0, has_votes=True)
    again = possible_values(ensemble, 0, has_votes=True)

    assert again is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 9.0
