"""Matches input tensors with a model's features."""

from collections.abc import Sequence
from typing import Any

from askless.app.doors.inference.bodies import InputTensor
from askless.app.doors.inference.tensors import (
    BOOL,
    BYTES,
    NUMBERS,
    InputValues,
    TensorColumn,
    read_inputs,
    wrong_input,
)
from askless.core.errors import nearest_hint

# So many rows of 13 features take half a second on one core.
MAX_ROWS = 10_000
# Datatypes by types of features; a table's columns may have the same.
TAKEN = {
    "number": (*NUMBERS,),
    "boolean": (BOOL, BYTES, *NUMBERS),
    "category": (BYTES, BOOL, *NUMBERS),
}


def read_columns_of(
    model: Any, inputs: Sequence[InputTensor], rest: bytes
) -> dict[str, TensorColumn]:
    """Return the columns of a request; `rest` are the bytes behind its JSON.

    An input is a feature's, of shape [n] or [n, 1]. One input alone may have all
    features instead, as [n, n_features] in the order of the model's metadata.
    """
    features = model.ensemble.catalogue.features
    by_name = {one.name: one for one in features}
    if is_matrix(inputs, by_name):
        (values,) = read_inputs(inputs, rest)
        return split_matrix(values, features)
    columns: dict[str, TensorColumn] = {}
    for values in read_inputs(inputs, rest):
        place, name = values.place, values.tensor.name
        if name not in by_name:
            hint = nearest_hint(name, by_name)
            raise wrong_input(place, "name", f"must be a feature of the model{hint}")
        if name in columns:
            raise wrong_input(place, "name", "must stand once")
        check_shape(values, inputs[0].shape[0], 1)
        taken = TAKEN[by_name[name].type]
        if values.tensor.datatype not in taken:
            rule = f"must be one of {', '.join(taken)} for this feature"
            raise wrong_input(place, "datatype", rule)
        columns[name] = values.column
    return columns


def is_matrix(inputs: Sequence[InputTensor], names: dict[str, Any]) -> bool:
    """Return whether a request has one input of several columns and another name."""
    (first, *others) = inputs
    is_wide = len(first.shape) == 2 and first.shape[1] != 1
    return is_wide and not others and first.name not in names


def split_matrix(
    values: InputValues, features: Sequence[Any]
) -> dict[str, TensorColumn]:
    """Return the columns of a matrix of numbers."""
    names = [one.name for one in features]
    if any(one.type == "category" for one in features):
        rule = "must be a feature of the model: some are texts, so each has an input"
        raise wrong_input(0, "name", rule)
    if values.tensor.datatype not in NUMBERS:
        rule = f"must be one of {', '.join(NUMBERS)} for all features together"
        raise wrong_input(0, "datatype", rule)
    check_shape(values, values.n_rows, len(names))
    matrix = values.column.reshape(values.tensor.shape)
    return dict(zip(names, matrix.T, strict=True))


def check_shape(values: InputValues, n_rows: int, width: int) -> None:
    """Refuse another number of rows or columns, or too many rows."""
    shapes = f"[n] or [n, {width}]" if width == 1 else f"[n, {width}]"
    if values.n_rows != n_rows or values.width != width:
        rule = f"must be {shapes}, with the same n for all inputs"
        raise wrong_input(values.place, "shape", rule)
    if n_rows > MAX_ROWS:
        rule = f"must have at most {MAX_ROWS} rows; POST /models/{{id}}/predict takes "
        raise wrong_input(values.place, "shape", rule + "more")
