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
from core.panels.effort import Recipe
from core.panels.ridges import Basis, fit_kernel, fit_logistic
from core.panels.rows import HeldOut, PanelRows
from core.panels.trees import grow, held_out_scores, make_growth, serve_trees

# What each predictor weighs before held-out rows speak; how many rows hold it there.
TREES, LAPLACE, GAUSS, LOGISTIC = 0.35, 0.25, 0.25, 0.15
HOLD = 10.0


class Blended(NamedTuple):
    """Panels in the order of preference, and what they say of held-out rows."""

    panels: tuple[Panel, ...]
    #: (n_panels, n_judges, n_outputs), log odds by predictors not fitted to the row
    logits: FloatArray
    held_out: HeldOut


def make_panel(
    rows: PanelRows, feature_idxs: Sequence[int], recipe: Recipe, held_out: HeldOut
) -> tuple[Panel, FloatArray]:
    """Fit the blend of a set of features, weighed on held-out rows.

    Returns the panel, and what its predictors fitted without them say of these rows:
    log odds (n_judges, n_outputs).
    """
    idxs, judges = tuple(feature_idxs), (held_out.targets, held_out.weights)
    if not idxs:
        logits = np.tile(rows.starts, (held_out.row_idxs.size, 1))
        return Panel((), mean_loss(logits, *judges), frozenset()), logits
    growths = [
        make_growth(rows, *one)._replace(seed=rows.seed + number)
        for number, one in enumerate(recipe.ensembles)
    ]
    grown = [grow(rows, idxs, one) for one in growths]
    scores = [held_out_scores(rows, idxs, one, held_out) for one in growths]
    told, shares = [to_logits(np.mean(to_chances(np.array(scores)), axis=0))], [TREES]
    columns = rows.lay_columns(idxs)
    ridges = []
    for share, logits, ridge in fit_ridges(
        rows, columns, grown[0].gains, recipe, held_out
    ):
        told.append(logits)
        shares.append(share)
        ridges.append(ridge)
    every = np.array(told)
    start = np.array(shares) / sum(shares)
    weights = fit_weights(every, *judges, start, HOLD)
    logits = np.einsum("p,pnk->nk", weights, every)
    blend = Blend(columns, serve_trees(rows, idxs, grown), tuple(ridges), weights)
    may_lack = frozenset(np.flatnonzero(rows.coarse.has_missing).tolist())
    loss = mean_loss(logits, *judges)
    return Panel(idxs, loss, may_lack & frozenset(idxs), blend), logits


def fit_ridges(
    rows: PanelRows,
    columns: Columns,
    gains: FloatArray,
    recipe: Recipe,
    held_out: HeldOut,
) -> Iterator[tuple[float, FloatArray, KernelRidge | LogisticRidge]]:
    """Yield what each ridge weighs at first, its held-out log odds, and itself.

    `gains` (n_features,) are those of trees: what gains more is stretched, so that it
    counts more in distances. Where a class is rare there are no kernels.
    """
    laid = columns.lay(rows.dataset.values)
    if recipe.holds and not rows.has_rare:
        its_gains = gains[columns.feature_idxs]
        stretches = (its_gains / max(its_gains.mean(), 1e-9) + 0.1) ** 0.25
        basis = Basis("laplace", stretches, recipe.n_waves, recipe.holds)
        yield LAPLACE, *fit_kernel(rows, laid, basis, held_out)
        if recipe.has_gauss:
            basis = basis._replace(kind="gauss", stretches=np.ones(stretches.size))
            yield GAUSS, *fit_kernel(rows, laid, basis, held_out)
    yield LOGISTIC, *fit_logistic(rows, laid, held_out)
