"""Reads JSON-able values and gathers every broken rule; `codec.nodes` stops at one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar, get_args

from core.errors import Refusal, RefusedError, describe
from core.table.prices import AMOUNT_RULE, to_micros

MAX_NAME = 200

T = TypeVar("T")


class Reader:
    """Reads JSON-able values and gathers what is wrong with them.

    Each method returns a usable value even where it refuses, so that one reading
    finds every broken rule.
    """

    def __init__(self) -> None:
        self.refusals: list[Refusal] = []

    def refuse(self, where: str, rule: str, found: str = "") -> None:
        """Note a broken rule."""
        self.refusals.append(Refusal(where, rule, found))

    def finish(self) -> None:
        """Raise what was noted, if anything."""
        if self.refusals:
            raise RefusedError(self.refusals)

    def optional(
        self, read: Callable[[object, str], T], raw: object, where: str
    ) -> T | None:
        """Read a value that may be null."""
        return None if raw is None else read(raw, where)

    def mapping(
        self,
        raw: object,
        where: str,
        required: Sequence[str] = (),
        optional: Sequence[str] = (),
    ) -> dict[str, object]:
        """Read an object; without names of fields, any will do."""
        if not isinstance(raw, Mapping):
            self.refuse(where, "must be an object", describe(raw))
            return {}
        given = {str(key): value for key, value in raw.items()}
        known = (*required, *optional)
        for key in given if known else ():
            if key not in known:
                rule = f"unknown field; expected {', '.join(known)}"
                self.refuse(where, rule, repr(key))
        for key in required:
            if key not in given:
                self.refuse(f"{where}.{key}", "is required")
        return {key: value for key, value in given.items() if not known or key in known}

    def sequence(self, raw: object, where: str) -> Sequence[object]:
        """Read a list."""
        if isinstance(raw, Sequence) and not isinstance(raw, str | bytes):
            return raw
        self.refuse(where, "must be a list", describe(raw))
        return ()

    def text(self, raw: object, where: str, least: int = 1) -> str:
        """Read a string of reasonable length."""
        if not isinstance(raw, str):
            self.refuse(where, "must be a string", describe(raw))
            return ""
        if not least <= len(raw) <= MAX_NAME:
            rule = f"must have {least} to {MAX_NAME} characters"
            self.refuse(where, rule, f"{len(raw)} characters")
        return raw

    def label(self, raw: object, where: str) -> str:
        """Read a class label; a number or boolean stands for its text."""
        if isinstance(raw, bool):
            return str(raw).lower()
        if isinstance(raw, int | Decimal):
            return str(raw)
        return self.text(raw, where)

    def amount(self, raw: object, where: str) -> int:
        """Read an amount of money into micro-units."""
        try:
            if isinstance(raw, str):
                raise ValueError(AMOUNT_RULE)
            return to_micros(raw)
        except ValueError as error:
            self.refuse(where, str(error), describe(raw))
            return 0

    def choice(self, raw: object, where: str, literal: object) -> Any:
        """Read one of the strings of a `Literal`."""
        choices = get_args(literal)
        if raw not in choices:
            self.refuse(where, f"must be one of {', '.join(choices)}", describe(raw))
            return choices[0]
        return raw

    def integer(self, raw: object, where: str, least: int, most: int) -> int:
        """Read an integer within bounds."""
        is_integer = isinstance(raw, int) and not isinstance(raw, bool)
        if not is_integer or not least <= raw <= most:  # type: ignore[operator]  # an int by then
            rule = f"must be an integer from {least} to {most}"
            self.refuse(where, rule, describe(raw))
            return least
        return int(raw)  # type: ignore[call-overload, no-any-return]  # an int by then

    def number(self, raw: object, where: str, least: float, most: float) -> float:
        """Read a finite number within bounds."""
        is_number = isinstance(raw, int | float | Decimal) and not isinstance(raw, bool)
        try:
            value = float(raw) if is_number else math.nan  # type: ignore[arg-type]  # a number by then
        except OverflowError:
            # An integer that no double holds is out of all bounds.
            value = math.nan
        if not least <= value <= most:
            rule = f"must be a number from {least:g} to {most:g}"
            self.refuse(where, rule, describe(raw))
            return least
        return value


@dataclass(frozen=True, slots=True)
class Section:
    """An object within a document; a field left out is as in `default`."""

    reader: Reader
    given: Mapping[str, object]
    where: str
    default: object

    def find(self, field: str) -> tuple[object, str]:
        """Give a field, and where it stands."""
        raw = self.given.get(field, getattr(self.default, field))
        return raw, f"{self.where}.{field}"

    def choice(self, field: str, literal: object) -> Any:
        """Read one of the strings of a `Literal`."""
        return self.reader.choice(*self.find(field), literal)

    def integer(self, field: str, least: int, most: int) -> int:
        """Read an integer within bounds."""
        return self.reader.integer(*self.find(field), least, most)

    def number(self, field: str, least: float, most: float) -> float:
        """Read a finite number within bounds."""
        return self.reader.number(*self.find(field), least, most)


def or_else(raw: object, default: object) -> object:
    """Give the default for null."""
    return default if raw is None else raw
