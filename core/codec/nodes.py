"""Reads a JSON-able document field by field; refuses the first that is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.errors import Refusal, RefusedError

MAX_MICROS = 2**62
MAX_FLOAT = float(np.finfo(np.float64).max)

Json = dict[str, Any]


class Node:
    """An object within a document, read field by field; refuses what is wrong."""

    def __init__(self, raw: object, where: str) -> None:
        self.where = where
        if not isinstance(raw, Mapping):
            raise RefusedError([Refusal(where, "must be an object")])
        self.raw = raw

    def require(self, is_right: bool, field: str, rule: str, found: str = "") -> None:
        """Refuse a field unless it is right."""
        if not is_right:
            raise RefusedError([Refusal(f"{self.where}.{field}", rule, found)])

    def expect_format(self, name: str, version: int) -> None:
        """Refuse another format or version."""
        self.require(self.get("format") == name, "format", f"must be {name}")
        self.require(
            self.get("version") == version,
            "version",
            f"must be {version}",
            repr(self.get("version"))[:40],
        )

    def get(self, field: str) -> Any:
        """Give a field, null where absent."""
        return self.raw.get(field)

    def node(self, field: str) -> Node:
        """Read an object."""
        return Node(self.get(field), f"{self.where}.{field}")

    def plain(self, field: str) -> Json:
        """Read an object of any fields, as long as it can be written again."""
        raw = dict(self.node(field).raw)
        self.require(is_finite(raw), field, "must have finite numbers only")
        return raw

    def items(self, field: str) -> Sequence[Any]:
        """Read a list."""
        items = self.get(field)
        self.require(isinstance(items, list), field, "must be a list")
        return items  # type: ignore[no-any-return]  # a list, as required

    def nodes(self, field: str) -> Sequence[Node]:
        """Read a list of objects."""
        return [
            Node(item, f"{self.where}.{field}[{position}]")
            for position, item in enumerate(self.items(field))
        ]

    def text(self, field: str) -> str:
        """Read a string."""
        value = self.get(field)
        self.require(isinstance(value, str), field, "must be a string")
        return str(value)

    def texts(self, field: str) -> Sequence[str]:
        """Read a list of strings."""
        items = self.items(field)
        self.require(all(isinstance(i, str) for i in items), field, "must be strings")
        return items

    def maybe(self, field: str) -> str | None:
        """Read a string or null."""
        return None if self.get(field) is None else self.text(field)

    def flag(self, field: str) -> bool:
        """Read a boolean."""
        value = self.get(field)
        self.require(isinstance(value, bool), field, "must be true or false")
        return bool(value)

    def choice(self, field: str, choices: Sequence[str]) -> Any:
        """Read one of several strings."""
        value = self.text(field)
        self.require(value in choices, field, f"must be one of {', '.join(choices)}")
        return value

    def number(self, field: str, least: float, most: float) -> float:
        """Read a finite number within bounds."""
        return check_number(self, field, self.get(field), least, most)

    def numbers(self, field: str, least: float, most: float) -> list[float]:
        """Read a list of finite numbers within bounds."""
        return [
            check_number(self, field, item, least, most) for item in self.items(field)
        ]

    def integer(self, field: str, least: int, most: int) -> int:
        """Read an integer within bounds; 3.0 is one."""
        return check_integer(self, field, self.get(field), least, most)

    def integers(self, field: str, least: int, most: int) -> list[int]:
        """Read a list of integers within bounds."""
        return [
            check_integer(self, field, item, least, most) for item in self.items(field)
        ]

    def micros(self, field: str) -> int:
        """Read an amount of money in micro-units."""
        return self.integer(field, 0, MAX_MICROS)


def is_finite(raw: Json) -> bool:
    """Whether every number within is finite, however deep it stands."""
    rest: list[object] = [raw]
    while rest:
        value = rest.pop()
        if isinstance(value, Mapping):
            rest.extend(value.values())
        elif isinstance(value, list):
            rest.extend(value)
        elif isinstance(value, float) and not math.isfinite(value):
            return False
    return True


def check_number(
    node: Node, field: str, value: object, least: float, most: float
) -> float:
    """Give a number if it is one, finite and within bounds."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    rule = f"must be a number from {least:g} to {most:g}"
    node.require(is_number and least <= value <= most, field, rule)  # type: ignore[operator]  # a number by then
    return float(value)  # type: ignore[arg-type]  # a number by then


def check_integer(node: Node, field: str, value: object, least: int, most: int) -> int:
    """Give an integer if it is one and within bounds, exact also above 2^53."""
    number = check_number(node, field, value, least, most)
    node.require(number == int(number), field, "must be an integer")
    return int(value)  # type: ignore[call-overload, no-any-return]  # a number by then
