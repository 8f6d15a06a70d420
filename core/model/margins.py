"""Margins of an ensemble's rows, and the bound they enter."""

import math

import numpy as np

from core.arrays import FloatArray
from core.model.ensemble import Ensemble
from core.model.votes import class_scores, full_votes
from core.table.dataset import Dataset


def margins(ensemble: Ensemble, dataset: Dataset) -> FloatArray:
    """Normalised margins of the rows' votes (Schapire et al. 1998).

    Parameters
    ----------
    ensemble : Ensemble
    dataset : Dataset
        With the ensemble's catalogue and classes.

    Returns
    -------
    float64 array, shape (n_samples,)
        In [-1, 1]; positive where the vote is right; 0 without a hypothesis. Of two
        classes y sum(alpha h(x)) / sum(alpha); of more half the lead of the row's
        class over the best other one.
    """
    total = float(ensemble.alpha_sums[-1])
    votes, _ = full_votes(ensemble, dataset.values)
    scores = class_scores(votes / total if total else votes)
    rows = np.arange(dataset.n_samples)
    own = scores[rows, dataset.targets]
    scores[rows, dataset.targets] = -np.inf
    leads: FloatArray = (own - scores.max(axis=1)) / 2
    return leads


def margin_distribution(
    row_margins: FloatArray, thetas: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Share of rows whose margin is at most each theta.

    Parameters
    ----------
    row_margins : float64 array, shape (n_samples,)
    thetas : float64 array, shape (n_thetas,)
    weights : float64 array, shape (n_samples,), optional
        Of the rows, with sum 1; equal ones by default.

    Returns
    -------
    float64 array, shape (n_thetas,)
        P_S[y f(x) <= theta], which rises with theta.
    """
    if weights is None:
        weights = np.full(row_margins.size, 1.0 / row_margins.size)
    shares: FloatArray = (row_margins[None, :] <= thetas[:, None]) @ weights
    return shares


def sampling_term(n_draws: int, theta: float) -> float:
    """exp(-N theta^2/2), the last term of Corollary 3 (Reyzin 2010).

    An upper bound, by Hoeffding's inequality, on the chance that the majority of N
    drawn hypotheses is not the full vote's side, on a row whose margin is theta or
    more in size. The chance itself is mostly far less.

    Parameters
    ----------
    n_draws : int
        N, at least 0.
    theta : float
        In [-1, 1].

    Returns
    -------
    float
        In (0, 1]; 1 without a draw or a margin.
    """
    return math.exp(-n_draws * theta**2 / 2)


def corollary3_bound(row_margins: FloatArray, theta: float, n_draws: int) -> float:
    """P_S[y f(x) <= theta] + exp(-N theta^2/2) (Reyzin 2010, Corollary 3).

    The two terms that can be computed. The third, O~(sqrt(d/(m theta^2))), has a
    constant that the paper leaves open, so it is left out here: what is returned
    bounds the error on the rows themselves, not on new ones.

    Parameters
    ----------
    row_margins : float64 array, shape (n_samples,)
    theta : float
        In (0, 1].
    n_draws : int
        At least 0.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If theta or n_draws is out of range.
    """
    if not 0 < theta <= 1 or n_draws < 0:
        raise ValueError("theta must be in (0, 1] and n_draws at least 0")
    empirical = margin_distribution(row_margins, np.array([theta]))[0]
    return float(empirical) + sampling_term(n_draws, theta)
