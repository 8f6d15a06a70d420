"""Huang, Powers and Reyzin (2015), Figure 3: one decision tree, asked path by path.

scikit-learn grows the tree; its weakest links are pruned here, because every size of
the sequence is measured at once. Rows and costs are those of `huang`'s repetitions.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from askless.core.arrays import FloatArray, IntArray
from askless.core.table.dataset import Dataset
from benchmarks.data import MICROS
from benchmarks.documents import Rows, percent, signed
from benchmarks.intervals import Interval
from benchmarks.papers.huang import BUDGETS
from benchmarks.papers.results import (
    SetResults,
    Sets,
    paired,
)
from benchmarks.papers.runs import Record
from benchmarks.papers.sets import SETS, draw, plan

TITLES = tuple(SETS)
SIZES = (1, 3, 5, 7, 11, 15, 21, 31, 45, 63, 91, 127, 181, 255, 361)
N_FOLDS = 5
SETTINGS = {"budgets": BUDGETS, "sizes": SIZES, "folds": N_FOLDS}
LEAF = -1

BUDGETS_SHOWN = (2, 6, 40)


@dataclass(frozen=True)
class Tree:
    """A tree as arrays by node; `collapses` is the alpha that makes a node a leaf."""

    features: IntArray
    lefts: IntArray
    rights: IntArray
    labels: IntArray
    collapses: FloatArray

    def prune(self, alpha: float) -> Self:
        """Cost-complexity pruning at `alpha`."""
        is_leaf = self.collapses <= alpha
        return replace(self, features=np.where(is_leaf, LEAF, self.features))

    @property
    def n_nodes(self) -> int:
        """Nodes that can be reached from the root."""
        reached, queue = 0, [0]
        while queue:
            node = queue.pop()
            reached += 1
            if self.features[node] != LEAF:
                queue += [self.lefts[node], self.rights[node]]
        return reached


def play(title: str, repetition: int) -> Record:
    """Test error by size without a budget, and by budget of two trees.

    `sizes`: the largest tree of the pruning sequence with at most so many nodes.
    `full`: the unpruned tree. `pruned`: alpha by cross-validation on training rows.
    """
    drawn = draw(title, repetition)
    training, testing = fill(drawn.training), fill(drawn.testing)
    tree = grow(training.values, training.targets, repetition)
    sequence = [tree.prune(alpha) for alpha in steps(tree)]
    by_size = []
    for size in SIZES:
        largest = next(tree for tree in sequence if tree.n_nodes <= size)
        by_size.append(errors(largest, testing, [None])[0])
    pruned = tree.prune(choose_alpha(training, repetition))
    limits = [budget * MICROS for budget in BUDGETS]
    return {
        "sizes": by_size,
        "full": errors(tree, testing, limits),
        "pruned": errors(pruned, testing, limits),
        "full_unlimited": errors(tree, testing, [None])[0],
        "pruned_unlimited": errors(pruned, testing, [None])[0],
        "n_nodes": [tree.n_nodes, pruned.n_nodes],
    }


def fill(dataset: Dataset) -> Dataset:
    """Take missing cells as below every threshold: a tree has no vote to withhold."""
    return replace(dataset, values=np.nan_to_num(dataset.values))


def grow(values: FloatArray, targets: IntArray, seed: int) -> Tree:
    """Grow a tree to the end and find when each node is pruned."""
    fitted = DecisionTreeClassifier(random_state=seed).fit(values, targets).tree_
    features = np.where(fitted.children_left < 0, LEAF, fitted.feature)
    risks = fitted.impurity * fitted.weighted_n_node_samples / targets.size
    lefts, rights = fitted.children_left, fitted.children_right
    return Tree(
        features=features,
        lefts=lefts,
        rights=rights,
        labels=fitted.value[:, 0, :].argmax(axis=1),
        collapses=find_collapses(lefts, rights, risks),
    )


def find_collapses(lefts: IntArray, rights: IntArray, risks: FloatArray) -> FloatArray:
    """Alpha at which the weakest link takes each node (Breiman et al. 1984).

    -inf for leaves. Children stand behind their parents, as scikit-learn numbers them.
    """
    collapses = np.where(lefts < 0, -np.inf, np.inf)
    n_nodes, alpha = lefts.size, 0.0
    while np.isinf(collapses[0]) and lefts[0] >= 0:
        leaf_risks, n_leaves = risks.copy(), np.ones(n_nodes)
        for node in range(n_nodes - 1, -1, -1):
            if collapses[node] == np.inf:
                children = [lefts[node], rights[node]]
                leaf_risks[node] = leaf_risks[children].sum()
                n_leaves[node] = n_leaves[children].sum()
        is_open = collapses == np.inf
        links = np.full(n_nodes, np.inf)
        links[is_open] = (risks - leaf_risks)[is_open] / (n_leaves[is_open] - 1)
        alpha = max(alpha, float(links.min()))
        collapses[links <= alpha] = alpha
    return collapses


def steps(tree: Tree) -> FloatArray:
    """Alphas that give the sequence of pruned trees, the whole tree first."""
    return np.unique([0.0, *tree.collapses[np.isfinite(tree.collapses)]])


def choose_alpha(training: Dataset, seed: int) -> float:
    """Alpha of the least error over folds of the training rows; the larger on ties."""
    alphas = steps(grow(training.values, training.targets, seed))
    middles = np.sqrt(alphas * np.append(alphas[1:], alphas[-1]))
    totals = np.zeros(middles.size)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    for rows, held_out in folds.split(training.values, training.targets):
        tree = grow(training.values[rows], training.targets[rows], seed)
        testing = training.take(held_out)
        for idx, alpha in enumerate(middles):
            totals[idx] += errors(tree.prune(alpha), testing, [None])[0] * held_out.size
    return float(middles[np.flatnonzero(totals <= totals.min() + 1e-9)[-1]])


def errors(tree: Tree, testing: Dataset, limits: list[int | None]) -> list[float]:
    """Error if each row pays along its path and stops where it can't go on.

    No path asks a yes-or-no feature twice, so every node is a new charge.
    """
    limit = np.array(
        [np.iinfo(np.int64).max if limit is None else limit for limit in limits]
    )
    rows = np.arange(testing.n_samples)[:, None]
    nodes = np.zeros((testing.n_samples, limit.size), np.int64)
    spent = np.zeros_like(nodes)
    while True:
        features = tree.features[nodes]
        prices = np.where(features == LEAF, 0, testing.catalogue.costs[features])
        goes_on = (features != LEAF) & (spent + prices <= limit)
        if not goes_on.any():
            break
        spent += np.where(goes_on, prices, 0)
        is_right = testing.values[rows, features] > 0.5
        below = np.where(is_right, tree.rights[nodes], tree.lefts[nodes])
        nodes = np.where(goes_on, below, nodes)
    wrong = tree.labels[nodes] != testing.targets[:, None]
    return np.round(wrong.mean(axis=0), 4).tolist()


def compare(found: SetResults, boosted: SetResults, budget: int) -> Interval:
    """Error of Smoothed less that of the pruned tree under a budget; paired."""
    idx = BUDGETS.index(budget)
    return paired(boosted.column("smoothed")[:, idx], found.column("pruned")[:, idx])


def write_budgets(sets: Sets) -> Rows:
    for title, found in sets.items():
        cells, boosted = [], found.beside("huang")
        for budget in BUDGETS_SHOWN:
            idx = BUDGETS.index(budget)
            cells += [percent(found.mean(key)[idx], 1) for key in ("full", "pruned")]
            if boosted:
                cells.append(percent(boosted.mean("smoothed")[idx], 1))
                cells.append(signed(compare(found, boosted, budget), 1))
            else:
                cells += ["", ""]
        yield title, *cells


measure = partial(plan, TITLES, SETTINGS, play, (100, 10))
TABLES = {"trees-budgets": write_budgets}
