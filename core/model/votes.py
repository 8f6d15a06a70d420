"""Votes of an ensemble on many rows, and the classes that they point to."""

import numpy as np

from core import kernels
from core.arrays import BoolArray, FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.hypotheses import Hypothesis, lay_paths

TIE = 1e-12

# Ensembles of trees that vote alike: a chance is a share of votes, not of odds.
FORESTS = ("bagging", "random_forest")


def class_scores(votes: FloatArray) -> FloatArray:
    """Votes (..., n_outputs) as one score per class, (..., n_classes)."""
    if votes.shape[-1] > 1:
        return votes
    return np.concatenate((-votes, votes), axis=-1)


def raw_votes(ensemble: Ensemble, votes: FloatArray) -> IntArray:
    """Class position of votes sum(alpha h), (..., n_outputs) -> (...).

    What rounding could have made counts as a tie, which goes to the class of the
    larger prior, then of the higher position.
    """
    tolerance = 2.0 * TIE * float(ensemble.alpha_sums[-1])
    return argbest(ensemble, class_scores(votes), tolerance)


def argbest(ensemble: Ensemble, gains: FloatArray, tolerance: float) -> IntArray:
    """Class of the largest gain, (..., n_classes) -> (...); ties as in `raw_votes`."""
    best = np.empty(gains.shape[:-1], np.int64)
    rows = np.ascontiguousarray(gains).reshape(-1, gains.shape[-1])
    kernels.pick_best(rows, ensemble.preference, tolerance, best.reshape(-1))
    return best


def label_votes(ensemble: Ensemble, margins: FloatArray) -> BoolArray:
    """Which labels a multi-label ensemble votes for; ties as their priors say."""
    is_likely = ensemble.class_priors > 0.5
    return np.where(np.abs(margins) <= TIE, is_likely, margins > 0)


def hypothesis_votes(
    hypothesis: Hypothesis, values: FloatArray, n_outputs: int
) -> FloatArray:
    """Votes of one hypothesis, +1, -1 or 0, on every row; (n_rows, n_outputs)."""
    paths = lay_paths([hypothesis], n_outputs)
    votes, alphas = np.zeros((values.shape[0], n_outputs)), np.zeros(values.shape[0])
    kernels.add_votes(values, paths, votes, alphas)
    return votes


def divide(votes: FloatArray | IntArray, totals: FloatArray | IntArray) -> FloatArray:
    """Votes (..., n_outputs) divided by totals (...); 0 where the total is."""
    totals = totals[..., None]
    return np.divide(votes, totals, out=np.zeros(votes.shape), where=totals > 0)


def full_votes(ensemble: Ensemble, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Votes of every row by all hypotheses.

    Returns sum(alpha h(x)), (n_rows, n_outputs), and the sum of the alphas that voted,
    (n_rows,).
    """
    votes = np.zeros((values.shape[0], ensemble.n_outputs))
    alphas = np.zeros(values.shape[0])
    kernels.add_votes(values, ensemble.paths, votes, alphas)
    return votes, alphas
