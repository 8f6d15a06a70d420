"""Compute the votes of an ensemble on many rows, and the classes they elect."""

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import Hypothesis, build_paths

TIE = 1e-12

# Trees of these have equal votes: a chance is a share of votes, not a logit.
FORESTS = ("bagging", "random_forest")


def class_scores(votes: FloatArray) -> FloatArray:
    """Return votes as one score per class; (..., n_outputs) -> (..., n_classes)."""
    if votes.shape[-1] > 1:
        return votes
    return np.concatenate((-votes, votes), axis=-1)


def raw_classes(ensemble: Ensemble, votes: FloatArray) -> IntArray:
    """Return the class position of votes sum(alpha h); (..., n_outputs) -> (...).

    Differences within rounding count as a tie, which goes to the class of the larger
    prior, then of the higher position.
    """
    tolerance = 2.0 * TIE * float(ensemble.alpha_sums[-1])
    return pick_class(ensemble, class_scores(votes), tolerance)


def pick_class(ensemble: Ensemble, gains: FloatArray, tolerance: float) -> IntArray:
    """Return the class of largest gain; (..., n_classes) -> (...).

    Gains that differ by at most `tolerance` tie; ties are broken as in `raw_classes`.
    """
    best = np.empty(gains.shape[:-1], np.int64)
    rows = np.ascontiguousarray(gains).reshape(-1, gains.shape[-1])
    kernels.pick_best(rows, ensemble.preference, tolerance, best.reshape(-1))
    return best


def multilabel_votes(ensemble: Ensemble, margins: FloatArray) -> BoolArray:
    """Return the labels voted for, (..., n_outputs); a tie goes by the prior."""
    is_likely = ensemble.class_priors > 0.5
    return np.where(np.abs(margins) <= TIE, is_likely, margins > 0)


def hypothesis_votes(
    hypothesis: Hypothesis, values: FloatArray, n_outputs: int
) -> FloatArray:
    """Return one hypothesis's votes, +1, -1 or 0, on rows; (n_rows, n_outputs)."""
    paths = build_paths([hypothesis], n_outputs)
    votes, alphas = np.zeros((values.shape[0], n_outputs)), np.zeros(values.shape[0])
    kernels.add_votes(values, paths, votes, alphas)
    return votes


def safe_divide(
    votes: FloatArray | IntArray, totals: FloatArray | IntArray
) -> FloatArray:
    """Divide votes (..., n_outputs) by totals (...); 0 where a total is 0 or less."""
    totals = totals[..., None]
    return np.divide(votes, totals, out=np.zeros(votes.shape), where=totals > 0)


def full_votes(ensemble: Ensemble, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the votes of all hypotheses on every row, and the alphas that voted.

    They are sum(alpha h(x)), (n_rows, n_outputs), and the sum of alpha over hypotheses
    that did not abstain, (n_rows,).
    """
    votes = np.zeros((values.shape[0], ensemble.n_outputs))
    alphas = np.zeros(values.shape[0])
    kernels.add_votes(values, ensemble.paths, votes, alphas)
    return votes, alphas
