"""Kernels of a session against their twins in plain Python; walks: `test_simulate`."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core import kernels
from askless.core.kernels.sessions.draws import draw_hypothesis
from askless.core.kernels.sessions.paths import follow_node
from askless.core.model.hypotheses import Stump, build_paths
from tests import naive_sessions, strategies, twins

NAN = math.nan


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
    paths = build_paths([Stump(0, cut, (1,), is_category)], 1)

    end = follow_node(value, paths.roots[0], paths.nodes, paths.cuts)

    assert 2.0 * paths.votes[~end].item() == expected


def test_no_stumps_vote_zero(ensemble):
    none = replace(ensemble, hypotheses=(), alphas=())
    votes, alphas = np.zeros((2, 1)), np.zeros(2)

    kernels.add_votes(np.zeros((2, 2)), none.paths, votes, alphas)

    assert votes.tolist() == [[0.0], [0.0]]
    assert alphas.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("number", "drawn"), [(0.0, 0), (0.249, 0), (0.25, 1), (0.999, 1), (1.0, 1)]
)
def test_number_draws_the_hypothesis_whose_part_begins_there(number, drawn):
    assert draw_hypothesis(number, np.array([0.0, 1.0, 4.0])) == drawn


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
def test_find_waiting_draw_passes_over_draws_that_need_nothing(
    n_done, waiting_for, expected
):
    numbers = np.array([0.1, 0.9, 0.1, 0.9])
    sums = np.array([0.0, 1.0, 2.0])

    found = kernels.first_waiting_draw(numbers, n_done, sums, np.array(waiting_for))

    assert found == expected


def bounds_of(ensemble, case, is_affordable, start):
    """What the kernel gives; no start: the whole ensemble counts."""
    ends, dues, waiting = np.empty((3, len(ensemble.hypotheses)), np.int64)
    prices = ensemble.catalogue.prices
    kernels.survey_paths(case, ensemble.paths, prices, ends, dues, waiting)
    feature_idxs = [stump.feature_idx for stump in ensemble.hypotheses]
    is_payable = (is_affordable | (case.status != kernels.OPEN))[feature_idxs]
    is_coming = case.status == kernels.PENDING
    reach = kernels.Reach(ends, is_payable, is_affordable, is_coming)
    scores = ensemble.paths.votes[:, 0].copy()
    last = -1 if start is None else start
    return kernels.bound_votes(
        case, ensemble.paths, reach, ensemble.segments, scores, last
    )


@given(st.booleans(), st.data())
def test_bound_votes_is_exact(is_prefix, data):
    catalogue = data.draw(strategies.catalogues(max_features=3))
    ensemble = data.draw(strategies.stump_ensembles(catalogue, max_hypotheses=6))
    row = data.draw(strategies.tables(catalogue, max_rows=1))[0]
    codes = st.sampled_from((0, 0, 1, 2, 3))
    status = np.array(data.draw(st.tuples(*[codes] * row.size)))
    is_affordable = np.array(data.draw(st.tuples(*[st.booleans()] * row.size)))
    case = kernels.Case(row, status, np.zeros(len(catalogue.groups), np.bool_))
    is_lost = (status == kernels.OPEN) & ~is_affordable
    lost = [is_lost[hypothesis.feature_idx] for hypothesis in ensemble.hypotheses]
    stop = lost.index(True) if any(lost) else len(lost)
    start = data.draw(st.integers(0, stop)) if is_prefix else None

    bounds = bounds_of(ensemble, case, is_affordable, start)

    stumps = list(zip(twins.all_to_naive(ensemble), ensemble.alphas, strict=True))
    parts = [stumps[:length] for length in range(stop + 1)][start:]
    if start is None:
        parts = [[stump for stump, gone in zip(stumps, lost, strict=True) if not gone]]
    is_free = np.isin(status, (kernels.OPEN, kernels.PENDING)) & ~is_lost
    known = [
        None if v != v or s != kernels.KNOWN else v
        for v, s in zip(row, status, strict=True)
    ]
    found = [
        naive_sessions.vote_bounds(
            *([one for one, _ in part], [alpha for _, alpha in part], known),
            *(np.flatnonzero(is_free & ensemble.is_used), twins.all_options(ensemble)),
            (1.0,),
        )
        for part in parts
    ]
    assert bounds == (min(low for low, _ in found), max(high for _, high in found))
