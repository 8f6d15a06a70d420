"""Class-conditional tables in a model's document, and what must fit together in them.

They are stored as core's values; a table is one row of numbers for each cell.
"""

from collections.abc import Iterator

import numpy as np

from askless.core.errors import Refusal
from askless.core.model.ladder.asking import Worth
from askless.core.model.ladder.splits import NOWHERE, Split
from askless.core.model.ladder.tables import ROOT, PartTable, PartTables


def check_tables(
    tables: PartTables | None, n_classes: int, where: str
) -> Iterator[Refusal]:
    """Yield refusals of tables: what kernels read must be in its place."""
    if tables is None:
        return
    for idx, cuts in enumerate(tables.cuts):
        if (np.diff(cuts) <= 0).any():
            yield Refusal(f"{where}.cuts[{idx}]", "must ascend")
    n_cells = int(tables.cells.starts[-1])
    for number, part in enumerate(tables.parts):
        yield from check_part(part, (n_cells, n_classes), f"{where}.parts[{number}]")
        if part.gate is not None:
            yield from check_gate(part.gate, f"{where}.parts[{number}]")
    yield from check_children(tables, where)


def check_part(
    part: PartTable, shape: tuple[int, int], where: str
) -> Iterator[Refusal]:
    """Yield refusals of one part; `shape` is that of its table."""
    n_cells, n_classes = shape
    if part.log_chances.shape != shape:
        rule = f"must be {n_cells} rows of {n_classes} numbers"
        yield Refusal(f"{where}.log_chances", rule)
    n_ways = 0 if part.gate is None else part.gate.n_parts
    if len(part.children) != n_ways:
        yield Refusal(f"{where}.children", f"must be {n_ways}, one for each way")


def check_gate(gate: Split, where: str) -> Iterator[Refusal]:
    """Yield refusals of the gate of a part."""
    idxs, points = gate.feature_idxs, gate.points.tolist()
    if not idxs or len(set(idxs)) < len(idxs):
        yield Refusal(f"{where}.gate.features", "must be different, one at least")
    is_largest = gate.kind == "largest"
    if is_largest != (len(idxs) > 1):
        rule = "is largest exactly where features are several"
        yield Refusal(f"{where}.gate.kind", rule)
    if bool(points) == is_largest or points != sorted(set(points)):
        rule = "must ascend, and be empty exactly where the kind is largest"
        yield Refusal(f"{where}.gate.points", rule)


def check_children(tables: PartTables, where: str) -> Iterator[Refusal]:
    """Yield refusals of parts that are not led to by exactly one part before them."""
    led_to = []
    for number, part in enumerate(tables.parts):
        children = [child for child in part.children if child != NOWHERE]
        if any(child <= number for child in children):
            yield Refusal(f"{where}.parts[{number}].children", "must be later parts")
        led_to += children
    if sorted(led_to) != list(range(ROOT + 1, len(tables.parts))):
        yield Refusal(f"{where}.parts", "must each be the child of one part, not 0")


def check_worth(worth: Worth, has_tables: bool, where: str) -> Iterator[Refusal]:
    """Yield refusals of the terms by which cases are asked by tables."""
    if not has_tables:
        yield Refusal(where, "is there only where the panels have tables")
    budgets = [term.least_budget for term in worth.terms]
    if budgets != sorted(set(budgets)):
        yield Refusal(f"{where}.terms", "must ascend in least_budget_micros")
