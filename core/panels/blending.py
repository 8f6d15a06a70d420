"""The blend of a panel: predictors fitted to its features, weighed on held-out rows."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from core.arrays import FloatArray
from core.model.panels import (
    Blend,
    Columns,
    KernelRidge,
    LogisticRidge,
    Panel,
    to_chances,
)
from core.panels.chances import fit_weights, mean_loss, to_logits
from core.panels.ridges import Basis, fit_kernel, fit_logistic
from core.panels.rows import PanelRows
from core.panels.trees import grow, held_out_scores, make_growth, serve_trees

# What each predictor weighs before held-out rows speak; how many rows hold it there.
TREES, LAPLACE, GAUSS, LOGISTIC = 0.35, 0.25, 0.25, 0.15
HOLD = 10.0

N_FOLDS = 5

# Folds of ridges, which have them in closed form, have at most so many rows.
MAX_FOLD = 400


class Effort(NamedTuple):
    """How much is done for a blend."""

    n_waves: int
    #: what is tried as the hold of a kernel
    holds: tuple[float, ...]
    #: (rounds, leaves, rate, row_share, column_share) of each boosted ensemble
    ensembles: tuple[tuple[int, int, float, float, float], ...]
    has_gauss: bool


FULL = Effort(
    500, (0.06, 0.3, 1.5), ((130, 4, 0.1, 1.0, 1.0), (100, 6, 0.08, 0.75, 0.6)), True
)
LIGHT = Effort(200, (0.3,), ((80, 4, 0.1, 1.0, 1.0),), False)


def make_panel(
    rows: PanelRows, feature_idxs: Sequence[int], effort: Effort
) -> tuple[Panel, FloatArray]:
    """Fit the blend of a set of features, weighed on rows not fitted to.

    Returns the panel, and its log odds of rows that it was not fitted to, (n_rows,
    n_outputs).
    """
    idxs = tuple(feature_idxs)
    if not idxs:
        logits = np.tile(rows.starts, (rows.n_rows, 1))
        loss = mean_loss(logits, rows.targets, rows.weights)
        return Panel((), loss, frozenset()), logits
    folds = rows.folds(N_FOLDS)
    growths = [make_growth(rows, *one) for one in effort.ensembles]
    grown = [grow(rows, idxs, one) for one in growths]
    held_out = [to_chances(held_out_scores(rows, idxs, one, folds)) for one in growths]
    told, shares = [to_logits(np.mean(held_out, axis=0))], [TREES]
    columns = rows.lay_columns(idxs)
    ridges = []
    for share, logits, ridge in fit_ridges(rows, columns, grown[0].gains, effort):
        told.append(logits)
        shares.append(share)
        ridges.append(ridge)
    every = np.array(told)
    start = np.array(shares) / sum(shares)
    weights = fit_weights(every, rows.targets, rows.weights, start, HOLD)
    logits = np.einsum("p,pnk->nk", weights, every)
    blend = Blend(columns, serve_trees(rows, idxs, grown), tuple(ridges), weights)
    may_lack = frozenset(np.flatnonzero(rows.coarse.has_missing).tolist())
    loss = mean_loss(logits, rows.targets, rows.weights)
    return Panel(idxs, loss, may_lack & frozenset(idxs), blend), logits


def fit_ridges(
    rows: PanelRows, columns: Columns, gains: FloatArray, effort: Effort
) -> Iterator[tuple[float, FloatArray, KernelRidge | LogisticRidge]]:
    """Yield what each ridge weighs at first, its held-out log odds, and itself.

    `gains` (n_features,) are those of trees: what gains more is stretched, so that it
    counts more in distances. Where a class is rare there are no kernels.
    """
    laid = columns.lay(rows.dataset.values)
    many = rows.folds(max(N_FOLDS, -(-rows.n_rows // MAX_FOLD)))
    if rows.has_rare:
        yield LOGISTIC, *fit_logistic(rows, laid, rows.folds(N_FOLDS))
        return
    its_gains = gains[columns.feature_idxs]
    stretches = (its_gains / max(its_gains.mean(), 1e-9) + 0.1) ** 0.25
    basis = Basis("laplace", stretches, effort.n_waves, effort.holds)
    yield LAPLACE, *fit_kernel(rows, laid, basis, many)
    if effort.has_gauss:
        basis = basis._replace(kind="gauss", stretches=np.ones(stretches.size))
        yield GAUSS, *fit_kernel(rows, laid, basis, many)
    yield LOGISTIC, *fit_logistic(rows, laid, rows.folds(N_FOLDS))
