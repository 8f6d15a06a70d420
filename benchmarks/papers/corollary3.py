"""Margins of rows, and the bound that they enter (Reyzin 2010, Corollary 3)."""

import math

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import class_scores, full_votes
from askless.core.table.dataset import Dataset


def margins(ensemble: Ensemble, dataset: Dataset) -> FloatArray:
    """Normalised margins of the rows' votes (Schapire et al. 1998); (n_samples,).

    In [-1, 1]; positive where the vote is right; 0 without a hypothesis. Of two classes
    y sum(alpha h(x)) / sum(alpha); of more half the lead of the row's class over the
    best other one.
    """
    total = float(ensemble.alpha_sums[-1])
    votes, _ = full_votes(ensemble, dataset.values)
    scores = class_scores(votes / total if total else votes)
    rows = np.arange(dataset.n_samples)
    own = scores[rows, dataset.targets]
    scores[rows, dataset.targets] = -np.inf
    return (own - scores.max(axis=1)) / 2


def margin_distribution(row_margins: FloatArray, thetas: FloatArray) -> FloatArray:
    """Share of rows whose margin is at most each theta, P_S[y f(x) <= theta]."""
    weights = np.full(row_margins.size, 1.0 / row_margins.size)
    return (row_margins[None, :] <= thetas[:, None]) @ weights


def sampling_term(n_draws: int, theta: float) -> float:
    """exp(-N theta^2/2), the last term of Corollary 3.

    An upper bound, by Hoeffding's inequality, on the chance that the majority of N
    drawn hypotheses is not the full vote's side, on a row whose margin is theta or
    more in size. The chance itself is mostly far less.
    """
    return math.exp(-n_draws * theta**2 / 2)


def corollary3_bound(row_margins: FloatArray, theta: float, n_draws: int) -> float:
    """P_S[y f(x) <= theta] + exp(-N theta^2/2), for a theta in (0, 1] and N draws.

    The two terms that can be computed. The third, O~(sqrt(d/(m theta^2))), has a
    constant that the paper leaves open, so it is left out here: what is returned
    bounds the error on the rows themselves, not on new ones.
    """
    empirical = margin_distribution(row_margins, np.array([theta]))[0]
    return float(empirical) + sampling_term(n_draws, theta)
