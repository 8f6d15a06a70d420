"""Many rows at once: each row is a session, without a Python object for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core import kernels
from core.forecasts import TIE, decide_all, positive_probabilities, raw_votes
from core.policies.sampled import MAX_DRAWS, N_BLOCK, uniforms
from core.prices import total_cost
from core.session_arrays import UNLIMITED
from core.types import (
    BoolArray,
    Curve,
    Dataset,
    Ensemble,
    FloatArray,
    IntArray,
    PolicyName,
)


@dataclass(frozen=True)
class Walks:
    """How the session of every row ends under every budget; (n_rows, n_budgets).

    `margins` and `shares` as in `Forecast`; `is_full` where the forecast is the full
    vote of what is known although the policy samples; `spent` in micro-units. `ranks`
    (n_rows, n_features): the order of asking under the largest budget, 0: not asked;
    under budget b the features of rank 1 to `n_asked`.
    """

    margins: FloatArray
    shares: FloatArray
    is_full: BoolArray
    spent: IntArray
    n_asked: IntArray
    ranks: IntArray


def walk(
    ensemble: Ensemble,
    values: FloatArray,
    budgets: Sequence[int | None],
    policy: PolicyName | None = None,
    seed: int = 0,
    *,
    needs_ranks: bool = False,
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

    Returns
    -------
    Walks
    """
    limits = np.array([UNLIMITED if b is None else b for b in budgets], np.int64)
    order = np.argsort(limits, kind="stable")
    ascending = limits[order]
    if (policy or ensemble.policy) == "ordered" or not ensemble.hypotheses:
        walks = walk_ordered(ensemble, values, ascending)
    else:
        walks = walk_sampled(ensemble, values, ascending, seed, needs_ranks)
    back = np.argsort(order, kind="stable")
    return Walks(
        walks.margins[:, back],
        walks.shares[:, back],
        walks.is_full[:, back],
        walks.spent[:, back],
        walks.n_asked[:, back],
        walks.ranks,
    )


def walk_ordered(ensemble: Ensemble, values: FloatArray, budgets: IntArray) -> Walks:
    """Walk with the policy `ordered`; budgets ascending."""
    catalogue = ensemble.catalogue
    shape = (values.shape[0], budgets.size)
    votes, alphas = np.zeros(shape), np.zeros(shape)
    spent, n_asked = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    ranks = np.zeros(values.shape, np.int64)
    kernels.walk_ordered(
        np.ascontiguousarray(values),
        budgets,
        ensemble.feature_idxs,
        ensemble.cuts,
        ensemble.is_category,
        ensemble.signed_alphas,
        catalogue.costs,
        catalogue.group_idxs,
        catalogue.fees,
        catalogue.is_bundle,
        votes,
        alphas,
        spent,
        n_asked,
        ranks,
    )
    margins = np.divide(votes, alphas, out=np.zeros(shape), where=alphas > 0)
    shares = alphas / max(float(ensemble.alpha_sums[-1]), TIE)
    return Walks(margins, shares, np.ones(shape, np.bool_), spent, n_asked, ranks)


def walk_sampled(
    ensemble: Ensemble,
    values: FloatArray,
    budgets: IntArray,
    seed: int,
    needs_ranks: bool,
) -> Walks:
    """Walk with the policy `sample`; budgets ascending.

    Under a budget that pays everything the draws only decide the order, and the end
    is that of `ordered`.
    """
    catalogue = ensemble.catalogue
    n_rows, n_features = values.shape
    full = walk_ordered(ensemble, values, budgets)
    is_free = budgets >= total_cost(catalogue)
    n_walked = budgets.size if needs_ranks else int((~is_free).sum())
    shape = (n_rows, n_walked)
    votes, draws = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    spent, n_asked = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    ranks = np.zeros((n_rows, n_features), np.int64)
    statuses = np.zeros((n_rows, n_features), np.int64)
    for row in range(n_rows if n_walked else 0):
        generator = uniforms(seed, row)
        totals = np.zeros(5, np.int64)
        is_group_paid = np.zeros(len(catalogue.groups), np.bool_)
        has_ended, n_drawn = False, 0
        while not has_ended and n_drawn < MAX_DRAWS:
            has_ended = kernels.walk_sampled(
                values[row],
                budgets[:n_walked],
                generator.random(N_BLOCK),
                ensemble.alpha_sums,
                ensemble.feature_idxs,
                ensemble.cuts,
                ensemble.is_category,
                ensemble.signed_alphas,
                catalogue.costs,
                catalogue.group_idxs,
                catalogue.fees,
                catalogue.is_bundle,
                ensemble.is_used,
                statuses[row],
                is_group_paid,
                totals,
                votes[row],
                draws[row],
                spent[row],
                n_asked[row],
                ranks[row],
            )
            n_drawn += N_BLOCK
        if not has_ended:
            left = slice(int(totals[4]), None)
            draws[row, left], spent[row, left] = -1, totals[2]
            n_asked[row, left] = totals[3]
    return finish_sampled(
        ensemble,
        full,
        Walks(
            margins=np.divide(votes, draws, out=np.zeros(shape), where=draws > 0),
            shares=np.where(
                draws > 0, shares_known(ensemble, values, ranks, n_asked), 0.0
            ),
            is_full=draws < 0,
            spent=spent,
            n_asked=n_asked,
            ranks=ranks,
        ),
        np.where(statuses == kernels.KNOWN, values, np.nan),
    )


def finish_sampled(
    ensemble: Ensemble,
    full: Walks,
    sampled: Walks,
    known_values: FloatArray,
) -> Walks:
    """Fill in the full vote where sessions know all, and the budgets not walked."""
    n_walked = sampled.margins.shape[1]
    votes = np.zeros(known_values.shape[0])
    kernels.add_votes(
        known_values,
        ensemble.feature_idxs,
        ensemble.cuts,
        ensemble.is_category,
        ensemble.signed_alphas,
        votes,
    )
    total = float(ensemble.alpha_sums[-1])
    alphas = alpha_by_feature(ensemble)
    known_alphas = (~np.isnan(known_values)) @ alphas
    margins = np.divide(
        votes, known_alphas, out=np.zeros_like(votes), where=known_alphas > 0
    )
    is_full = sampled.is_full
    return Walks(
        np.hstack(
            (
                np.where(is_full, margins[:, None], sampled.margins),
                full.margins[:, n_walked:],
            )
        ),
        np.hstack(
            (
                np.where(is_full, (known_alphas / total)[:, None], sampled.shares),
                full.shares[:, n_walked:],
            )
        ),
        np.hstack((is_full, full.is_full[:, n_walked:])),
        np.hstack((sampled.spent, full.spent[:, n_walked:])),
        np.hstack((sampled.n_asked, full.n_asked[:, n_walked:])),
        sampled.ranks,
    )


def alpha_by_feature(ensemble: Ensemble) -> FloatArray:
    """Sum of alpha over the hypotheses on each feature; (n_features,)."""
    alphas = np.zeros(len(ensemble.catalogue.features))
    np.add.at(alphas, ensemble.feature_idxs, np.abs(ensemble.signed_alphas))
    return alphas


def shares_known(
    ensemble: Ensemble, values: FloatArray, ranks: IntArray, n_asked: IntArray
) -> FloatArray:
    """Share of the ensemble's alpha whose feature is known; (n_rows, n_budgets)."""
    alphas = alpha_by_feature(ensemble) / max(float(ensemble.alpha_sums[-1]), TIE)
    is_there = (ranks > 0) & ~np.isnan(values)
    shares = np.empty(n_asked.shape)
    for idx in range(n_asked.shape[1]):
        shares[:, idx] = (is_there & (ranks <= n_asked[:, idx, None])) @ alphas
    return shares


def probabilities(
    ensemble: Ensemble, walks: Walks, policy: PolicyName | None = None
) -> FloatArray:
    """Probability of the positive class at the end of each walk."""
    ordered = positive_probabilities(ensemble, "ordered", walks.margins, walks.shares)
    if (policy or ensemble.policy) == "ordered":
        return ordered
    sampled = positive_probabilities(ensemble, "sample", walks.margins, walks.shares)
    return np.where(walks.is_full, ordered, sampled)


def evaluate(
    ensemble: Ensemble,
    dataset: Dataset,
    budgets: Sequence[int | None],
    policy: PolicyName | None = None,
    seed: int = 0,
) -> Curve:
    """Error and spend against budget over the rows of a dataset.

    Parameters
    ----------
    ensemble : Ensemble
    dataset : Dataset
        With the ensemble's catalogue and classes.
    budgets : sequence of int or None
        In micro-units; None: unlimited.
    policy, seed
        As in `walk`.

    Returns
    -------
    Curve
        Weighted by the rows' weights. `errors` are those of the raw vote,
        `errors_calibrated` those of the label decided from the probability.
    """
    walks = walk(ensemble, dataset.values, budgets, policy, seed)
    total = float(ensemble.alpha_sums[-1])
    votes = raw_votes(ensemble, walks.margins * total)
    labels = decide_all(ensemble, probabilities(ensemble, walks, policy))
    targets, weights = dataset.targets[:, None], dataset.weights
    return Curve(
        budgets=tuple(budgets),
        errors=tuple((weights @ (votes != targets)).tolist()),
        errors_calibrated=tuple((weights @ (labels != targets)).tolist()),
        mean_spends=tuple((weights @ walks.spent).tolist()),
        max_spends=tuple(walks.spent.max(axis=0, initial=0).tolist()),
        n_samples=dataset.n_samples,
    )
