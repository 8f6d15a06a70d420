"""Each kernel of a session against its twin in plain Python."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import kernels
from core.kernels.draws import draw
from core.kernels.paths import step
from core.kernels.prices import price_now
from core.kernels.sampled_walks import buy_feature, tell_readers
from core.kernels.walks import ASKED, ENDED, N_COUNTS, SPENT
from core.model.ensemble import Ensemble
from core.model.hypotheses import LEAF, Stump, Tree
from core.model.paths import lay_paths
from core.session.policies.sample import uniforms
from core.table.catalogue import Catalogue, Feature
from tests import naive, naive_sessions, strategies

NAN = math.nan
# Two features in a group with a fee (0), two in a bundle (1), one alone.
COSTS = np.array([3, 0, 0, 0, 5])
GROUP_IDXS = np.array([0, 0, 1, 1, -1])
FEES = np.array([20, 90])
IS_BUNDLE = np.array([False, True])
UNLIMITED = int(np.iinfo(np.int64).max)


def plain_stumps(ensemble: Ensemble) -> list[tuple]:
    """Stumps as `naive_sessions` takes them."""
    return [
        (h.feature_idx, h.cut, h.is_category, h.votes[0] * alpha)
        for h, alpha in zip(ensemble.hypotheses, ensemble.alphas, strict=True)
    ]


def naive_stumps(ensemble: Ensemble) -> list[tuple]:
    """Stumps as `naive` takes them."""
    return [strategies.plain_stump(stump) for stump in ensemble.hypotheses]


def naive_row(row: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in row.tolist()]


def naive_shop(catalogue: Catalogue) -> naive.Shop:
    groups = [None if idx < 0 else idx for idx in catalogue.group_idxs.tolist()]
    return naive.Shop(
        catalogue.costs.tolist(),
        groups,
        catalogue.fees.tolist(),
        catalogue.is_bundle.tolist(),
    )


def all_options(ensemble: Ensemble) -> list[list[float]]:
    return [
        naive_sessions.options(plain_stumps(ensemble), idx, n_categories(feature))
        for idx, feature in enumerate(ensemble.catalogue.features)
    ]


def n_categories(feature: Feature) -> int | None:
    return len(feature.categories) if feature.type == "category" else None


def ascending(budgets: list[int | None]) -> np.ndarray:
    limits = [UNLIMITED if budget is None else budget for budget in budgets]
    return np.sort(np.array(limits, np.int64))


@st.composite
def rows_in_part(draw, catalogue):
    """One row, and how far each of its features has come."""
    row = draw(strategies.tables(catalogue, max_rows=1, has_unseen=True))[0]
    codes = st.sampled_from(
        (kernels.OPEN, kernels.KNOWN, kernels.GONE, kernels.PENDING)
    )
    status = draw(st.lists(codes, min_size=row.size, max_size=row.size))
    return row, np.array(status, np.int64)


@pytest.mark.parametrize(
    ("value", "cut", "is_category", "expected"),
    [
        (1.0, 0.5, False, 2.0),
        (0.5, 0.5, False, -2.0),
        (-math.inf, 0.5, False, -2.0),
        (NAN, 0.5, False, 0.0),
        (-1.0, -2.0, False, 2.0),
        (3.0, 3.0, True, 2.0),
        (4.0, 3.0, True, -2.0),
        (0.0, 3.0, True, -2.0),
        (NAN, 3.0, True, 0.0),
        (-1.0, 3.0, True, 0.0),
    ],
)
def test_vote_of_a_stump(value, cut, is_category, expected):
    paths = lay_paths([Stump(0, cut, (1,), is_category)], 1)

    end = step(value, paths.roots[0], paths.nodes, paths.cuts)

    assert 2.0 * paths.votes[~end].item() == expected


@given(strategies.ensembles(), st.data())
def test_add_votes_sums_every_stump(ensemble, data):
    values = data.draw(strategies.tables(ensemble.catalogue, has_unseen=True))
    votes, alphas = np.zeros((values.shape[0], 1)), np.zeros(values.shape[0])

    kernels.add_votes(values, ensemble.paths, votes, alphas)

    stumps = plain_stumps(ensemble)
    rows = values.tolist()
    assert votes[:, 0].tolist() == [naive_sessions.full_vote(stumps, r) for r in rows]
    assert alphas.tolist() == [naive_sessions.voted_alpha(stumps, r) for r in rows]


def test_no_stumps_vote_zero(ensemble):
    none = replace(ensemble, hypotheses=(), alphas=())
    votes, alphas = np.zeros((2, 1)), np.zeros(2)

    kernels.add_votes(np.zeros((2, 2)), none.paths, votes, alphas)

    assert votes.tolist() == [[0.0], [0.0]]
    assert alphas.tolist() == [0.0, 0.0]


def case_of(row, status, catalogue, is_group_paid=None):
    if is_group_paid is None:
        is_group_paid = np.zeros(len(catalogue.groups), np.bool_)
    return kernels.Case(row, status, is_group_paid)


def follow_all(ensemble, case) -> tuple[np.ndarray, np.ndarray]:
    """Where all paths have come to, and what they need to go on."""
    ends, dues, waiting = np.empty((3, len(ensemble.hypotheses)), np.int64)
    paths, prices = ensemble.paths, ensemble.catalogue.prices
    kernels.survey(case, paths, prices, ends, dues, waiting)
    return ends, dues


@given(strategies.ensembles(), st.data())
def test_tally_draws_counts_each_draw_that_has_a_vote(ensemble, data):
    row, status = data.draw(rows_in_part(ensemble.catalogue))
    numbers = np.array(data.draw(st.lists(st.integers(0, 15)))) / 16
    drawn = [draw(number, ensemble.alpha_sums) for number in numbers]
    ends, _ = follow_all(ensemble, case_of(row, status, ensemble.catalogue))
    votes = np.zeros(1)

    n_voted, known = kernels.tally_draws(
        numbers, ensemble.alpha_sums, ends, ensemble.paths, votes
    )

    known_row = np.where(status == kernels.KNOWN, row, NAN).tolist()
    signs = [
        np.sign(naive_sessions.vote(stump, known_row[stump[0]]))
        for stump in plain_stumps(ensemble)
    ]
    assert known == sum(
        alpha for alpha, sign in zip(ensemble.alphas, signs, strict=True) if sign
    )
    assert n_voted == sum(signs[h] != 0 for h in drawn)
    assert votes.tolist() == [sum(signs[h] for h in drawn)]


@pytest.mark.parametrize(
    ("number", "drawn"), [(0.0, 0), (0.249, 0), (0.25, 1), (0.999, 1), (1.0, 1)]
)
def test_number_draws_the_hypothesis_whose_part_begins_there(number, drawn):
    assert draw(number, np.array([0.0, 1.0, 4.0])) == drawn


@pytest.mark.parametrize(
    ("n_done", "waiting_for", "expected"),
    [
        (0, [7, 8], (0, 0)),
        (1, [7, 8], (1, 1)),
        (0, [-1, 8], (1, 1)),
        (2, [-1, 8], (3, 1)),
        (2, [7, -1], (2, 0)),
        (3, [7, -1], (-1, -1)),
        (9, [7, 8], (-1, -1)),
    ],
)
def test_find_asking_passes_over_draws_that_need_nothing(n_done, waiting_for, expected):
    numbers = np.array([0.1, 0.9, 0.1, 0.9])
    sums = np.array([0.0, 1.0, 2.0])

    found = kernels.find_asking(numbers, n_done, sums, np.array(waiting_for))

    assert found == expected


@pytest.mark.parametrize("feature_idx", range(5))
@pytest.mark.parametrize(
    "is_paid", [(False, False), (False, True), (True, False), (True, True)]
)
def test_price_now_adds_the_fee_that_is_due(feature_idx, is_paid):
    price = price_now(feature_idx, COSTS, GROUP_IDXS, FEES, np.array(is_paid))

    paid_groups = {group for group in (0, 1) if is_paid[group]}
    assert price == naive_sessions.price(
        feature_idx, COSTS, GROUP_IDXS, FEES, paid_groups
    )


@st.composite
def sessions(draw, max_features=6, max_hypotheses=10):
    """An ensemble with statuses, paid groups and an amount that remains."""
    catalogue = draw(strategies.catalogues(max_features=max_features))
    ensemble = draw(strategies.ensembles(catalogue, max_hypotheses=max_hypotheses))
    n_features = len(ensemble.catalogue.features)
    n_groups = len(ensemble.catalogue.groups)
    status = draw(
        st.lists(
            st.sampled_from((0, 0, 1, 2, 3)), min_size=n_features, max_size=n_features
        )
    )
    is_paid = draw(st.lists(st.booleans(), min_size=n_groups, max_size=n_groups))
    budget = draw(strategies.budgets())
    return (
        ensemble,
        np.array(status, np.int64),
        np.array(is_paid, np.bool_),
        UNLIMITED if budget is None else budget,
    )


@given(sessions())
def test_find_plan_is_the_longest_prefix_that_can_be_paid(session):
    ensemble, status, is_group_paid, remaining = session
    values = np.where(status == kernels.KNOWN, 1.0, NAN)
    catalogue = ensemble.catalogue
    case = case_of(values, status, catalogue, is_group_paid)
    ends, _ = follow_all(ensemble, case)
    expected_length, wanted = naive_sessions.plan(
        plain_stumps(ensemble),
        status.tolist(),
        *(array.tolist() for array in catalogue.prices[:3]),
        set(np.flatnonzero(is_group_paid).tolist()),
        remaining,
    )

    length, first = kernels.find_plan(
        case, ends, ensemble.paths, catalogue.prices, remaining
    )

    assert (length, first) == (expected_length, wanted[0] if wanted else -1)


def bounds_of(ensemble, row, status, is_affordable, start):
    """What the kernel gives; no start: the whole ensemble counts."""
    feature_idxs = [stump.feature_idx for stump in ensemble.hypotheses]
    is_payable = (is_affordable | (status != kernels.OPEN))[feature_idxs]
    case = case_of(row, status, ensemble.catalogue)
    ends, _ = follow_all(ensemble, case)
    is_coming = status == kernels.PENDING
    reach = kernels.Reach(ends, is_payable, is_affordable, is_coming)
    scores = ensemble.paths.votes[:, 0].copy()
    return kernels.bound_votes(
        case,
        ensemble.paths,
        reach,
        ensemble.segments,
        scores,
        -1 if start is None else start,
    )


@given(sessions(max_features=3, max_hypotheses=6), st.booleans(), st.data())
def test_bound_votes_is_exact(session, is_prefix, data):
    ensemble, status, _, _ = session
    table = strategies.tables(ensemble.catalogue, max_rows=1, has_unseen=True)
    row = data.draw(table)[0]
    fits = st.lists(st.booleans(), min_size=status.size, max_size=status.size)
    is_affordable = np.array(data.draw(fits))
    dear = np.flatnonzero((status == kernels.OPEN) & ~is_affordable)
    lost = [h for h, one in enumerate(ensemble.hypotheses) if one.feature_idx in dear]
    last_start = min([*lost, len(ensemble.hypotheses)])
    start = data.draw(st.integers(0, last_start)) if is_prefix else None

    bounds = bounds_of(ensemble, row, status, is_affordable, start)

    assert bounds == naive_sessions.vote_bounds(
        plain_stumps(ensemble),
        row.tolist(),
        status.tolist(),
        is_affordable.tolist(),
        start,
        all_options(ensemble),
    )


def bought(values, feature_idx, status):
    """Obtain a feature after 2 questions and 100 spent, its group's fee being due."""
    row_status, ranks = np.array(status), np.zeros(5, np.int64)
    case = kernels.Case(np.array(values), row_status, np.zeros(2, np.bool_))
    prices = kernels.Prices(COSTS, GROUP_IDXS, FEES, IS_BUNDLE)
    counts = np.zeros(N_COUNTS, np.int64)
    counts[SPENT], counts[ASKED] = 100, 2
    buy_feature(feature_idx, case, prices, counts, ranks)
    totals = counts[[SPENT, ASKED]].tolist()
    return *totals, row_status.tolist(), ranks.tolist(), case.is_group_paid.tolist()


ROW = [1.0, NAN, NAN, 1.0, 1.0]


@pytest.mark.parametrize(
    ("values", "feature_idx", "status", "expected"),
    [
        # Alone, and in a group with a fee: there, then missing.
        (ROW, 4, [0] * 5, (105, 3, [0, 0, 0, 0, 1], [0, 0, 0, 0, 3], [False] * 2)),
        (ROW, 0, [0] * 5, (123, 3, [1, 0, 0, 0, 0], [3, 0, 0, 0, 0], [True, False])),
        (ROW, 1, [0] * 5, (100, 3, [0, 2, 0, 0, 0], [0, 3, 0, 0, 0], [False] * 2)),
        # A bundle: one member there, none there, one member known before.
        (ROW, 2, [0] * 5, (190, 4, [0, 0, 2, 1, 0], [0, 0, 3, 4, 0], [False, True])),
        (
            [NAN] * 5,
            3,
            [0] * 5,
            (100, 4, [0, 0, 2, 2, 0], [0, 0, 3, 4, 0], [False] * 2),
        ),
        (
            ROW,
            3,
            [0, 0, 1, 0, 0],
            (190, 3, [0, 0, 1, 1, 0], [0, 0, 0, 3, 0], [False, True]),
        ),
    ],
)
def test_purchase_charges_what_is_there(values, feature_idx, status, expected):
    assert bought(values, feature_idx, status) == expected


def ranks_of(asked: list[int], n_features: int) -> list[int]:
    ranks = [0] * n_features
    for position, feature_idx in enumerate(asked):
        ranks[feature_idx] = position + 1
    return ranks


def open_ends(values, limits) -> kernels.Ends:
    """Outputs that nothing was written to; 9 stands where all must be written."""
    shape = (values.shape[0], limits.size)
    return kernels.Ends(
        votes=np.full((*shape, 1), 9.0),
        alphas=np.full(shape, 9.0),
        spent=np.full(shape, 9),
        n_asked=np.full(shape, 9),
        marks=np.full(shape, 9),
        ranks=np.zeros(values.shape, np.int64),
    )


def ordered_walk(ensemble, values, limits, stage_ends=(), thresholds=()):
    """Run the kernel over all rows: its outputs."""
    ends = open_ends(values, limits)
    stages = kernels.Stages(
        np.array(stage_ends, np.int64), np.array(thresholds, np.float64)
    )
    terms = kernels.Terms(limits, ensemble.paths, ensemble.catalogue.prices)
    kernels.walk_ordered(values, terms, stages, ends)
    return ends.votes[:, :, 0], *ends[1:]


@given(
    strategies.ensembles(),
    st.lists(strategies.budgets(), min_size=1, max_size=4),
    st.data(),
)
def test_walk_ordered_is_one_session_per_row_and_budget(ensemble, budgets, data):
    table = strategies.tables(ensemble.catalogue, max_rows=3, has_unseen=True)
    values = data.draw(table)
    limits = ascending(budgets)

    votes, alphas, spent, asked, stages, ranks = ordered_walk(ensemble, values, limits)

    assert (stages == 0).all()
    for row, of_row in enumerate(values):
        ends = [
            naive.walk_ordered(
                naive_stumps(ensemble),
                ensemble.alphas,
                naive_shop(ensemble.catalogue),
                naive_row(of_row),
                limit,
            )
            for limit in limits.tolist()
        ]
        assert votes[row].tolist() == [end.vote for end in ends]
        assert alphas[row].tolist() == [end.alpha for end in ends]
        assert spent[row].tolist() == [end.spent for end in ends]
        assert asked[row].tolist() == [len(end.asked) for end in ends]
        assert ranks[row].tolist() == ranks_of(ends[-1].asked, values.shape[1])


def naive_staged(ensemble, row, limit, stage_ends, thresholds):
    """One session of a cascade: its end, and how far it has come.

    That is: the stages up to the last passed with a vote; -1 - s: stage s rejected.
    """
    stumps, shop = naive_stumps(ensemble), naive_shop(ensemble.catalogue)

    def walk(length):
        alphas = ensemble.alphas[:length]
        return naive.walk_ordered(stumps[:length], alphas, shop, row, limit)

    vote, alpha, passed = 0.0, 0.0, 0
    for stage, (stop, threshold) in enumerate(zip(stage_ends, thresholds, strict=True)):
        end = walk(stop)
        if not {stump[0] for stump in stumps[:stop]} <= set(end.asked):
            return end, passed
        if end.alpha > alpha:
            if end.vote - vote < threshold:
                return end, -1 - stage
            passed = stage + 1
        vote, alpha = end.vote, end.alpha
    return walk(len(stumps)), passed


@given(
    strategies.ensembles(),
    st.lists(strategies.budgets(), min_size=1, max_size=4),
    st.data(),
)
def test_walk_ordered_ends_where_a_stage_rejects(ensemble, budgets, data):
    table = strategies.tables(ensemble.catalogue, max_rows=3, has_unseen=True)
    values = data.draw(table)
    limits = ascending(budgets)
    positions = st.sets(st.integers(1, len(ensemble.hypotheses)), min_size=1)
    stage_ends = sorted(data.draw(positions))
    n_stages = len(stage_ends)
    eighths = st.lists(st.integers(-24, 24), min_size=n_stages, max_size=n_stages)
    thresholds = [eighth / 8 for eighth in data.draw(eighths)]

    votes, alphas, spent, asked, stages, ranks = ordered_walk(
        ensemble, values, limits, stage_ends, thresholds
    )

    for row, of_row in enumerate(values):
        pairs = [
            naive_staged(ensemble, naive_row(of_row), limit, stage_ends, thresholds)
            for limit in limits.tolist()
        ]
        ends = [end for end, _ in pairs]
        assert stages[row].tolist() == [stage for _, stage in pairs]
        assert votes[row].tolist() == [end.vote for end in ends]
        assert alphas[row].tolist() == [end.alpha for end in ends]
        assert spent[row].tolist() == [end.spent for end in ends]
        assert asked[row].tolist() == [len(end.asked) for end in ends]
        assert ranks[row].tolist() == ranks_of(ends[-1].asked, values.shape[1])


@pytest.mark.parametrize("status_of_second", [kernels.KNOWN, kernels.GONE])
def test_alpha_of_a_tree_is_counted_once_however_long_its_path(status_of_second):
    tree = Tree((Stump(0, 0.5, (1,)), Stump(1, 0.5, (1,))), ((1, LEAF), (LEAF, LEAF)))
    paths = lay_paths([tree], 1, [1.5])
    status = np.array([kernels.KNOWN, kernels.OPEN])
    case = kernels.Case(np.array([1.0, 1.0]), status, np.zeros(0, np.bool_))
    draws = kernels.Draws(
        np.zeros((1, 0)), np.zeros(2), np.array([0, 1, 2]), np.array([0, 0])
    )
    carried = carry(n_hypotheses=1, n_features=2, n_groups=0)

    def tell(feature_idx):
        tell_readers(0, feature_idx, case, paths, draws, carried)
        return carried.counts[0, ENDED], carried.alphas[0]

    assert tell(0) == (0, 1.5)
    status[1] = status_of_second
    assert tell(1) == (1, 1.5)


def carry(n_hypotheses, n_features, n_groups) -> kernels.Carried:
    """One row's session before its first draw."""
    return kernels.Carried(
        status=np.zeros((1, n_features), np.int64),
        is_group_paid=np.zeros((1, n_groups), np.bool_),
        is_done=np.zeros((1, n_hypotheses), np.bool_),
        has_vote=np.zeros((1, n_hypotheses), np.bool_),
        alphas=np.zeros(1),
        votes=np.zeros((1, 1)),
        counts=np.zeros((1, N_COUNTS), np.int64),
        ranks=np.zeros((1, n_features), np.int64),
    )


def sampled_walk(ensemble, row, limits, blocks):
    """Run the kernel block by block: whether it ended, and its outputs."""
    values, catalogue = row[None, :], ensemble.catalogue
    ends = open_ends(values, limits)
    carried = carry(len(ensemble.hypotheses), row.size, len(catalogue.groups))
    carried = carried._replace(ranks=ends.ranks)
    terms = kernels.Terms(limits, ensemble.paths, catalogue.prices)
    has_ended = np.zeros(1, np.bool_)
    for numbers in blocks:
        block = np.ascontiguousarray(numbers)[None, :]
        draws = kernels.Draws(block, ensemble.alpha_sums, *ensemble.readers)
        kernels.walk_sampled(values, terms, draws, carried, has_ended, ends)
    votes, alphas, spent, n_asked, marks, ranks = (one[0].tolist() for one in ends)
    votes = [vote for (vote,) in votes]
    return bool(has_ended[0]), votes, marks, alphas, spent, n_asked, ranks


@given(
    strategies.ensembles(),
    st.lists(strategies.budgets(), min_size=1, max_size=3),
    st.integers(0, 1000),
    st.data(),
)
def test_walk_sampled_is_one_session_per_budget(ensemble, budgets, seed, data):
    table = strategies.tables(ensemble.catalogue, max_rows=1, has_unseen=True)
    row = data.draw(table)[0]
    numbers = uniforms(seed, 0).random(400)
    limits = ascending(budgets)
    ends = [
        naive.walk_sampled(
            naive_stumps(ensemble),
            ensemble.alphas,
            naive_shop(ensemble.catalogue),
            naive_row(row),
            limit,
            numbers.tolist(),
        )
        for limit in limits.tolist()
    ]

    has_ended, votes, draws, alphas, spent, asked, ranks = sampled_walk(
        ensemble, row, limits, np.split(numbers, [3, 200])
    )

    done = [end for end in ends if end is not None]
    assert has_ended == (len(done) == len(ends))
    if has_ended:
        sampled = [end for end in ends if not end.is_full]
        assert votes[: len(sampled)] == [end.vote for end in sampled]
        assert alphas[: len(sampled)] == [end.alpha for end in sampled]
        assert draws == [-1 if end.is_full else end.n_draws for end in ends]
        assert spent == [end.spent for end in ends]
        assert asked == [len(end.asked) for end in ends]
        assert ranks == ranks_of(ends[-1].asked, row.size)


@pytest.mark.parametrize("n_blocks", [1, 4])
def test_sampled_walk_is_the_same_however_its_draws_are_cut(ensemble, n_blocks):
    numbers = uniforms(0, 0).random(8)
    limits = np.array([0, 1_000_000, 2_000_000])

    walk = sampled_walk(ensemble, np.zeros(2), limits, np.split(numbers, n_blocks))

    assert walk == sampled_walk(ensemble, np.zeros(2), limits, [numbers])
