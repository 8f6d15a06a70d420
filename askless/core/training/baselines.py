"""Decision trees, bagging and random forests, to be asked under a budget like the rest.

scikit-learn grows the trees; here they become hypotheses, so that sessions, curves and
documents treat them as any other ensemble. They know nothing of costs.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.prices import Paid, buy
from askless.core.codes.folds import make_folds
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import FORESTS, hypothesis_votes, raw_votes
from askless.core.table.dataset import Dataset, count_outputs
from askless.core.table.gaps import fill_silent
from askless.core.training.foreign import (
    Table,
    make_tree,
    to_hypothesis,
    to_sklearn_columns,
)
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

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
    table = to_sklearn_columns(fill_silent(dataset))
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
    labels = raw_votes(ensemble, votes[has_vote])
    return float(weights @ (labels != dataset.targets[has_vote]) / weights.sum())
