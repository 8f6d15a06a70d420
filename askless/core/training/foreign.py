"""scikit-learn's trees: our tables as it reads them, its trees as our hypotheses."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import UNSEEN
from askless.core.model.hypotheses import LEAF, Stump, Tree
from askless.core.table.dataset import Dataset

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
    ways = follow_splits(tree.children_left, tree.children_right, tree.threshold)
    if not ways:
        return None
    positions = {node: position for position, node in enumerate(ways)}
    largest = fitted.classes_[tree.value[:, 0, :].argmax(axis=1)]
    stumps, children, below_votes = [], [], []
    for node, pair in ways.items():
        column = tree.feature[node]
        code = int(table.categories[column])
        cut = convert_threshold(tree.threshold[node], int(table.exponents[column]))
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


def follow_splits(
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


def votes_for(position: int, n_outputs: int) -> tuple[int, ...]:
    """Return the votes for the class at a position; (n_outputs,) of +1 and -1."""
    if n_outputs == 1:
        return (1 if position == 1 else -1,)
    return tuple(1 if output == position else -1 for output in range(n_outputs))
