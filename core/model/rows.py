"""Rows of an outside table for an ensemble that is already trained."""

import numpy as np

from core.arrays import FloatArray, IntArray
from core.errors import Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.table.catalogue import UNSEEN
from core.table.columns import (
    Column,
    Columns,
    as_text,
    cell_refusal,
    read_feature,
    unknown_column,
)
from core.table.prices import Paid, buy


def check_rows(
    columns: Columns, ensemble: Ensemble, most: int | None = None
) -> tuple[FloatArray, list[str]]:
    """Turn a table into values for an ensemble that is already trained.

    A category that training did not see is `UNSEEN`. A column may be absent if no
    hypothesis reads it, or if it alone costs more than `most`, the most that will be
    spent, in micro-units (None: no limit). Returns the values, (n_rows, n_features),
    and warnings; raises `RefusedError` with every broken rule.
    """
    refusals: list[Refusal] = []
    warnings: list[str] = []
    n_rows = len(next(iter(columns.values()))) if columns else 0
    if n_rows == 0:
        refusals.append(Refusal("table", "must have at least one row"))
    features = ensemble.catalogue.features
    values = np.full((n_rows, len(features)), np.nan)
    for idx, feature in enumerate(features):
        column = find_column(columns, feature.name)
        if column is not None:
            values[:, idx], wrong = read_feature(feature, column)
            refusals += wrong
            n_unseen = int((values[:, idx] == UNSEEN).sum())
            if feature.type == "category" and n_unseen:
                warnings.append(
                    f"{feature.name}: {n_unseen} rows with categories that training "
                    "did not see; every stump on it abstains there"
                )
        elif ensemble.is_used[idx] and is_payable(ensemble, idx, most):
            refusals.append(unknown_column("features", feature.name, columns))
    if refusals:
        raise RefusedError(refusals)
    return values, warnings


def find_column(columns: Columns, name: str) -> Column | None:
    """Return a column; models made before names were tidied know white space."""
    found: Column | None = columns.get(name, columns.get(name.strip()))
    return found


def is_payable(ensemble: Ensemble, feature_idx: int, most: int | None) -> bool:
    """Return whether an amount, in micro-units, pays a feature and its group."""
    amount, _ = buy(ensemble.catalogue, Paid(), (feature_idx,))
    return most is None or amount <= most


def check_targets(columns: Columns, ensemble: Ensemble, target: str) -> IntArray:
    """Read the true classes of rows for an ensemble; all must be known to it."""
    column = find_column(columns, target)
    if column is None:
        raise RefusedError([unknown_column("target", target, columns)])
    labels = as_text(column)
    positions = {one.label.strip(): idx for idx, one in enumerate(ensemble.classes)}
    by_word = [positions.get(word or "", -1) for word in labels.words]
    targets: IntArray = np.array(by_word, np.int64)[labels.numbers]
    wrong = np.flatnonzero(targets < 0)
    if wrong.size:
        rule = f"must be one of the classes {', '.join(positions)}"
        raise RefusedError([cell_refusal(target, rule, wrong, labels)])
    return targets
