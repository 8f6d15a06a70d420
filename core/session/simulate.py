"""Many rows at once: each row is a session, without a Python object for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core import kernels
from core.arrays import BoolArray, FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.votes import (
    TIE,
    divide,
    full_votes,
    raw_votes,
)
from core.session.arrays import UNLIMITED
from core.session.policies.sample import MAX_DRAWS, N_BLOCK, uniforms
from core.session.probability import probabilities, stage_chances, stage_votes
from core.table.prices import total_cost


@dataclass(frozen=True)
class Walks:
    """How the session of every row ends under every budget; (n_rows, n_budgets).

    `margins` (n_rows, n_budgets, n_outputs) are votes divided by the alpha that voted
    (`sample`: by the draws), `shares` that alpha by all alpha; `is_full` where the
    forecast is the full vote of what is known although the policy samples; `spent` in
    micro-units. `ranks`
    (n_rows, n_features): the order of asking under the largest budget, 0: not asked;
    under budget b the features of rank 1 to `n_asked`. `stages`: see
    `core.session.policies.cascade.count_passed`.
    """

    margins: FloatArray
    shares: FloatArray
    is_full: BoolArray
    spent: IntArray
    n_asked: IntArray
    ranks: IntArray
    stages: IntArray


def walk(
    ensemble: Ensemble,
    values: FloatArray,
    budgets: Sequence[int | None],
    policy: str | None = None,
    seed: int = 0,
    *,
    needs_ranks: bool = False,
    first_row: int = 0,
) -> Walks:
    """Play one session per row under each budget, without advice to stop.

    Parameters
    ----------
    ensemble : Ensemble
    values : float64 array, shape (n_rows, n_features)
        As in `Dataset.values`; NaN cells answer `unavailable`.
    budgets : sequence of int or None
        In micro-units, in any order; None: unlimited.
    policy : str, optional
        That of the ensemble's algorithm by default.
    seed : int
        Row i draws from the stream (seed, i).
    needs_ranks : bool
        Whether `ranks` must be right for `sample` under budgets that pay everything
        (where they don't matter to anything else, and take long to find).
    first_row : int
        Number of the first row, where these are a part of all.

    Returns
    -------
    Walks
    """
    limits = np.array([UNLIMITED if b is None else b for b in budgets], np.int64)
    order = np.argsort(limits, kind="stable")
    ascending = limits[order]
    chosen = policy or ensemble.policy
    if chosen != "sample" or not ensemble.hypotheses:
        is_staged = chosen == "cascade"
        walks = walk_ordered(ensemble, values, ascending, is_staged=is_staged)
    else:
        walks = walk_sampled(ensemble, values, ascending, seed, needs_ranks, first_row)
    back = np.argsort(order, kind="stable")
    return Walks(
        walks.margins[:, back],
        walks.shares[:, back],
        walks.is_full[:, back],
        walks.spent[:, back],
        walks.n_asked[:, back],
        walks.ranks,
        walks.stages[:, back],
    )


def walk_ordered(
    ensemble: Ensemble,
    values: FloatArray,
    budgets: IntArray,
    *,
    is_staged: bool = False,
) -> Walks:
    """Walk with the policy `ordered`, or `cascade` (`is_staged`); budgets ascending."""
    catalogue, paths = ensemble.catalogue, ensemble.paths
    shape = (values.shape[0], budgets.size)
    votes, alphas = np.zeros((*shape, ensemble.n_outputs)), np.zeros(shape)
    spent, n_asked = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    stages, ranks = np.zeros(shape, np.int64), np.zeros(values.shape, np.int64)
    n_stages = ensemble.stage_ends.size if is_staged else 0
    kernels.walk_ordered(
        np.ascontiguousarray(values),
        budgets,
        paths.roots,
        paths.nodes,
        paths.cuts,
        ensemble.alpha_array,
        ensemble.weighted_votes,
        catalogue.costs,
        catalogue.group_idxs,
        catalogue.fees,
        catalogue.is_bundle,
        ensemble.stage_ends[:n_stages],
        ensemble.thresholds[:n_stages],
        votes,
        alphas,
        spent,
        n_asked,
        stages,
        ranks,
    )
    return Walks(
        margins=divide(votes, alphas),
        shares=alphas / max(float(ensemble.alpha_sums[-1]), TIE),
        is_full=np.ones(shape, np.bool_),
        spent=spent,
        n_asked=n_asked,
        ranks=ranks,
        stages=stages,
    )


def walk_sampled(
    ensemble: Ensemble,
    values: FloatArray,
    budgets: IntArray,
    seed: int,
    needs_ranks: bool,
    first_row: int,
) -> Walks:
    """Walk with the policy `sample`; budgets ascending.

    Under a budget that pays everything the draws only decide the order, and the end
    is that of `ordered`.
    """
    catalogue, paths = ensemble.catalogue, ensemble.paths
    n_rows, n_features = values.shape
    full = walk_ordered(ensemble, values, budgets)
    is_free = budgets >= total_cost(catalogue)
    n_walked = budgets.size if needs_ranks else int((~is_free).sum())
    shape = (n_rows, n_walked)
    votes = np.zeros((*shape, ensemble.n_outputs), np.int64)
    draws, alphas = np.zeros(shape, np.int64), np.zeros(shape)
    spent, n_asked = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    ranks = np.zeros((n_rows, n_features), np.int64)
    statuses = np.zeros((n_rows, n_features), np.int64)
    for row in range(n_rows if n_walked else 0):
        generator = uniforms(seed, first_row + row)
        totals = np.zeros(5, np.int64)
        ballots = np.zeros(ensemble.n_outputs, np.int64)
        is_group_paid = np.zeros(len(catalogue.groups), np.bool_)
        is_done, has_vote = np.zeros((2, len(ensemble.hypotheses)), np.bool_)
        known_alpha = np.zeros(1)
        has_ended, n_drawn = False, 0
        while not has_ended and n_drawn < MAX_DRAWS:
            has_ended = kernels.walk_sampled(
                values[row],
                budgets[:n_walked],
                generator.random(N_BLOCK),
                ensemble.alpha_sums,
                paths.roots,
                paths.nodes,
                paths.cuts,
                ensemble.alpha_array,
                ensemble.weighted_votes,
                catalogue.costs,
                catalogue.group_idxs,
                catalogue.fees,
                catalogue.is_bundle,
                *ensemble.readers,
                statuses[row],
                is_group_paid,
                is_done,
                has_vote,
                known_alpha,
                totals,
                ballots,
                votes[row],
                draws[row],
                alphas[row],
                spent[row],
                n_asked[row],
                ranks[row],
            )
            n_drawn += N_BLOCK
        if not has_ended:
            left = slice(int(totals[4]), None)
            draws[row, left], spent[row, left] = -1, totals[2]
            n_asked[row, left] = totals[3]
    total = float(ensemble.alpha_sums[-1])
    shares = np.where(draws > 0, alphas / total, 0.0)
    sampled = Walks(
        divide(votes, draws),
        shares,
        draws < 0,
        spent,
        n_asked,
        ranks,
        np.zeros(shape, np.int64),
    )
    known_values = np.where(statuses == kernels.KNOWN, values, np.nan)
    return finish_sampled(ensemble, full, sampled, known_values)


def finish_sampled(
    ensemble: Ensemble,
    full: Walks,
    sampled: Walks,
    known_values: FloatArray,
) -> Walks:
    """Fill in the full vote where sessions know all, and the budgets not walked."""
    n_walked = sampled.spent.shape[1]
    votes, alphas = full_votes(ensemble, known_values)
    margins = divide(votes, alphas)[:, None]
    shares = (alphas / float(ensemble.alpha_sums[-1]))[:, None]
    is_full = sampled.is_full
    margins = np.where(is_full[..., None], margins, sampled.margins)
    shares = np.where(is_full, shares, sampled.shares)
    return Walks(
        np.hstack((margins, full.margins[:, n_walked:])),
        np.hstack((shares, full.shares[:, n_walked:])),
        np.hstack((is_full, full.is_full[:, n_walked:])),
        np.hstack((sampled.spent, full.spent[:, n_walked:])),
        np.hstack((sampled.n_asked, full.n_asked[:, n_walked:])),
        sampled.ranks,
        full.stages,
    )


def class_votes(
    ensemble: Ensemble, walks: Walks, policy: str | None = None
) -> IntArray:
    """Class by the raw vote at the end of each walk, of a cascade by its stages."""
    if (policy or ensemble.policy) == "cascade":
        return stage_votes(ensemble, walks.stages)
    return raw_votes(ensemble, walks.margins * ensemble.alpha_sums[-1])


def find_scores(
    ensemble: Ensemble, walks: Walks, policy: str | None = None
) -> FloatArray:
    """F at the end of each walk, of draws an estimate; (n_rows, n_budgets, n_outputs).

    F = sum(alpha h) over what is known; the mean vote of draws counts for all alpha.
    """
    shares = walks.shares
    if (policy or ensemble.policy) == "sample":
        shares = np.where(walks.is_full, shares, 1.0)
    scores: FloatArray = (
        walks.margins * shares[..., None] * float(ensemble.alpha_sums[-1])
    )
    return scores


def class_probabilities(
    ensemble: Ensemble, walks: Walks, policy: str | None = None
) -> FloatArray:
    """Probability of each class at the end of each walk; (..., n_classes)."""
    chosen = policy or ensemble.policy
    if chosen == "cascade":
        return stage_chances(ensemble, walks.stages)
    scores = find_scores(ensemble, walks, chosen)
    full = probabilities(ensemble, "ordered", scores, walks.shares)
    if chosen == "ordered":
        return full
    sampled = probabilities(ensemble, "sample", scores, walks.shares)
    return np.where(walks.is_full[..., None], full, sampled)
