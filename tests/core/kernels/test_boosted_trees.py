"""Boosted trees against their twin in plain Python, and what every tree keeps."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from askless.core import kernels
from askless.core.kernels import CoarseTable, Growth
from askless.core.kernels.boosted_trees import draw_share, draw_shares
from tests import naive_panels as naive

# Draws wrap around, of which uncompiled code warns.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")

GROWTH = Growth(
    rounds=3,
    leaves=4,
    rate=0.3,
    l2=1.0,
    least_rows=2,
    row_share=1.0,
    column_share=1.0,
    seed=5,
)


class Case(NamedTuple):
    """A coarse table with its rows, as kernels read them."""

    table: CoarseTable
    targets: np.ndarray
    weights: np.ndarray
    n_outputs: int


class Boosted(NamedTuple):
    """What boosting moved the scores to, and the trees."""

    scores: np.ndarray
    nodes: np.ndarray
    steps: np.ndarray
    gains: np.ndarray
    sizes: np.ndarray


def make_case(codes, targets, weights=None, categories=(), n_classes=2) -> Case:
    """Codes column by column, None where missing; weights of 1 unless told."""
    n_rows = len(targets)
    coded = np.array(
        [
            [kernels.LOST if code is None else code for code in column]
            for column in codes
        ],
        np.uint8,
    )
    known = [[code for code in column if code is not None] for column in codes]
    table = CoarseTable(
        coded,
        np.array([1 + max(idx, default=-1) for idx in known], np.int64),
        np.array([idx in categories for idx in range(len(codes))], np.bool_),
        np.array([None in column for column in codes], np.bool_),
    )
    weights = np.ones(n_rows) if weights is None else np.array(weights, np.float64)
    n_outputs = 1 if n_classes == 2 else n_classes
    return Case(table, np.array(targets, np.int64), weights, n_outputs)


def random_case(seed: int, n_classes: int, n_rows: int = 22) -> Case:
    """Numbers, a category, equal columns, missing values, rows without weight."""
    random = np.random.default_rng(seed)
    columns = random.integers(0, (6, 4, 4, 1), (n_rows, 4)).T.tolist()
    for column in columns[:3]:
        for row in random.choice(n_rows, 3, replace=False):
            column[row] = None
    columns.append(list(columns[0]))
    targets = random.integers(0, n_classes, n_rows)
    # The first gradients of two classes and of three, and their sums, are exact.
    weights = random.choice((1.5, 3.0, 6.0), n_rows)
    weights[random.choice(n_rows, 3, replace=False)] = 0.0
    return make_case(columns, targets, weights, {2}, n_classes)


def boost(case: Case, growth: Growth = GROWTH, starts=None) -> Boosted:
    n_columns = case.table.codes.shape[0]
    scores = np.zeros((case.n_outputs, case.targets.size))
    if starts is not None:
        scores += np.array(starts)[:, None]
    shape = growth.rounds, case.n_outputs
    nodes = np.zeros((*shape, growth.leaves - 1, kernels.N_NODE), np.int64)
    steps, gains = np.zeros((*shape, growth.leaves)), np.zeros(n_columns)
    sizes = kernels.boost_trees(
        *case[:3], growth, scores, kernels.TreeRoom(nodes, steps, gains)
    )
    return Boosted(scores, nodes, steps, gains, sizes)


def naive_boost(case: Case, growth: Growth = GROWTH, starts=None):
    table = [
        (
            [None if c == kernels.LOST else int(c) for c in codes],
            int(n_codes),
            bool(is_),
        )
        for codes, n_codes, is_, _ in zip(*case.table, strict=True)
    ]
    scores = [list(starts or [0.0] * case.n_outputs) for _ in case.targets]
    told = naive.boost(
        table, case.targets.tolist(), case.weights.tolist(), scores, growth._asdict()
    )
    return np.array(scores).T, *told


def splits_of(boosted: Boosted) -> list[list[tuple]]:
    """The splits of each tree, in the order in which they were made."""
    trees = []
    for place in np.ndindex(boosted.sizes.shape):
        nodes = boosted.nodes[place][: boosted.sizes[place]]
        trees.append(
            [
                (
                    int(node[kernels.READS]),
                    int(node[kernels.CODE]),
                    bool(node[kernels.KIND] == kernels.IS_CATEGORY),
                    bool(node[kernels.MISSING_BELOW]),
                )
                for node in nodes
            ]
        )
    return trees


STUMPS = GROWTH._replace(leaves=2, row_share=0.7, column_share=0.5)

each_seed = pytest.mark.parametrize("seed", range(4))
each_n_classes = pytest.mark.parametrize("n_classes", [2, 3])


@each_n_classes
@each_seed
@pytest.mark.parametrize(
    "growth", [GROWTH._replace(rounds=1, leaves=5), STUMPS], ids=["tree", "stumps"]
)
def test_a_tree_and_stumps_on_samples_are_those_of_the_naive_twin(
    growth, seed, n_classes
):
    case = random_case(seed, n_classes)

    boosted = boost(case, growth)

    scores, splits, gains, _ = naive_boost(case, growth)
    assert splits_of(boosted) == splits
    np.testing.assert_allclose(boosted.scores, scores, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(boosted.gains, gains, rtol=1e-9)


@each_n_classes
@each_seed
def test_rounds_move_the_rows_as_those_of_the_naive_twin(seed, n_classes):
    # Any weights: of two ways to part a leaf that gain the same, but for rounding,
    # both must leave the same rows on a side. Rows that are left out may differ.
    case = random_case(seed, n_classes)
    random = np.random.default_rng(seed)
    case = case._replace(weights=case.weights * random.uniform(0.5, 1, 22))
    starts = [0.3] if n_classes == 2 else [0.3, 0.0, -0.2]

    boosted = boost(case, starts=starts)

    scores, _, gains, _ = naive_boost(case, starts=starts)
    has_weight = case.weights > 0
    moved = boosted.scores[:, has_weight]
    np.testing.assert_allclose(moved, scores[:, has_weight], rtol=1e-9, atol=1e-12)
    assert boosted.gains.sum() == pytest.approx(sum(gains))


UGLY = {
    "one row": make_case([[0]], [1]),
    "no weight": make_case([[0, 1, 2, 3]], [0, 0, 1, 1], [0, 0, 0, 0]),
    "constant": make_case([[0] * 6], [0, 0, 0, 1, 1, 1]),
    "all missing": make_case([[None] * 6], [0, 0, 0, 1, 1, 1]),
    "one class": make_case([[0, 0, 1, 1, 2, 2]], [1] * 6),
    "says nothing": make_case([[0, 1, 0, 1] * 2], [0, 0, 1, 1] * 2),
    "ties": make_case([[0, 1, 2, 3] * 2, [3, 2, 1, 0] * 2], [1, 0, 0, 1] * 2),
    "category": make_case([[0, 0, 1, 1, 2, 2]], [0, 0, 1, 1, 0, 0], None, {0}),
    "missing tells": make_case([[None, None, None, 0, 1, 1]], [1, 1, 1, 0, 0, 0]),
}


@pytest.mark.parametrize("case", UGLY.values(), ids=UGLY)
def test_ugly_tables_are_boosted_as_by_the_naive_twin(case):
    boosted = boost(case)

    scores, splits, _, _ = naive_boost(case)
    assert splits_of(boosted) == splits
    np.testing.assert_allclose(boosted.scores, scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["one row", "no weight", "constant", "all missing"])
def test_without_a_useful_column_trees_have_no_node(name):
    boosted = boost(UGLY[name])

    assert boosted.sizes.sum() == 0
    assert boosted.gains.sum() == 0.0


def test_ties_go_to_the_first_column_and_the_lowest_code():
    boosted = boost(UGLY["ties"], GROWTH._replace(rounds=1, leaves=2))

    assert splits_of(boosted) == [[(0, 0, False, False)]]


def test_missing_values_go_with_more_rows_where_training_has_none():
    below, above = (
        make_case([codes], targets)
        for codes, targets in (
            ([0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1]),
            ([0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]),
        )
    )

    sides = [splits_of(boost(case))[0][0][3] for case in (below, above)]

    assert sides == [True, False]


@pytest.mark.parametrize("leaves", [2, 3, 5])
@pytest.mark.parametrize("least_rows", [1, 4])
def test_trees_have_no_more_leaves_and_leaves_no_fewer_rows(leaves, least_rows):
    case = random_case(1, 2, n_rows=30)
    growth = GROWTH._replace(leaves=leaves, least_rows=least_rows, rounds=1)

    boosted = boost(case, growth)

    moved = boosted.scores[0, case.weights > 0]
    _, n_rows = np.unique(moved, return_counts=True)
    assert boosted.sizes.max() == leaves - 1
    assert n_rows.min() >= least_rows


def test_each_row_is_moved_by_the_step_of_one_leaf():
    growth = GROWTH._replace(rounds=1)
    boosted = boost(random_case(2, 2), growth)

    steps = boosted.steps[0, 0, : boosted.sizes[0, 0] + 1]

    assert set(boosted.scores[0]) == set(steps)


def test_rows_without_weight_change_no_tree_but_are_scored():
    case = random_case(3, 3)
    is_kept = case.weights > 0
    kept = Case(
        case.table._replace(codes=np.ascontiguousarray(case.table.codes[:, is_kept])),
        case.targets[is_kept],
        case.weights[is_kept],
        case.n_outputs,
    )

    whole, part = boost(case), boost(kept)

    np.testing.assert_array_equal(whole.nodes, part.nodes)
    np.testing.assert_array_equal(whole.scores[:, is_kept], part.scores)
    assert np.abs(whole.scores[:, ~is_kept]).min() > 0


def test_same_seed_gives_the_same_trees_and_another_seed_others():
    case = random_case(0, 2)

    one, two = boost(case, STUMPS), boost(case, STUMPS)
    other = boost(case, STUMPS._replace(seed=6))

    np.testing.assert_array_equal(one.scores, two.scores)
    assert not np.array_equal(one.scores, other.scores)


@pytest.mark.parametrize(
    ("share", "size", "expected"),
    [(0.5, 10, 5), (0.75, 10, 8), (0.6, 3, 2), (0.01, 10, 1), (0.5, 1, 1), (1.0, 4, 4)],
)
def test_as_many_are_drawn_as_the_share_says(share, size, expected):
    is_drawn = np.zeros(size, np.bool_)

    draw_share(share, np.full(1, np.uint64(3)), is_drawn)

    assert is_drawn.sum() == expected


def test_everything_is_drawn_as_often():
    state, counts = np.full(1, np.uint64(1)), np.zeros(6)
    is_drawn = np.ones(6, np.bool_)

    for _ in range(1200):
        draw_share(0.5, state, is_drawn)
        counts += is_drawn

    # Six standard deviations of a fair draw.
    assert np.abs(counts - 600).max() < 6 * math.sqrt(1200 * 0.25)


def test_draws_are_those_of_splitmix64():
    state, draws = np.full(1, np.uint64(2**64 - 1)), naive.Draws(2**64 - 1)

    shares = [*draw_shares(3, state), *draw_shares(2, state)]

    assert shares == [draws.share() for _ in range(5)]


def test_no_thing_is_drawn_from_none():
    state = np.full(1, np.uint64(7))

    draw_share(0.5, state, np.zeros(0, np.bool_))

    assert state.tolist() == [7]


def stump_gains(case, halves, split_cost=0.0):
    chances = np.full(case.targets.size, 0.5)
    gradients = (case.targets - chances) * case.weights
    slopes = 0.25 * case.weights
    gains = np.zeros(case.table.codes.shape[0])
    pulls = kernels.Derivatives(gradients[None, :].copy(), slopes[None, :].copy())
    kernels.write_stump_gains(
        case.table, pulls, np.array(halves, np.int64), 1.0, split_cost, gains
    )
    return gains


def test_gain_of_a_stump_is_that_of_the_best_split():
    case = random_case(4, 2)
    everything = np.zeros((1, case.targets.size))

    gains = stump_gains(case, everything)

    for gain, codes, n_codes, is_category, _ in zip(gains, *case.table, strict=True):
        column = [None if code == kernels.LOST else int(code) for code in codes]
        rows = range(len(column))
        pulls = [
            ((target - 0.5) * weight, 0.25 * weight)
            for target, weight in zip(case.targets, case.weights, strict=True)
        ]
        parts = [
            naive.part(rows, column, (0, code, is_category, False))
            for code in range(n_codes)
        ]
        tried = [sum(naive.worth(side, pulls, 1.0) for side in two) for two in parts]
        assert gain == pytest.approx(max(tried) - naive.worth(rows, pulls, 1.0))


def test_interaction_is_seen_within_halves_and_costs_its_split():
    one, other = [0, 0, 1, 1] * 5, [0, 1, 0, 1] * 5
    case = make_case([one, other], [a != b for a, b in zip(one, other, strict=True)])
    halves = [[0] * 20, one]

    alone, within = stump_gains(case, halves[:1]), stump_gains(case, halves)
    dear = stump_gains(case, halves, split_cost=4.0)

    assert alone.tolist() == [0.0, 0.0]
    assert within[1] > 5.0
    assert dear.tolist() == [0.0, within[1] - 4.0]


def test_of_many_codes_some_cuts_are_tried():
    # Of 26 codes every other: not the cut after the first, which alone tells.
    codes = list(range(26))
    first, second = ([code <= at for code in codes] for at in (0, 1))
    cases = [make_case([codes], targets) for targets in (first, second)]
    whole = [np.zeros(26)]

    missed, found = (stump_gains(case, whole)[0] for case in cases)
    exact = [boost(case, GROWTH._replace(least_rows=1)).gains[0] for case in cases]

    assert missed < exact[0]
    assert found > missed
