"""Fit the blend of a panel: predictors of its features, weighted on held-out rows."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray, evenly_spaced, round_digits
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
RISE_ROWS = 1500

# The prior weight of each predictor, and how many rows the prior counts for.
TREES, KERNEL, LOGISTIC, TABLES = 0.4, 0.4, 0.2, 0.2
PRIOR_COUNT = 10.0


class BlendedPanel(NamedTuple):
    """A panel with its log odds of held-out rows."""

    panel: Panel
    #: (n_judges, n_outputs), by predictors not fitted to the row
    logits: FloatArray


class FittedPanels(NamedTuple):
    """Panels in the order of preference, with their log odds of held-out rows."""

    panels: tuple[Panel, ...]
    #: (n_panels, n_judges, n_outputs), by predictors not fitted to the row
    logits: FloatArray
    #: the columns that the panels read
    space: Columns


def make_panels(
    rows: PanelRows,
    spaces: Mapping[int | None, Columns],
    feature_idxs: Sequence[int],
    recipe: Recipe,
    held_out: HeldOut,
    tables: HeldOutTables | None = None,
) -> dict[int | None, BlendedPanel]:
    """Fit the blend of a set of features for some ladders, weighted on held-out rows.

    `spaces` has the columns of each ladder, those of these features and more. A ladder
    is named by the fold that it has not seen, None for that of all rows. Its blend has
    the predictors without this fold, weighted on the rows of the other folds.
    """
    idxs = tuple(feature_idxs)
    if not idxs:
        return {
            left_out: predict_by_shares(rows, held_out, left_out) for left_out in spaces
        }
    growths = [
        make_growth_settings(rows, *settings)._replace(seed=rows.seed + number)
        for number, settings in enumerate(recipe.ensembles)
    ]
    by_fold = [grow_folds(rows, idxs, growth, held_out) for growth in growths]
    columns = next(iter(spaces.values())).take(idxs)
    gains = np.mean([grown.gains for grown in by_fold[0]], axis=0)
    shared = list(fit_ridges(rows, columns, gains, recipe, held_out))
    ridges = [ridge for _, ridge in shared]
    predicted = [score_trees(by_fold, held_out), *(ridge.logits for ridge in ridges)]
    shares = [TREES, *(share for share, _ in shared)]
    if tables is not None:
        predicted.append(tables.predict(idxs))
        shares.append(TABLES)
    priors = np.array(shares) / sum(shares)
    fitted = HeldOutBlend(
        columns, by_fold, ridges, np.array(predicted), priors, tables, idxs
    )
    may_lack = frozenset(np.flatnonzero(rows.coarse.has_missing).tolist())
    rises = measure_rises(rows, idxs, fitted, held_out)
    panels = {}
    for left_out, space in spaces.items():
        if left_out is None:
            grown = [fit_trees(rows, idxs, growth) for growth in growths]
        else:
            grown = [trees_by_fold[left_out] for trees_by_fold in by_fold]
        weights = fitted.weigh(held_out, left_out)
        blend = Blend(
            space.take(idxs),
            merge_ensembles(rows, idxs, grown),
            tuple(ridge.without(left_out) for ridge in ridges),
            weights[: 1 + len(ridges)],
        )
        if tables is not None and weights[-1] > 0:
            member = TableMember(tables.without(left_out), idxs)
            blend = replace(blend, tables=member, tables_weight=float(weights[-1]))
        logits = fitted.predict(weights)
        loss = average_others(logits, held_out, left_out)
        panel = Panel(idxs, loss, may_lack & frozenset(idxs), blend, rises)
        panels[left_out] = BlendedPanel(panel, logits)
    return panels


def predict_by_shares(
    rows: PanelRows, held_out: HeldOut, left_out: int | None
) -> BlendedPanel:
    """Return the panel without features, which predicts the class shares."""
    logits = np.tile(rows.starts, (held_out.row_idxs.size, 1))
    loss = average_others(logits, held_out, left_out)
    return BlendedPanel(Panel((), loss, frozenset(), rises=()), logits)


def average_others(
    logits: FloatArray, held_out: HeldOut, left_out: int | None
) -> float:
    """Return the mean log-loss of the held-out rows of other folds than one."""
    some = held_out.mark_others(left_out)
    return mean_log_loss(logits[some], held_out.targets[some], held_out.weights[some])


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
    #: (n_predictors, n_judges, n_outputs), log odds of the held-out rows
    predicted: FloatArray
    #: (n_predictors,), the weights of no rows
    priors: FloatArray
    tables: HeldOutTables | None
    feature_idxs: tuple[int, ...]

    def weigh(self, held_out: HeldOut, left_out: int | None) -> FloatArray:
        """Return the weights by the held-out rows of other folds; (n_predictors,)."""
        some = held_out.mark_others(left_out)
        judges = held_out.targets[some], held_out.weights[some]
        predicted = self.predicted[:, some]
        weights = fit_weights(predicted, *judges, self.priors, PRIOR_COUNT)
        return round_digits(weights, DIGITS)

    def predict(self, weights: FloatArray) -> FloatArray:
        """Return the weighted log odds of the held-out rows; (n_judges, n_outputs)."""
        logits: FloatArray = np.einsum("p,pnk->nk", weights, self.predicted)
        return logits

    def hide(
        self,
        weights: FloatArray,
        feature_idxs: Sequence[int],
        fold: int,
        row_idxs: IntArray,
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
        blended: FloatArray = np.einsum("p,pnk->nk", weights, np.array(logits))
        return blended


def measure_rises(
    rows: PanelRows,
    feature_idxs: tuple[int, ...],
    fitted: HeldOutBlend,
    held_out: HeldOut,
) -> tuple[float, ...]:
    """Measure the rise of the held-out loss without each feature, at least 0.

    The members of a bundle are hidden together, and share the rise of the loss.
    """
    weights = fitted.weigh(held_out, None)
    logits = fitted.predict(weights)
    # Hiding takes time for each feature, so more features get fewer folds, then rows.
    most = max(RISE_ROWS // len(feature_idxs), 1)
    sizes = np.cumsum([fold.size for fold in held_out.folds])
    by_fold = held_out.folds[: 1 + int(np.searchsorted(sizes, most))]
    by_fold = [fold[evenly_spaced(fold.size, most)] for fold in by_fold]
    row_idxs = np.concatenate(by_fold)
    judges = rows.targets[row_idxs], rows.weights[row_idxs]
    # Compared on the same rows; `logits` has the place of a row among all held out.
    before = mean_log_loss(
        logits[np.searchsorted(held_out.row_idxs, row_idxs)], *judges
    )
    rises = dict.fromkeys(feature_idxs, 0.0)
    for together in group_bundles(rows, feature_idxs):
        hidden = [
            fitted.hide(weights, together, fold, fold_rows)
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
