"""Boost trees on some features, for panels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from askless.core import kernels
from askless.core.arrays import FloatArray, IntArray, round_digits
from askless.core.kernels import (
    ABOVE,
    BELOW,
    CODE,
    N_ABOVE,
    N_BELOW,
    READS,
    CoarseTable,
    Growth,
    ServedTrees,
)
from askless.core.model.ladder.blends import Trees
from askless.core.panels.predictors.chances import (
    is_significantly_less,
    losses_and_gradients,
)
from askless.core.panels.rows import DIGITS, FINE, PLAIN, HeldOut, LeafLimits, PanelRows
from askless.core.spread import map_in_threads

# Rounds of the trees that choose leaf limits.
LEAF_ROUNDS = 60

# With more outputs than these, trees take fewer rounds and longer steps, up to a rate.
FULL_OUTPUTS, MOST_RATE = 3.0, 0.3

# Above so many rows rounds grow by the root of the number, and leaves by its fourth
# root, up to a factor of the rounds: more rows tell more, and overfit less.
FULL_ROWS, MOST_LONGER = 4000, 4.0


def make_growth_settings(
    rows: PanelRows,
    rounds: int,
    leaves: int = 4,
    rate: float = 0.1,
    row_share: float = 1.0,
    column_share: float = 1.0,
) -> Growth:
    """Return settings of tree growth, adapted to the number of rows and of classes.

    `rate` is the learning rate; the shares are those of rows and columns that each
    round draws. The least number of rows of a leaf is that in `rows.limits`; in smaller
    tables a fiftieth of all rows, but never below 2.
    """
    least_rows, l2 = rows.limits
    least_rows = max(2, min(least_rows, rows.n_rows // 50))
    more = min(max(1.0, math.sqrt(rows.n_rows / FULL_ROWS)), MOST_LONGER)
    rounds, leaves = round(rounds * more), round(leaves * math.sqrt(more))
    # A round has a tree for each class, so many classes take fewer rounds.
    fewer = max(1.0, rows.n_outputs / FULL_OUTPUTS)
    longer = min(fewer, MOST_RATE / rate)
    rounds, rate = max(round(rounds / longer), 1), rate * longer
    return Growth(
        rounds, leaves, rate, l2, least_rows, row_share, column_share, rows.seed
    )


def choose_leaf_limits(rows: PanelRows, held_out: HeldOut) -> LeafLimits:
    """Return the leaf limits of lower held-out log-loss, all useful features known.

    If the losses differ by less than a standard error, `PLAIN` is returned; but `FINE`
    if a class is rare, since in large leaves its cases are outnumbered by others.
    """
    idxs = np.flatnonzero(rows.is_useful).tolist()
    if not idxs:
        return PLAIN

    def held_out_losses(limits: LeafLimits) -> FloatArray:
        growth = make_growth_settings(replace(rows, limits=limits), LEAF_ROUNDS)
        logits = score_held_out(rows, idxs, growth, held_out)
        losses, _ = losses_and_gradients(logits, held_out.targets)
        return losses * held_out.weights

    plain, fine = map_in_threads(held_out_losses, (PLAIN, FINE))
    if rows.has_rare:
        return PLAIN if is_significantly_less(plain, fine) else FINE
    return FINE if is_significantly_less(fine, plain) else PLAIN


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """Trees as they were grown, with their scores of every row."""

    #: (n_outputs, n_rows)
    scores: FloatArray
    #: (n_features,)
    gains: FloatArray
    #: (n_columns,), the feature of each column
    feature_idxs: IntArray
    table: CoarseTable
    room: kernels.TreeRoom
    #: (rounds, n_outputs)
    sizes: IntArray

    def hide(self, feature_idxs: Sequence[int], row_idxs: IntArray) -> FloatArray:
        """Return the scores of some rows with features hidden; (n_some, n_outputs).

        A node that reads a hidden feature averages its two sides, weighted by how many
        training rows went each way.
        """
        is_hidden = (self.feature_idxs[:, None] == np.array(feature_idxs)).any(axis=1)
        changes = np.zeros((row_idxs.size, self.scores.shape[0]))
        rows = row_idxs.astype(np.uint64)
        kernels.hiding_effects(
            self.table, is_hidden, rows, self.sizes, self.room, changes
        )
        return self.scores.T[row_idxs] + changes


def fit_trees(
    rows: PanelRows,
    feature_idxs: Sequence[int],
    growth: Growth,
    left_out: IntArray | None = None,
) -> GrownTrees:
    """Boost trees on some features; rows `left_out` are scored, but not trained on."""
    table, idxs = rows.coarse, np.array(feature_idxs, np.int64)
    picked = CoarseTable(
        np.ascontiguousarray(table.codes[idxs]),
        table.n_codes[idxs],
        table.is_category[idxs],
        table.has_missing[idxs],
    )
    weights = rows.weights.copy()
    if left_out is not None:
        weights[left_out] = 0.0
    scores = np.repeat(rows.starts[:, None], rows.n_rows, axis=1)
    shape = growth.rounds, rows.n_outputs
    nodes = np.zeros((*shape, growth.leaves - 1, kernels.N_NODE), np.int64)
    steps, gains = np.zeros((*shape, growth.leaves)), np.zeros(idxs.size)
    room = kernels.TreeRoom(nodes, steps, gains)
    # Draws wrap around, of which uncompiled kernels would warn.
    with np.errstate(over="ignore"):
        sizes = kernels.boost_trees(picked, rows.targets, weights, growth, scores, room)
    feature_gains = np.zeros(table.n_codes.size)
    feature_gains[idxs] = gains
    return GrownTrees(scores, feature_gains, idxs, picked, room, sizes)


def grow_folds(
    rows: PanelRows, feature_idxs: Sequence[int], growth: Growth, held_out: HeldOut
) -> list[GrownTrees]:
    """Boost trees once without each held-out fold; return one ensemble per fold."""
    return [
        fit_trees(rows, feature_idxs, growth._replace(seed=growth.seed + number), fold)
        for number, fold in enumerate(held_out.folds)
    ]


def score_held_out(
    rows: PanelRows, feature_idxs: Sequence[int], growth: Growth, held_out: HeldOut
) -> FloatArray:
    """Return log odds of held-out rows, (n_judges, n_outputs), by trees."""
    scores = np.empty((rows.n_rows, rows.n_outputs))
    grown = grow_folds(rows, feature_idxs, growth, held_out)
    for fold_trees, fold in zip(grown, held_out.folds, strict=True):
        scores[fold] = fold_trees.scores.T[fold]
    return scores[held_out.row_idxs]


def merge_ensembles(
    rows: PanelRows, feature_idxs: Sequence[int], ensembles: Sequence[GrownTrees]
) -> Trees:
    """Return several boosted ensembles as one, whose log odds are their mean.

    Leaf values are rounded to `DIGITS` digits and shares to three: a file has no more.
    """
    idxs = np.array(feature_idxs, np.int64)
    nodes, roots, outputs, steps = [], [], [], []
    n_nodes = n_steps = 0
    for grown in ensembles:
        sizes, room = grown.sizes.reshape(-1), grown.room
        first_nodes = n_nodes + np.cumsum(sizes) - sizes
        first_steps = n_steps + np.cumsum(sizes + 1) - (sizes + 1)
        shifted = room.nodes.reshape(sizes.size, -1, kernels.N_NODE).copy()
        # A child below 0 is a leaf, -1 - its number; both numberings are shifted past
        # the trees before.
        children = shifted[..., [BELOW, ABOVE]]
        shifts = np.where(
            children < 0, -first_steps[:, None, None], first_nodes[:, None, None]
        )
        shifted[..., [BELOW, ABOVE]] = children + shifts
        nodes.append(shifted[np.arange(shifted.shape[1]) < sizes[:, None]])
        roots.append(np.where(sizes > 0, first_nodes, -1 - first_steps))
        outputs.append(np.tile(np.arange(rows.n_outputs), len(grown.sizes)))
        leaves = room.steps.reshape(sizes.size, -1)
        used = leaves[np.arange(leaves.shape[1]) < sizes[:, None] + 1]
        steps.append(used / len(ensembles))
        n_nodes, n_steps = n_nodes + nodes[-1].shape[0], n_steps + used.size
    joined = np.concatenate(nodes)
    joined[:, READS] = idxs[joined[:, READS]]
    cuts = np.array(
        [rows.cuts[idx][code] for idx, code in joined[:, [READS, CODE]].tolist()],
        np.float64,
    )
    below, above = joined[:, N_BELOW], joined[:, N_ABOVE]
    shares = np.round(below / np.maximum(below + above, 1), 3)
    joined[:, [CODE, N_BELOW, N_ABOVE]] = 0
    trees = ServedTrees(
        joined,
        cuts,
        np.concatenate(roots),
        np.concatenate(outputs),
        round_digits(np.concatenate(steps), DIGITS),
        shares,
    )
    return Trees(rows.starts, trees)
