"""Decision trees, bagging and random forests, to be asked under a budget like the rest.

scikit-learn grows the trees; here they become hypotheses, so that sessions, curves and
documents treat them as any other ensemble. They know nothing of costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from core.arrays import FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.hypotheses import LEAF, Stump, Tree
from core.model.votes import hypothesis_votes, raw_votes
from core.table.catalogue import UNSEEN
from core.table.dataset import Dataset
from core.table.folds import make_folds
from core.table.prices import Paid, buy
from core.training.params import BoostParams
from core.training.rounds import Round

MAX_ALPHAS = 20
PRUNING_FOLDS = 5

# scikit-learn reads float32, and takes numbers that differ by less than 1e-7 for one:
# the largest of each column is brought near 2**64.
EXPONENT = 64


@dataclass(frozen=True, slots=True)
class Baseline:
    """How a baseline's trees are grown: on which rows, and by which estimator."""

    estimator: Callable[[Dataset, Table, int], DecisionTreeClassifier]
    is_bagged: bool
    policy: str = "ordered"


@dataclass(frozen=True)
class Table:
    """A dataset in scikit-learn's terms: one column per number and per category.

    `columns` (n_samples, n_columns) float64; `sources` gives the feature of each,
    `categories` the code whose presence it tells, -1 for a number, and `exponents` the
    power of two that a number was divided by.
    """

    columns: FloatArray
    sources: IntArray
    categories: IntArray
    exponents: IntArray
    targets: IntArray
    weights: FloatArray


def lay_table(dataset: Dataset) -> Table:
    """Lay a dataset out for scikit-learn; a missing value stays missing."""
    columns, sources, categories, exponents = [], [], [], []
    for idx, feature in enumerate(dataset.catalogue.features):
        values = dataset.values[:, idx]
        codes = range(len(feature.categories)) if feature.type == "category" else [-1]
        for code in codes:
            exponent = 0
            if code < 0:
                largest = np.abs(values).max(where=~np.isnan(values), initial=0.0)
                exponent = int(np.frexp(largest)[1]) - EXPONENT
                columns.append(np.ldexp(values, -exponent))
            else:
                is_absent = np.isnan(values) | (values == UNSEEN)
                columns.append(np.where(is_absent, np.nan, values == code))
            sources.append(idx)
            categories.append(code)
            exponents.append(exponent)
    return Table(
        np.array(columns, np.float64).reshape(-1, dataset.n_samples).T,
        np.array(sources, np.int64),
        np.array(categories, np.int64),
        np.array(exponents, np.int64),
        dataset.targets,
        dataset.weights,
    )


def pruned(dataset: Dataset, table: Table, seed: int) -> DecisionTreeClassifier:
    """One tree, pruned by cost-complexity (Breiman et al. 1984; Huang et al., sec. 7).

    The complexity parameter is the one of least error over 5 folds among the geometric
    means of neighbours on the pruning path (20 of them at most, evenly spaced); of
    equals the largest. Rows that belong together are in one fold. Unpruned where there
    is but one row beside those of one class.
    """
    tree = DecisionTreeClassifier(random_state=seed)
    folds = make_folds(dataset, PRUNING_FOLDS, seed)
    if not folds:
        return tree
    path = tree.cost_complexity_pruning_path(
        table.columns, table.targets, table.weights
    )
    steps = np.maximum(path.ccp_alphas, 0.0)
    alphas = np.unique(np.append(np.sqrt(steps[:-1] * steps[1:]), steps[-1]))
    if alphas.size > MAX_ALPHAS:
        picks = np.linspace(0, alphas.size - 1, MAX_ALPHAS).round().astype(int)
        alphas = alphas[picks]
    errors = np.zeros(alphas.size)
    for unseen in folds:
        seen = np.setdiff1d(np.arange(dataset.n_samples), unseen)
        for position, alpha in enumerate(alphas):
            one = DecisionTreeClassifier(random_state=seed, ccp_alpha=alpha)
            one.fit(table.columns[seen], table.targets[seen], table.weights[seen])
            is_wrong = one.predict(table.columns[unseen]) != table.targets[unseen]
            errors[position] += table.weights[unseen] @ is_wrong
    best = np.flatnonzero(errors <= errors.min() + 1e-12)[-1]
    return DecisionTreeClassifier(random_state=seed, ccp_alpha=alphas[best])


def whole(dataset: Dataset, table: Table, seed: int) -> DecisionTreeClassifier:
    """Grow a tree to the end (bagging; Breiman 1996)."""
    del dataset, table
    return DecisionTreeClassifier(random_state=seed)


def random_tree(dataset: Dataset, table: Table, seed: int) -> DecisionTreeClassifier:
    """Grow a tree that looks at sqrt(d) columns at each node (Breiman 2001)."""
    del dataset, table
    return DecisionTreeClassifier(random_state=seed, max_features="sqrt")


BASELINES = {
    "decision_tree": Baseline(pruned, is_bagged=False),
    "bagging": Baseline(whole, is_bagged=True),
    "random_forest": Baseline(random_tree, is_bagged=True),
}


def grow(
    dataset: Dataset, params: BoostParams, done: Sequence[Round] = ()
) -> Iterator[Round]:
    """Grow the trees of a baseline, one round each; `decision_tree` has one only.

    Parameters
    ----------
    dataset : Dataset
        Of two or more classes, not multi-label.
    params : BoostParams
        `algorithm` names the baseline, `rounds` is the number of trees and `seed`
        decides bootstrap samples and ties.
    done : sequence of Round
        Trees of an interrupted run; the rest is the same to the bit.

    Yields
    ------
    Round
        alpha is 1. A tree without a split, a constant, is left out.

    Notes
    -----
    A row of a bootstrap sample counts as often as it was drawn, times its weight;
    rows that belong together are drawn together.
    Each node votes for its largest class; where a value is missing the last node
    that could be read votes, while scikit-learn would send it to one side. A split
    that parts but the missing values from all others is left out.
    """
    baseline = BASELINES[params.algorithm]
    table = lay_table(dataset)
    if not table.sources.size:
        return
    n_outputs = 1 if len(dataset.classes) == 2 else len(dataset.classes)
    spent, paid = 0, Paid()
    for earlier in done:
        amount, paid = buy(dataset.catalogue, paid, earlier.hypothesis.feature_idxs)
        spent += amount
    first = done[-1].number + 1 if done else 1
    for number in range(first, (params.rounds if baseline.is_bagged else 1) + 1):
        counts = np.ones(dataset.n_samples)
        if baseline.is_bagged:
            counts = bootstrap(dataset, params.seed, number)
        estimator = baseline.estimator(dataset, table, tree_seed(params.seed, number))
        fitted = estimator.fit(table.columns, table.targets, table.weights * counts)
        tree = to_hypothesis(fitted, table, n_outputs)
        if tree is None:
            continue
        amount, paid = buy(dataset.catalogue, paid, tree.feature_idxs)
        spent += amount
        is_right = fitted.predict(table.columns) == table.targets
        edge = max(0.0, float(2 * (dataset.weights @ is_right) - 1))
        yield Round(number, tree, edge, 1.0, 1.0, spent)


def bootstrap(dataset: Dataset, seed: int, number: int) -> FloatArray:
    """How often each row is drawn, with its row group if any; (n_samples,)."""
    row_groups = np.arange(dataset.n_samples)
    if dataset.row_groups is not None:
        row_groups = np.unique(dataset.row_groups, return_inverse=True)[1]
    n_row_groups = int(row_groups.max()) + 1
    drawn = np.random.default_rng([seed, number]).integers(
        0, n_row_groups, n_row_groups
    )
    return np.bincount(drawn, minlength=n_row_groups)[row_groups].astype(np.float64)


def tree_seed(seed: int, number: int) -> int:
    """Seed of scikit-learn's tree of this number."""
    return int(np.random.default_rng([seed, number, 1]).integers(2**31))


def to_hypothesis(
    fitted: DecisionTreeClassifier, table: Table, n_outputs: int
) -> Tree | None:
    """Give scikit-learn's tree as ours; None without a split."""
    tree = fitted.tree_
    ways = find_ways(tree.children_left, tree.children_right, tree.threshold)
    if not ways:
        return None
    positions = {node: position for position, node in enumerate(ways)}
    largest = fitted.classes_[tree.value[:, 0, :].argmax(axis=1)]
    stumps, children, below_votes = [], [], []
    for node, pair in ways.items():
        column = tree.feature[node]
        code = int(table.categories[column])
        cut = find_cut(tree.threshold[node], int(table.exponents[column]))
        above, below = (votes_for(int(largest[child]), n_outputs) for child in pair)
        stumps.append(
            Stump(
                feature_idx=int(table.sources[column]),
                cut=cut if code < 0 else float(code),
                votes=above,
                is_category=code >= 0,
            )
        )
        below_votes.append(below)
        children.append((positions.get(pair[0], LEAF), positions.get(pair[1], LEAF)))
    return Tree(tuple(stumps), tuple(children), tuple(below_votes))


def find_ways(
    lefts: IntArray, rights: IntArray, thresholds: FloatArray
) -> dict[int, tuple[int, int]]:
    """Where a tree goes on above and below each of its splits, from the root.

    A category is there, and above, where its column is 1. An infinite threshold parts
    the missing values from all others, which go left: nobody needs to be asked.
    """

    def settle(node: int) -> int:
        while lefts[node] >= 0 and np.isinf(thresholds[node]):
            node = int(lefts[node])
        return node

    ways: dict[int, tuple[int, int]] = {}
    stack = [settle(0)]
    while stack:
        node = stack.pop()
        if lefts[node] >= 0:
            ways[node] = (settle(int(rights[node])), settle(int(lefts[node])))
            stack += ways[node]
    return ways


def find_cut(threshold: float, exponent: int) -> float:
    """Give the largest number that scikit-learn sends below a threshold.

    It rounds numbers to float32 first, to the nearest, of two the even one.
    """
    below = np.float32(threshold)
    if below > threshold:
        below = np.nextafter(below, np.float32(-np.inf))
    above = np.nextafter(below, np.float32(np.inf))
    cut = (float(below) + float(above)) / 2
    if np.float32(cut) != below:
        cut = float(np.nextafter(cut, -np.inf))
    return float(np.ldexp(cut, exponent))


def votes_for(position: int, n_outputs: int) -> tuple[int, ...]:
    """Votes for the class at a position."""
    if n_outputs == 1:
        return (1 if position == 1 else -1,)
    return tuple(1 if output == position else -1 for output in range(n_outputs))


def out_of_bag_error(
    dataset: Dataset, ensemble: Ensemble, rounds: Sequence[Round], seed: int
) -> float | None:
    """Weighted error of each row by the trees that were not grown on it.

    None where no tree votes on a row that it left out (Breiman 2001, section 3.1).
    """
    votes = np.zeros((dataset.n_samples, ensemble.n_outputs))
    has_vote = np.zeros(dataset.n_samples, np.bool_)
    for one in rounds:
        is_out = bootstrap(dataset, seed, one.number) == 0
        rows = dataset.values[is_out]
        added = hypothesis_votes(one.hypothesis, rows, ensemble.n_outputs)
        votes[is_out] += added
        has_vote[is_out] |= added.any(axis=1)
    if not has_vote.any():
        return None
    weights = dataset.weights[has_vote]
    said = raw_votes(ensemble, votes[has_vote])
    return float(weights @ (said != dataset.targets[has_vote]) / weights.sum())
