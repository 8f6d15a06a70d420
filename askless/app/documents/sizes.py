"""Check lengths and positions in a document against the rest of it.

Types declare both: a list `Each("outputs")` has one entry for each output, a position
`Below("features")` is that of a feature. Kernels index by them and do not look.
"""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from askless.app.documents.stored import NAMES, StoredShape
from askless.core.errors import Refusal
from askless.core.model.ranges import Below, Each


def check_sizes(
    value: Any, sizes: Mapping[str, int], where: str, hint: Any = None
) -> Iterator[Refusal]:
    """Yield refusals of a value of the declared type `hint`, and of all inside it.

    `sizes` has the number of each thing that types name; an object's own `sizes` add
    to it for what is inside.
    """
    for note in list_size_notes(hint):
        yield from check_against_note(value, note, sizes[note.things], where)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from check_sizes(item, sizes, f"{where}.{key}")
    elif isinstance(value, tuple):
        inner_hint = item_hint(hint)
        # Items of one list are alike: numbers and words have nothing to look at.
        if value and (is_object(value[0]) or list_size_notes(inner_hint)):
            for number, item in enumerate(value):
                yield from check_sizes(item, sizes, f"{where}[{number}]", inner_hint)
    elif is_object(value):
        sizes = {**sizes, **getattr(value, "sizes", {})}
        kind: Any = type(value)
        for name, field_hint in list_structured_hints(kind).items():
            place = f"{where}.{NAMES.get(name, name)}"
            field_value = getattr(value, name)
            if field_value is not None:
                yield from check_sizes(field_value, sizes, place, field_hint)


def check_against_note(
    value: Any, note: Each | Below, size: int, where: str
) -> Iterator[Refusal]:
    """Yield a refusal of a value that breaks what its type declares."""
    if isinstance(note, Each):
        if len(value) != size:
            yield Refusal(where, f"must be {size}, one for each of the {note.things}")
    elif np.max(value, initial=-1) >= size:
        yield Refusal(where, f"must be below {size}, the number of {note.things}")


def is_object(value: Any) -> bool:
    return isinstance(value, StoredShape) or is_dataclass(value)


@cache
def list_structured_hints(kind: Any) -> dict[str, Any]:
    """Return the types of an object's fields that are more than a number or a word."""
    hints = get_type_hints(kind, include_extras=True)
    names = getattr(kind, "model_fields", None) or kind.__dataclass_fields__
    plain = (str, int, float, bool)
    return {name: hints[name] for name in names if hints[name] not in plain}


@cache
def list_size_notes(hint: Any) -> tuple[Each | Below, ...]:
    """Return the size declarations of a type; for `X | None` those of X."""
    if get_origin(hint) is Annotated:
        return tuple(note for note in get_args(hint) if isinstance(note, Each | Below))
    arms = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    return tuple(note for arm in arms for note in list_size_notes(arm))


@cache
def item_hint(hint: Any) -> Any:
    """Return the type of the items of a tuple; None where it does not stand there."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return item_hint(arguments[0])
    if origin in (Union, UnionType):
        items = (item_hint(arm) for arm in arguments)
        return next((item for item in items if item is not None), None)
    return arguments[0] if origin is tuple else None
