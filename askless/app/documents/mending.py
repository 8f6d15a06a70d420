"""Remove wrong fields from a document, so that the rest can be checked too.

One wrong field then doesn't hide other broken rules.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from askless.app.documents.shape import KEY, Place, path_text, rule_text
from askless.core.errors import Refusal, find_nearest, shorten

# The first character of names that replace wrong ones; no real name has it.
FRESH = "\N{SYMBOL FOR NULL}"
# An object with more fields does not list them in a refusal.
MAX_LISTED = 8


def refusals_of(
    error: ValidationError, shape: type[BaseModel], root: str
) -> Iterator[Refusal]:
    """Yield a refusal for each of pydantic's errors; `root` names the document."""
    for detail in error.errors(include_url=False):
        kind, place = detail["type"], detail["loc"]
        if kind == "extra_forbidden":
            rule = f"unknown field; {describe_expected_field(shape, place)}"
            yield Refusal(path_text(place), rule, repr(place[-1]))
        elif kind == "missing":
            where = place if len(place) > 1 else (root, *place)
            yield Refusal(path_text(where), "is required")
        else:
            rule = rule_text(kind, detail.get("ctx", {}))
            yield Refusal(path_text(place) or root, rule, shorten(detail["input"]))


def describe_expected_field(shape: type[BaseModel], place: Place) -> str:
    """Return where an unknown field belongs, or what may stand in its place.

    A field of this object that is spelt alike comes first, then one of another object;
    many fields without a near one are not listed.
    """
    word, siblings = str(place[-1]), fields_at(shape, place[:-1])
    near = find_nearest(word, siblings)
    paths = {path.rpartition(".")[2]: path for path in list_paths(shape)}
    elsewhere = find_nearest(word, paths)
    if elsewhere is not None and (near is None or word in paths):
        return f"{word} is {paths[elsewhere]}"
    if near is not None:
        return f"the nearest is {near!r}"
    if len(siblings) > MAX_LISTED:
        return "see docs/spec.md for those there are"
    return f"expected {', '.join(siblings)}"


def list_paths(shape: type[BaseModel]) -> Iterator[str]:
    """Yield the paths of the fields within a shape's objects, such as groups[].fee."""
    for name, field in shape.model_fields.items():
        inner = shape_of_field(field.annotation)
        if inner is not None:
            is_list = "list[" in str(field.annotation)
            yield from (
                f"{name}{'[]' * is_list}.{inner_name}"
                for inner_name in inner.model_fields
            )


def drop_wrong_fields(raw: Any, error: ValidationError, shape: type[BaseModel]) -> Any:
    """Return a copy of a document without its wrong fields.

    A required name that is wrong is replaced by a unique one that begins with `FRESH`.
    """
    mended = deepcopy(raw)
    errors = enumerate(error.errors(include_url=False))
    # From the last error on: removing an item of a list moves only later ones.
    for position, detail in reversed(list(errors)):
        place = tuple(part for part in detail["loc"] if part != KEY)
        holder: Any = mended
        for part in place[:-1]:
            holder = holder[part]
        last, fresh = place[-1], f"{FRESH}{position}"
        known = fields_at(shape, place[:-1])
        # A wrong object in a list keeps its place, with nothing but a name.
        if isinstance(last, int) and fields_at(shape, place):
            holder[last] = {"name": fresh}
        elif isinstance(last, int):
            del holder[last]
        elif last in known and known[last].is_required():
            holder[last] = fresh
        else:
            holder.pop(last, None)
    return mended


def fields_at(shape: type[BaseModel], place: Place) -> dict[str, Any]:
    """Return the fields of the object at a path; empty if it has no shape."""
    current: type[BaseModel] | None = shape
    for part in place:
        if isinstance(part, str) and current is not None:
            field = current.model_fields.get(part)
            current = None if field is None else shape_of_field(field.annotation)
    return {} if current is None else current.model_fields


def shape_of_field(kind: Any) -> type[BaseModel] | None:
    """Return the first shape within the type of a field, or None."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    shapes = (shape_of_field(argument) for argument in get_args(kind))
    return next((shape for shape in shapes if shape is not None), None)
