"""Read rows of an outside table for an ensemble that is already trained."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import UNSEEN
from askless.core.catalogue.prices import Paid, buy
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.table.columns import (
    Column,
    Columns,
    cell_refusal,
    read_feature,
    to_text_cells,
    unknown_column,
)


class BlockValues(NamedTuple):
    """Values of some rows for an ensemble, and counts of unseen categories."""

    #: (n_rows, n_features)
    values: FloatArray
    #: (n_features,); rows with categories that training did not see
    n_unseen: IntArray


def check_rows(
    columns: Columns, ensemble: Ensemble, most: int | None = None
) -> tuple[FloatArray, list[str]]:
    """Return the values of a table for an ensemble that is already trained.

    A category that training did not see is `UNSEEN`. A column may be absent if no
    hypothesis reads it, or if it alone costs more than `most`, the most that will be
    spent, in micro-units (None: no limit). Returns the values, (n_rows, n_features),
    and warnings; raises `RefusedError` with every broken rule.
    """
    block = check_block(columns, ensemble, most)
    return block.values, warn_unseen(ensemble, block.n_unseen)


def check_block(
    columns: Columns, ensemble: Ensemble, most: int | None = None
) -> BlockValues:
    """Return the values of some rows; parameters and errors are as in `check_rows`."""
    n_rows = len(next(iter(columns.values()))) if columns else 0
    refusals = empty_refusals(n_rows)
    values = np.full((n_rows, len(ensemble.catalogue.features)), np.nan)
    for idx, (cells, wrong) in enumerate(read_cells(columns, ensemble, most)):
        refusals += wrong
        if cells is not None:
            values[:, idx] = cells
    if refusals:
        raise RefusedError(refusals)
    return BlockValues(values, (values == UNSEEN).sum(axis=0))


def cell_refusals(
    columns: Columns, ensemble: Ensemble, most: int | None
) -> list[Refusal]:
    """Return the refusals of a table's columns; it reads one column at a time."""
    return [r for _, wrong in read_cells(columns, ensemble, most) for r in wrong]


def empty_refusals(n_rows: int) -> list[Refusal]:
    """Refuse a table without rows."""
    rule = "must have at least one row"
    return [] if n_rows else [Refusal("table", rule)]


def read_cells(
    columns: Columns, ensemble: Ensemble, most: int | None
) -> Iterator[tuple[FloatArray | None, list[Refusal]]]:
    """Yield the values of each feature, None where it is absent, and refusals."""
    for idx, feature in enumerate(ensemble.catalogue.features):
        column = find_column(columns, feature.name)
        if column is not None:
            yield read_feature(feature, column)
        elif ensemble.is_used[idx] and is_payable(ensemble, idx, most):
            yield None, [unknown_column("features", feature.name, columns)]
        else:
            yield None, []


def warn_unseen(ensemble: Ensemble, n_unseen: IntArray) -> list[str]:
    """Return warnings of rows with categories that training did not see."""
    is_stumps = ensemble.panels is None and all(
        hypothesis.sole_stump for hypothesis in ensemble.hypotheses
    )
    effect = "the model reads it there as none of its categories"
    if is_stumps:
        effect = "every stump on it abstains there"
    pairs = zip(ensemble.catalogue.features, n_unseen.tolist(), strict=True)
    return [
        f"{feature.name}: {count} rows with categories that training did not see; "
        f"{effect}"
        for feature, count in pairs
        if feature.type == "category" and count
    ]


def mark_askable_features(ensemble: Ensemble) -> BoolArray:
    """Return which features sessions may reveal, as a mask; (n_features,).

    They are the features that the ensemble reads, and others of the same bundles.
    """
    bundles = {
        group.name for group in ensemble.catalogue.groups if group.price is not None
    }
    groups = [feature.group for feature in ensemble.catalogue.features]
    bought = bundles.intersection(
        group
        for group, is_used in zip(groups, ensemble.is_used, strict=True)
        if is_used
    )
    comes_with = np.array([group in bought for group in groups], np.bool_)
    needed: BoolArray = ensemble.is_used | comes_with
    return needed


def find_column(columns: Columns, name: str) -> Column | None:
    """Return a column by name; old models have names with white space around them."""
    column: Column | None = columns.get(name, columns.get(name.strip()))
    return column


def is_payable(ensemble: Ensemble, feature_idx: int, most: int | None) -> bool:
    """Return whether `most`, in micro-units, pays for a feature and its group."""
    amount, _ = buy(ensemble.catalogue, Paid(), (feature_idx,))
    return most is None or amount <= most


def check_targets(columns: Columns, ensemble: Ensemble, target: str) -> IntArray:
    """Return the position of each row's true class, (n_rows,).

    Raises `RefusedError` where the table has no column `target`, or that column holds
    a class that the ensemble lacks.
    """
    column = find_column(columns, target)
    if column is None:
        raise RefusedError([unknown_column("target", target, columns)])
    labels = to_text_cells(column)
    positions = {label.label.strip(): idx for idx, label in enumerate(ensemble.classes)}
    by_word = [positions.get(word or "", -1) for word in labels.words]
    targets: IntArray = np.array(by_word, np.int64)[labels.numbers]
    wrong = np.flatnonzero(targets < 0)
    if wrong.size:
        rule = f"must be one of the classes {', '.join(positions)}"
        raise RefusedError([cell_refusal(target, rule, wrong, labels)])
    return targets
