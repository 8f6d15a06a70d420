"""Stored documents: their objects, and core's frozen dataclasses inside them.

A field `Stored[Cascade]` is read as core's `Cascade`; `to_json_value` returns JSON of
core's values. Both follow the types of the dataclass's fields: ranges stand there,
names in `NAMES`. A field with a default in core may be absent, and is left out where it
has that default.

pydantic's own way with a dataclass (`TypeAdapter(Cascade)`) does not fit: in strict
mode it refuses objects of JSON, it has no schema for arrays, and other names for fields
would need pydantic in core. Shapes stay written by hand where one object holds several
values (a model), where a value is put together from several places (trees,
panels), and where a document requires what core has a default for (features, rounds).
"""

from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from math import isqrt
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from annotated_types import Interval, Len
from pydantic import AfterValidator, ConfigDict, with_config
from typing_extensions import TypedDict

from askless.app.documents.fields import Policy
from askless.app.documents.shape import Many, Shape
from askless.core.arrays import FloatArray
from askless.core.model.ladder.blends import LogisticRidge

#: names in documents of core's fields; all others have the same name in both
NAMES = {
    "feature_idx": "feature",
    "feature_idxs": "features",
    "n_samples": "rows",
    "n_effective": "effective_rows",
    "n_played": "rows_played",
    "n_trained": "trained_rows",
    "n_guide": "guide_rows",
    "n_covered": "covered_rows",
    **{
        name: f"{name}_micros"
        for name in (
            *("amount", "bounds", "budget", "budgets", "charged", "cost"),
            *("error_price", "fee", "guide_spends", "least_budget", "max_spends"),
            *("mean_budget", "mean_spend", "mean_spends", "price", "prices"),
            *("spend", "spent", "up_to", "worthwhile"),
        )
    },
}
#: types of fields whose type in core is too wide
TYPES = {"policy": Policy}
#: arrays of two dimensions, and symmetric ones, stored as the rows of the upper half
MATRICES, SYMMETRIC = {"coefficients", "log_chances"}, {"covariance"}
#: fields that no document has: they follow from others
DERIVED = {"places"}
#: the `kind` in a document of classes that core tells apart by type
TAGS: dict[type, str] = {LogisticRidge: "logistic"}

Value = TypeVar("Value")


class StoredShape(Shape):
    """An object of a file or database; fields of later versions are ignored."""

    model_config = ConfigDict(
        extra="ignore",
        serialize_by_alias=True,
        alias_generator=lambda name: NAMES.get(name, name),
    )

    @classmethod
    def of(cls, *values: Any, **more: object) -> Self:
        """Build the shape, nested ones too, from core's values and from `more`."""
        held = {
            field.name: getattr(value, field.name)
            for value in values
            for field in fields(value)
        }
        return cls.model_validate(
            held | more, from_attributes=True, by_alias=False, by_name=True
        )


def to_json_value(value: Any) -> Any:
    """Return core's value, or a dict or tuple of values, as JSON-able values."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        is_plain = not value or isinstance(value[0], str | int | float | None)
        return list(value) if is_plain else [to_json_value(item) for item in value]
    if isinstance(value, dict):
        return {name: to_json_value(item) for name, item in value.items()}
    if not is_dataclass(value):
        return value
    document = {}
    kind: type = type(value)
    for stored_field in stored_fields(kind):
        field_value = getattr(value, stored_field.name)
        if (
            type(field_value) is type(stored_field.default)
            and field_value == stored_field.default
        ):
            continue
        if stored_field.name in SYMMETRIC:
            field_value = field_value[np.triu_indices(len(field_value))]
        document[NAMES.get(stored_field.name, stored_field.name)] = to_json_value(
            field_value
        )
    if kind in TAGS:
        document["kind"] = TAGS[kind]
    return document


@cache
def stored_fields(kind: type) -> tuple[Field[Any], ...]:
    """Return the fields of a dataclass that documents store."""
    return tuple(field for field in fields(kind) if field.name not in DERIVED)


def json_type(hint: Any, bounds: tuple[Interval, ...] = ()) -> Any:
    """Return pydantic's type for core's type `hint`, numbers within `bounds`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        hint, *notes = arguments
        bounds += tuple(note for note in notes if isinstance(note, Interval))
        read = json_type(hint, bounds)
        lengths = [note for note in notes if isinstance(note, Len)]
        return Annotated[read, *lengths] if lengths else read
    if is_dataclass(hint):
        return json_object_type(hint, bounds)  # type: ignore[arg-type]  # a class
    if origin is np.ndarray:
        return json_array_type(hint, bounds)
    if origin is tuple:
        items = Many[json_type(arguments[0], bounds)]  # type: ignore[misc, valid-type]  # at run time
        n_items = len(arguments)
        is_open = arguments[-1] is Ellipsis
        return items if is_open else Annotated[items, Len(n_items, n_items)]
    if origin in (Union, UnionType):
        return Union[tuple(json_type(argument, bounds) for argument in arguments)]  # noqa: UP007  # at run time
    return Annotated[hint, *bounds] if bounds and hint in (int, float) else hint


def json_array_type(hint: Any, bounds: tuple[Interval, ...], n_dims: int = 1) -> Any:
    """Return the type by which pydantic reads lists of numbers as an array."""
    (dtype,) = get_args(get_args(hint)[1])
    read = json_type({np.float64: float, np.int64: int, np.bool_: bool}[dtype], bounds)
    for _ in range(n_dims):
        read = Many[read]  # type: ignore[valid-type]  # at run time
    return Annotated[read, AfterValidator(partial(build_array, dtype))]


def build_array(dtype: type, items: tuple[Any, ...]) -> Any:
    """Return numbers, or rows of them, as an array."""
    if items and isinstance(items[0], tuple) and len({*map(len, items)}) > 1:
        raise ValueError("must be rows of one length")
    return np.array(items, dtype)


def build_symmetric(upper: FloatArray) -> FloatArray:
    """Return the symmetric matrix whose upper half stands row by row in a list."""
    # n rows have n(n + 1) / 2 numbers in the upper half.
    size = isqrt(2 * len(upper))
    if size * (size + 1) // 2 != len(upper):
        raise ValueError("must be the upper half of a matrix of the first columns")
    whole = np.zeros((size, size))
    whole[np.triu_indices(size)] = upper
    return whole + np.triu(whole, 1).T


def json_field_type(name: str, hint: Any, bounds: tuple[Interval, ...]) -> Any:
    """Return the type by which pydantic reads a field of a dataclass."""
    if name in TYPES:
        return TYPES[name]
    if name in MATRICES:
        array, *notes = get_args(hint)
        return json_array_type(array, tuple(notes), n_dims=2)
    if name in SYMMETRIC:
        array, _ = get_args(hint)
        return Annotated[json_type(array, bounds), AfterValidator(build_symmetric)]
    return json_type(hint, bounds)


def json_object_type(kind: type, bounds: tuple[Interval, ...]) -> Any:
    """Return the type by which pydantic reads an object of JSON as a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    names = {
        NAMES.get(stored_field.name, stored_field.name): stored_field
        for stored_field in stored_fields(kind)
    }
    types: dict[str, Any] = {}
    for name, stored_field in names.items():
        read = json_field_type(stored_field.name, hints[stored_field.name], bounds)
        types[name] = read if stored_field.default is MISSING else NotRequired[read]
    if kind in TAGS:
        types["kind"] = Literal[TAGS[kind]]

    def build(read: dict[str, Any]) -> Any:
        if kind in TAGS:
            del read["kind"]
        return kind(
            **{
                stored_field.name: read[name]
                for name, stored_field in names.items()
                if name in read
            }
        )

    shape = with_config(StoredShape.model_config)(TypedDict(kind.__name__, types))  # type: ignore[operator]  # at run time
    return Annotated[shape, AfterValidator(build)]


if TYPE_CHECKING:
    Stored = Annotated[Value, "read as core's type"]
else:

    class Stored:
        """A type of core's as a field of a shape: `Stored[Cascade]`."""

        def __class_getitem__(cls, hint: Any) -> Any:
            """Return the type by which pydantic reads it."""
            return json_type(hint)
