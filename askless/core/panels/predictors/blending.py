"""Fit the blend of a panel: predictors of its features, weighted on held-out rows."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray, round_digits
from askless.core.model.ladder.blends import Blend, to_chances
from askless.core.model.ladder.columns import Columns
from askless.core.model.ladder.panels import Panel
from askless.core.model.ladder.tables import TableMember
from askless.core.panels.effort import Recipe
from askless.core.panels.predictors.chances import fit_weights, mean_log_loss, to_logits
from askless.core.panels.predictors.ridges import (
    Basis,
    HeldOutRidge,
    fit_kernel,
    fit_logistic,
)
from askless.core.panels.predictors.trees import (
    GrownTrees,
    fit_trees,
    grow_folds,
    make_growth_settings,
    merge_ensembles,
)
from askless.core.panels.rows import DIGITS, HeldOut, PanelRows
from askless.core.panels.tables import HeldOutTables

# Columns of a table from which on more waves pay (docs/mathematics.md has the figures).
WIDE_COLUMNS = 100

# Rows times features by which the rise of a panel's loss without a feature is measured.
RISE_ROWS = 3000

# The prior weight of each predictor, and how many rows the prior counts for.
TREES, KERNEL, LOGISTIC, TABLES = 0.4, 0.4, 0.2, 0.2
PRIOR_COUNT = 10.0


class FittedPanels(NamedTuple):
    """Panels in the order of preference, with their log odds of held-out rows."""

    panels: tuple[Panel, ...]
    #: (n_panels, n_judges, n_outputs), by predictors not fitted to the row
    logits: FloatArray
    held_out: HeldOut
    #: the columns that the panels read
    space: Columns


def make_panel(
    rows: PanelRows,
    space: Columns,
    feature_idxs: Sequence[int],
    recipe: Recipe,
    held_out: HeldOut,
    tables: HeldOutTables | None = None,
) -> tuple[Panel, FloatArray]:
    """Fit the blend of a set of features, weighted on held-out rows.

    `space` has the columns of these features and more. Returns the panel, and the log
    odds (n_judges, n_outputs) of held-out rows by predictors not fitted to them.
    """
    idxs, judges = tuple(feature_idxs), (held_out.targets, held_out.weights)
    if not idxs:
        logits = np.tile(rows.starts, (held_out.row_idxs.size, 1))
        return Panel((), mean_log_loss(logits, *judges), frozenset(), rises=()), logits
    growths = [
        make_growth_settings(rows, *settings)._replace(seed=rows.seed + number)
        for number, settings in enumerate(recipe.ensembles)
    ]
    grown = [fit_trees(rows, idxs, growth) for growth in growths]
    by_fold = [grow_folds(rows, idxs, growth, held_out) for growth in growths]
    columns = space.take(idxs)
    ridges = list(fit_ridges(rows, columns, grown[0].gains, recipe, held_out))
    predicted = [score_trees(by_fold, held_out), *(ridge.logits for _, ridge in ridges)]
    shares = [TREES, *(share for share, _ in ridges)]
    if tables is not None:
        predicted.append(tables.predict(idxs))
        shares.append(TABLES)
    priors = np.array(shares) / sum(shares)
    weights = fit_weights(np.array(predicted), *judges, priors, PRIOR_COUNT)
    weights = round_digits(weights, DIGITS)
    logits = np.einsum("p,pnk->nk", weights, predicted)
    loss = mean_log_loss(logits, *judges)
    own = [ridge for _, ridge in ridges]
    fitted = HeldOutBlend(columns, by_fold, own, weights, tables, idxs)
    blend = Blend(
        columns,
        merge_ensembles(rows, idxs, grown),
        tuple(ridge.ridge for _, ridge in ridges),
        weights[: 1 + len(ridges)],
    )
    if tables is not None and weights[-1] > 0:
        member = TableMember(tables.whole, idxs)
        blend = replace(blend, tables=member, tables_weight=float(weights[-1]))
    may_lack = frozenset(np.flatnonzero(rows.coarse.has_missing).tolist())
    rises = measure_rises(rows, idxs, fitted, held_out, logits)
    return Panel(idxs, loss, may_lack & frozenset(idxs), blend, rises), logits


def score_trees(
    by_fold: Sequence[Sequence[GrownTrees]], held_out: HeldOut
) -> FloatArray:
    """Return log odds of held-out rows by ensembles trained without their fold.

    The chances of the ensembles are averaged. Returns (n_judges, n_outputs).
    """
    n_outputs, n_rows = by_fold[0][0].scores.shape
    scores = np.empty((len(by_fold), n_rows, n_outputs))
    for number, ensemble in enumerate(by_fold):
        for fold, fold_trees in zip(held_out.folds, ensemble, strict=True):
            scores[number, fold] = fold_trees.scores.T[fold]
    return to_logits(to_chances(scores[:, held_out.row_idxs]).mean(axis=0))


def fit_ridges(
    rows: PanelRows,
    columns: Columns,
    gains: FloatArray,
    recipe: Recipe,
    held_out: HeldOut,
) -> Iterator[tuple[float, HeldOutRidge]]:
    """Yield each ridge with its prior weight.

    `gains` (n_features,) are those of trees: columns that gain more are stretched and
    so count more in distances. With a rare class there is no kernel.
    """
    inputs = columns.standardise(rows.dataset.values)
    if recipe.penalties and not rows.has_rare:
        column_gains = gains[columns.feature_idxs]
        # The fourth root and the 0.1 dampen gains: no column may vanish or dominate.
        stretches = (column_gains / max(column_gains.mean(), 1e-9) + 0.1) ** 0.25
        stretches = round_digits(stretches, DIGITS)
        n_columns = rows.columns.codes.size
        is_wide = recipe.n_wide_waves > 0 and n_columns >= WIDE_COLUMNS
        n_waves = recipe.n_wide_waves if is_wide else recipe.n_waves
        basis = Basis(stretches, n_waves, recipe.penalties)
        yield KERNEL, fit_kernel(rows, inputs, basis, held_out)
    yield LOGISTIC, fit_logistic(rows, inputs, held_out)


class HeldOutBlend(NamedTuple):
    """The predictors of a blend without each fold, in the order of its weights."""

    columns: Columns
    #: by ensemble and fold
    trees: list[list[GrownTrees]]
    ridges: list[HeldOutRidge]
    weights: FloatArray
    tables: HeldOutTables | None
    feature_idxs: tuple[int, ...]

    def hide(
        self, feature_idxs: Sequence[int], fold: int, row_idxs: IntArray
    ) -> FloatArray:
        """Return log odds, (n_rows, n_outputs), of a fold without some features."""
        is_hidden = np.zeros(self.trees[0][fold].gains.size, np.bool_)
        is_hidden[list(feature_idxs)] = True
        hidden = self.columns.hide(is_hidden)
        scores = [
            trees_by_fold[fold].hide(feature_idxs, row_idxs)
            for trees_by_fold in self.trees
        ]
        logits = [to_logits(to_chances(np.array(scores)).mean(axis=0))]
        logits += [ridge.hide(hidden, fold, row_idxs) for ridge in self.ridges]
        if self.tables is not None:
            known = [idx for idx in self.feature_idxs if not is_hidden[idx]]
            logits.append(self.tables.score(known, fold, row_idxs))
        blended: FloatArray = np.einsum("p,pnk->nk", self.weights, np.array(logits))
        return blended


def measure_rises(
    rows: PanelRows,
    feature_idxs: tuple[int, ...],
    fitted: HeldOutBlend,
    held_out: HeldOut,
    logits: FloatArray,
) -> tuple[float, ...]:
    """Measure the rise of the held-out loss without each feature, at least 0.

    The members of a bundle are hidden together, and share the rise of the loss.
    `logits` (n_judges, n_outputs) are those with all features known.
    """
    # Hiding takes time for each feature, so more features get fewer rows.
    step = max(1, round(held_out.row_idxs.size * len(feature_idxs) / RISE_ROWS))
    is_judge = np.zeros(rows.n_rows, np.bool_)
    is_judge[held_out.row_idxs[::step]] = True
    by_fold = [fold[is_judge[fold]] for fold in held_out.folds]
    row_idxs = np.concatenate(by_fold)
    judges = rows.targets[row_idxs], rows.weights[row_idxs]
    # Compared on the same rows; `logits` has the place of a row among all held out.
    before = mean_log_loss(
        logits[np.searchsorted(held_out.row_idxs, row_idxs)], *judges
    )
    rises = dict.fromkeys(feature_idxs, 0.0)
    for together in group_bundles(rows, feature_idxs):
        hidden = [
            fitted.hide(together, fold, fold_rows)
            for fold, fold_rows in enumerate(by_fold)
        ]
        rise = max(mean_log_loss(np.concatenate(hidden), *judges) - before, 0.0)
        rises |= dict.fromkeys(together, round(rise / len(together), DIGITS))
    return tuple(rises.values())


def group_bundles(
    rows: PanelRows, feature_idxs: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return features in groups that are revealed together: a bundle, or one alone."""
    together: dict[int, tuple[int, ...]] = {}
    for idx in feature_idxs:
        number = int(rows.dataset.catalogue.offer_idxs[idx])
        together[number] = (*together.get(number, ()), idx)
    return list(together.values())


def cap_rises(panels: Sequence[Panel]) -> tuple[Panel, ...]:
    """Return panels with lower rises: none loses more without a feature than a subset.

    The loss of a subset that has the feature is that with the feature hidden. On few
    rows a panel may seem to lose more; then a refusal would end a case too early.
    """
    sets = [frozenset(panel.feature_idxs) for panel in panels]
    without: dict[int, dict[int, float]] = {}
    # The smallest first, so that the subsets of a set are done before it.
    for number in sorted(range(len(sets)), key=lambda place: len(sets[place])):
        panel = panels[number]
        pairs = zip(panel.feature_idxs, panel.rises, strict=True)
        losses = {idx: panel.loss + rise for idx, rise in pairs}
        subsets = [subset for subset in without if sets[subset] < sets[number]]
        for subset, idx in itertools.product(subsets, losses):
            loss = without[subset].get(idx, panels[subset].loss)
            losses[idx] = max(min(losses[idx], loss), panel.loss)
        without[number] = losses
    return tuple(
        replace(
            panel,
            rises=tuple(
                round(without[number][idx] - panel.loss, DIGITS)
                for idx in panel.feature_idxs
            ),
        )
        for number, panel in enumerate(panels)
    )
