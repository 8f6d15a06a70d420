"""Decision trees, bagging and random forests, to be asked under a budget like the rest.

scikit-learn grows the trees; here they become hypotheses, so that sessions, curves and
documents treat them as any other ensemble. They know nothing of costs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from askless.core.arrays import FloatArray, IntArray, evenly_spaced
from askless.core.catalogue.catalogue import UNSEEN
from askless.core.catalogue.prices import Paid, buy
from askless.core.codes.folds import deal_strata
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import LEAF, Stump, Tree
from askless.core.model.votes import FORESTS, hypothesis_votes, raw_classes
from askless.core.table.dataset import Dataset, count_outputs
from askless.core.table.gaps import fill_silent_cells
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

# scikit-learn reads float32, and takes numbers that differ by less than 1e-7 for one:
# the largest of each column is brought near 2**64.
EXPONENT = 64


@dataclass(frozen=True)
class Table:
    """A dataset as scikit-learn reads it: one column per number and per category.

    `columns` (n_samples, n_columns) float64; `sources` has the feature of each,
    `categories` the code whose rows are 1 in it, -1 for a number, and `exponents` the
    power of two that a number was divided by.
    """

    columns: FloatArray
    sources: IntArray
    categories: IntArray
    exponents: IntArray
    targets: IntArray
    weights: FloatArray


MAX_ALPHAS = 20

PRUNING_FOLDS = 5

# Grown to the end on samples of rows (Breiman 1996, 2001), by how many columns a node
# looks at; None: all.
BAGGED = dict(zip(FORESTS, (None, "sqrt"), strict=True))

BASELINES = ("decision_tree", *BAGGED)


def make_pruned_tree(
    dataset: Dataset, table: Table, seed: int
) -> "DecisionTreeClassifier":
    """Return a tree to fit, pruned by cost-complexity (Breiman et al. 1984).

    As in Huang et al. (2015), section 7. The complexity parameter is the one of least
    error over 5 folds among the geometric means of neighbours on the pruning path (20
    of them at most, evenly spaced); of equals the largest. Rows that belong together
    are in one fold. Where no folds can be made, the tree is not pruned.
    """
    tree = make_tree(random_state=seed)
    folds = deal_strata(dataset, PRUNING_FOLDS, seed)
    if not folds:
        return tree
    path = tree.cost_complexity_pruning_path(
        table.columns, table.targets, table.weights
    )
    steps = np.maximum(path.ccp_alphas, 0.0)
    alphas = np.unique(np.append(np.sqrt(steps[:-1] * steps[1:]), steps[-1]))
    alphas = alphas[evenly_spaced(alphas.size, MAX_ALPHAS)]
    errors = np.zeros(alphas.size)
    for unseen in folds:
        seen = np.setdiff1d(np.arange(dataset.n_samples), unseen)
        for position, alpha in enumerate(alphas):
            pruned = make_tree(random_state=seed, ccp_alpha=alpha)
            pruned.fit(table.columns[seen], table.targets[seen], table.weights[seen])
            is_wrong = pruned.predict(table.columns[unseen]) != table.targets[unseen]
            errors[position] += table.weights[unseen] @ is_wrong
    best = np.flatnonzero(errors <= errors.min() + 1e-12)[-1]
    return make_tree(random_state=seed, ccp_alpha=alphas[best])


def grow_trees(
    dataset: Dataset,
    params: BoostParams,
    done: Sequence[Round] = (),
    is_strict: bool = True,
) -> Iterator[Round]:
    """Grow the trees of a baseline, one round each; `decision_tree` has one only.

    The dataset is not multi-label. `params.seed` decides bootstrap samples and ties;
    `done` and `is_strict`, which doesn't matter here, are as in
    `askless.core.training.algorithms.grow_ensemble`. Each alpha is 1. A tree without a
    split, a constant, is left out.

    Notes
    -----
    A row of a bootstrap sample counts as often as it was drawn, times its weight; rows
    that belong together are drawn together. Each node votes for its largest class;
    where a value is missing the last node that could be read votes, while scikit-learn
    would send it to one side. A split that only separates missing values from all
    others is left out. scikit-learn takes every missing cell for information, so cells
    that nobody answered are filled beforehand (`askless.core.table.silent`).
    """
    del is_strict
    is_bagged = params.algorithm in BAGGED
    table = to_sklearn_columns(fill_silent_cells(dataset))
    if not table.sources.size:
        return
    n_outputs = count_outputs(len(dataset.classes), is_multilabel=False)
    read = [idx for earlier in done for idx in earlier.hypothesis.feature_idxs]
    spent, paid = buy(dataset.catalogue, Paid(), read)
    first = done[-1].number + 1 if done else 1
    for number in range(first, (params.rounds if is_bagged else 1) + 1):
        seed, weights = derive_tree_seed(params.seed, number), table.weights
        if is_bagged:
            weights = weights * draw_bootstrap(dataset, params.seed, number)
            estimator = make_tree(
                random_state=seed, max_features=BAGGED[params.algorithm]
            )
        else:
            estimator = make_pruned_tree(dataset, table, seed)
        fitted = estimator.fit(table.columns, table.targets, weights)
        tree = to_hypothesis(fitted, table, n_outputs)
        if tree is None:
            continue
        amount, paid = buy(dataset.catalogue, paid, tree.feature_idxs)
        spent += amount
        is_right = fitted.predict(table.columns) == table.targets
        # Weights sum to 1, so the edge, right less wrong, is twice the right less 1.
        edge = max(0.0, float(2 * (dataset.weights @ is_right) - 1))
        yield Round(number, tree, edge, 1.0, 1.0, spent)


def draw_bootstrap(dataset: Dataset, seed: int, number: int) -> FloatArray:
    """Draw a bootstrap sample; return how often each row is drawn, (n_samples,).

    Rows of one row group are drawn together. `number` is that of the tree.
    """
    row_groups = dataset.row_group_idxs
    n_row_groups = int(row_groups.max()) + 1
    drawn = np.random.default_rng([seed, number]).integers(
        0, n_row_groups, n_row_groups
    )
    return np.bincount(drawn, minlength=n_row_groups)[row_groups].astype(np.float64)


def derive_tree_seed(seed: int, number: int) -> int:
    """Return the seed of scikit-learn's tree of this number, below 2**31."""
    return int(np.random.default_rng([seed, number, 1]).integers(2**31))


def out_of_bag_error(
    dataset: Dataset, ensemble: Ensemble, rounds: Sequence[Round], seed: int
) -> float | None:
    """Return the weighted error of rows by the trees that were not grown on them.

    Breiman (2001), section 3.1. None where no tree votes on a row that it left out.
    """
    votes = np.zeros((dataset.n_samples, ensemble.n_outputs))
    has_vote = np.zeros(dataset.n_samples, np.bool_)
    for boosting_round in rounds:
        is_out = draw_bootstrap(dataset, seed, boosting_round.number) == 0
        rows = dataset.values[is_out]
        added = hypothesis_votes(boosting_round.hypothesis, rows, ensemble.n_outputs)
        votes[is_out] += added
        has_vote[is_out] |= added.any(axis=1)
    if not has_vote.any():
        return None
    weights = dataset.weights[has_vote]
    labels = raw_classes(ensemble, votes[has_vote])
    return float(weights @ (labels != dataset.targets[has_vote]) / weights.sum())


def make_tree(**settings: Any) -> "DecisionTreeClassifier":
    """Return a tree of scikit-learn to be fitted.

    It is imported here: loading it takes every command as long as all the rest.
    """
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(**settings)


def to_sklearn_columns(dataset: Dataset) -> Table:
    """Return a dataset as columns for scikit-learn; a missing value stays missing."""
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


def to_hypothesis(
    fitted: "DecisionTreeClassifier", table: Table, n_outputs: int
) -> Tree | None:
    """Return scikit-learn's fitted tree as a hypothesis; None without a split."""
    tree = fitted.tree_
    ways = trace_splits(tree.children_left, tree.children_right, tree.threshold)
    if not ways:
        return None
    positions = {node: position for position, node in enumerate(ways)}
    largest = fitted.classes_[tree.value[:, 0, :].argmax(axis=1)]
    stumps, children, below_votes = [], [], []
    for node, pair in ways.items():
        column = tree.feature[node]
        code = int(table.categories[column])
        cut = convert_threshold(tree.threshold[node], int(table.exponents[column]))
        above, below = (
            one_vs_rest_votes(int(largest[child]), n_outputs) for child in pair
        )
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


def trace_splits(
    lefts: IntArray, rights: IntArray, thresholds: FloatArray
) -> dict[int, tuple[int, int]]:
    """Return the nodes above and below each split of a tree, from the root on.

    In a column of a category its own rows, which are 1, are above. An infinite
    threshold only separates missing values from all others, which go left; such a split
    asks nothing and is skipped.
    """

    def skip_infinite(node: int) -> int:
        while lefts[node] >= 0 and np.isinf(thresholds[node]):
            node = int(lefts[node])
        return node

    ways: dict[int, tuple[int, int]] = {}
    stack = [skip_infinite(0)]
    while stack:
        node = stack.pop()
        if lefts[node] >= 0:
            above, below = int(rights[node]), int(lefts[node])
            ways[node] = skip_infinite(above), skip_infinite(below)
            stack += ways[node]
    return ways


def convert_threshold(threshold: float, exponent: int) -> float:
    """Return the largest number that scikit-learn sends below a threshold.

    scikit-learn rounds numbers to the nearest float32 first, ties to even. `exponent`
    is the power of two that the column was divided by.
    """
    # The largest float32 at or below the threshold, and the next one above it.
    below = np.float32(threshold)
    if below > threshold:
        below = np.nextafter(below, np.float32(-np.inf))
    above = np.nextafter(below, np.float32(np.inf))
    cut = (float(below) + float(above)) / 2
    # The middle rounds to the even one of the two, which may be the upper.
    if np.float32(cut) != below:
        cut = float(np.nextafter(cut, -np.inf))
    return float(np.ldexp(cut, exponent))


def one_vs_rest_votes(position: int, n_outputs: int) -> tuple[int, ...]:
    """Return the votes for the class at a position; (n_outputs,) of +1 and -1."""
    if n_outputs == 1:
        return (1 if position == 1 else -1,)
    return tuple(1 if output == position else -1 for output in range(n_outputs))
