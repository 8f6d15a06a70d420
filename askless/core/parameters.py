"""Parameters as frozen dataclasses whose fields carry range and description.

A field is `Annotated[int, Interval(ge=1, le=9), doc("What it says.")]`; whoever reads
values from outside checks them by `parameters_of`, whatever they come from.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Interval, doc

from askless.core.catalogue.prices import parse_amount
from askless.core.errors import Refusal, shorten


@dataclass(frozen=True, slots=True)
class Positive:
    """Marks an amount of money above 0: units outside, integer micro-units inside."""


Amount = Annotated[int, Positive()]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Marks a text that names an entry of a table, which may get further entries."""

    table: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A field of a dataclass: its type, range and description.

    `choices` are those of a `Literal`, or the names in a table (`OneOf`). A bound that
    is None does not bind; `above` is one that the value must exceed.
    """

    name: str
    kind: type
    default: Any
    text: str = ""
    choices: Collection[str] = ()
    least: float | None = None
    above: float | None = None
    most: float | None = None
    is_optional: bool = False
    is_amount: bool = False

    @property
    def rule(self) -> str:
        """The condition on a value, in the words of a refusal."""
        if self.choices:
            return f"must be one of {', '.join(self.choices)}"
        if self.kind is bool:
            return "must be true or false"
        noun = "an integer" if self.kind is int else "a number"
        if self.above is not None:
            return f"must be {noun} above {self.above:g}, at most {self.most:g}"
        least, most = (
            bound if self.kind is int else f"{bound:g}"
            for bound in (self.least, self.most)
        )
        return f"must be {noun} from {least} to {most}"

    def check(self, raw: object) -> Any:
        """Return a value of the field's type; raise ValueError with the broken rule."""
        if raw is None and self.is_optional:
            return None
        if self.is_amount:
            amount = parse_amount(raw)
            if amount == 0:
                raise ValueError("must be positive")
            return amount
        if self.choices or self.kind is bool:
            allowed = self.choices or (True, False)
            if type(raw) not in (str, bool) or raw not in allowed:
                raise ValueError(self.rule)
            return raw
        value = to_number(raw, self.kind)
        is_above = self.above is None or value > self.above
        least = -math.inf if self.least is None else self.least
        is_within = value >= least and (self.most is None or value <= self.most)
        if not (is_above and is_within):
            raise ValueError(self.rule)
        return value


def to_number(raw: object, kind: type) -> float:
    """Return an int or a float, NaN for anything else.

    If `kind` is int, only an int is one; NaN then fails every bound.
    """
    if kind is int:
        return raw if type(raw) is int else math.nan
    if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal):
        return math.nan
    try:
        return float(raw)
    except OverflowError:
        # An integer too large for a double is outside any bounds.
        return math.nan


@cache
def parameters_of(holder: type) -> dict[str, Parameter]:
    """Return the fields of a dataclass by name."""
    hints = get_type_hints(holder, include_extras=True)
    return {
        field.name: parameter_of_field(field.name, hints[field.name], field.default)
        for field in fields(holder)
    }


def parameter_of_field(name: str, hint: Any, default: object) -> Parameter:
    """Return the parameter that a field's annotation describes."""
    notes: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            notes += more
        elif get_origin(hint) in (Union, UnionType):
            (hint,) = (kind for kind in get_args(hint) if kind is not NoneType)
            # Stands for "may be None"; see `is_optional` below.
            notes.append(None)
        else:
            break
    interval = next((note for note in notes if isinstance(note, Interval)), Interval())
    texts = [note.documentation for note in notes if isinstance(note, doc)]
    tables = [note.table.keys() for note in notes if isinstance(note, OneOf)]
    is_literal = get_origin(hint) is Literal
    return Parameter(
        name=name,
        kind=str if is_literal else hint,
        default=None if default is MISSING else default,
        text=" ".join(texts),
        choices=get_args(hint) if is_literal else next(iter(tables), ()),
        least=interval.ge,  # type: ignore[arg-type]  # ours are numbers
        above=interval.gt,  # type: ignore[arg-type]  # ours are numbers
        most=interval.le,  # type: ignore[arg-type]  # ours are numbers
        is_optional=None in notes,
        is_amount=Positive() in notes,
    )


def check_parameters(
    holder: type, given: Mapping[str, object], where: str
) -> tuple[dict[str, Any], list[Refusal]]:
    """Return the right values of a dataclass's fields, and refusals."""
    values, refusals = {}, []
    for name, parameter in parameters_of(holder).items():
        if name not in given:
            continue
        try:
            values[name] = parameter.check(given[name])
        except ValueError as error:
            value_text = shorten(given[name])
            refusals.append(Refusal(f"{where}.{name}", str(error), value_text))
    return values, refusals
