"""Read labelled rows of an outside table, for a model to go on learning from."""

from collections.abc import Collection, Iterator

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.errors import Refusal, RefusedError, nearest_hint
from askless.core.model.model import Model
from askless.core.model.rows import (
    check_targets,
    empty_refusals,
    find_column,
    find_unseen,
    warn_unseen,
)
from askless.core.pipeline.online.learning import LearntRows
from askless.core.pipeline.online.learning_state import get_learning
from askless.core.table.columns import Columns, cell_refusal, read_feature, show_numbers
from askless.core.table.spec import CASE_COLUMN, TableSpec
from askless.core.table.weights import read_raw_weights

# In mean weights. A row of a larger one would be all that the model knows; squares of
# much smaller ones are 0.
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e6
NAME_RULE = "must be a feature, the target or the weight of the model"


def list_names_read(model: Model) -> list[str]:
    """Return the columns that are read of rows to learn: features, target, weight."""
    weight = get_learning(model).weight_column
    features = [feature.name for feature in model.ensemble.catalogue.features]
    return [*features, model.target, *([] if weight is None else [weight])]


def check_learning_names(names: Collection[str], model: Model) -> list[Refusal]:
    """Return refusals of columns that the model doesn't know, and of absent ones.

    Features may be absent, as long as one is there: they are missing in every row.
    Columns that training ignored may be there, and are ignored.
    """
    known = list_names_read(model)
    stripped = {*known, *(name_read.strip() for name_read in known)}
    stripped |= {CASE_COLUMN, *get_learning(model).ignored}
    refusals = [
        Refusal(f"column {name}", f"{NAME_RULE}{nearest_hint(name, known)}")
        for name in names
        if name not in stripped
    ]
    features = {feature.name for feature in model.ensemble.catalogue.features}
    features |= {name.strip() for name in features}
    if not features.intersection(names):
        refusals.append(Refusal("table", "must have a column of one feature at least"))
    if model.target not in names and model.target.strip() not in names:
        rule = f"must be a column of the table{nearest_hint(model.target, names)}"
        refusals.append(Refusal("target", rule, repr(model.target)))
    return refusals


def read_known_values(
    columns: Columns, model: Model
) -> Iterator[tuple[FloatArray | None, list[Refusal]]]:
    """Yield the values of each feature, None where it is absent, and refusals."""
    for feature in model.ensemble.catalogue.features:
        column = find_column(columns, feature.name)
        yield (None, []) if column is None else read_feature(feature, column)


def read_row_weights(
    columns: Columns, model: Model, n_rows: int
) -> tuple[FloatArray, list[Refusal]]:
    """Return the weights of rows, and refusals; without a column each counts 1.

    A weight is 0, or `LEAST_WEIGHT` to `MOST_WEIGHT` times that of a row that counts 1.
    """
    learning = get_learning(model)
    name, unit = learning.weight_column, learning.weight_unit
    if name is None or name not in columns:
        return np.full(n_rows, unit), []
    table = TableSpec(model.target, weight=name)
    weights, refusals = read_raw_weights(columns, table, n_rows)
    outside, rule = list_weights_outside(weights, unit)
    if outside.size and not refusals:
        shown = show_numbers(weights, outside)
        refusals.append(cell_refusal(name, rule, outside, shown))
    return weights, refusals


def list_weights_outside(weights: FloatArray, unit: float) -> tuple[IntArray, str]:
    """Return the rows whose weights are out of range, and the rule."""
    least, most = LEAST_WEIGHT * unit, MOST_WEIGHT * unit
    is_inside = (weights == 0.0) | ((weights >= least) & (weights <= most))
    rule = f"must be 0, or from {least:g} to {most:g} (a millionth to a million means)"
    return np.flatnonzero(~is_inside), rule


def check_rows_to_learn(columns: Columns, model: Model, n_rows: int) -> list[str]:
    """Return warnings about rows; raise RefusedError with every broken rule.

    Values are read a column at a time, and let go.
    """
    refusals = [*empty_refusals(n_rows), *check_learning_names([*columns], model)]

    def read_values() -> Iterator[FloatArray | None]:
        for values, wrong in read_known_values(columns, model):
            refusals.extend(wrong)
            yield values

    unseen = find_unseen(columns, model.ensemble, read_values())
    refusals += read_row_weights(columns, model, n_rows)[1]
    # Its absence is refused above.
    if find_column(columns, model.target) is not None:
        try:
            check_targets(columns, model.ensemble, model.target)
        except RefusedError as error:
            refusals += error.refusals
    if refusals:
        raise RefusedError(refusals)
    return warn_unseen(model.ensemble, unseen)


def read_rows_to_learn(columns: Columns, model: Model, n_rows: int) -> LearntRows:
    """Return rows of positive weight to learn; raise RefusedError."""
    values = np.full((n_rows, len(model.ensemble.catalogue.features)), np.nan)
    refusals: list[Refusal] = []
    for idx, (cells, wrong) in enumerate(read_known_values(columns, model)):
        refusals += wrong
        if cells is not None:
            values[:, idx] = cells
    weights, wrong = read_row_weights(columns, model, n_rows)
    if refusals + wrong:
        raise RefusedError(refusals + wrong)
    targets = check_targets(columns, model.ensemble, model.target)
    rows = np.flatnonzero(weights > 0.0)
    return LearntRows(values[rows], targets[rows], weights[rows])
