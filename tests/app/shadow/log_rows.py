"""Logs of a few rows, and what was read of them."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askless.app.batch.shadow.held_logs import HeldLog
from askless.app.batch.shadow.log_files import (
    LogFile,
    open_log,
)
from askless.app.batch.shadow.log_parts import hold_log
from askless.app.batch.shadow.log_values import CaseRecords
from askless.app.documents.log_mapping import LogMapping
from askless.app.documents.shape import read_shape
from askless.app.documents.spec.spec import read_spec
from askless.app.uploads import Bounds
from askless.core.pipeline.spec import TrainingSpec
from askless.core.work import run_to_end

SPEC = {
    "name": "leads",
    "target": "outcome",
    "classes": {"bad": "bad", "good": "good"},
    "features": [
        {"name": "source", "type": "category", "cost": 0},
        {"name": "score", "type": "number", "min": 0, "max": 10, "group": "mail"},
        {"name": "kind", "type": "category", "group": "firm"},
        {"name": "staff", "type": "number", "group": "firm"},
        {"name": "is_new", "type": "boolean", "cost": 0.5},
    ],
    "groups": [
        {"name": "mail", "price": 1.0, "billing": "per_call"},
        {"name": "firm", "price": 2.0},
    ],
}
CALLS = {
    "layout": "calls",
    "case": "case",
    "decided_at": "decided_at",
    "decision": "decision",
    "outcome": "outcome",
    "vendor": "vendor",
    "at": "at",
    "price": "price",
}
CASES = {
    "layout": "cases",
    "case": "case",
    "decided_at": "decided_at",
    "decision": "decision",
    "order": "order",
}
DAY = "2026-03-01T10:00:"
CALL = {"case": "a", "decided_at": f"{DAY}30Z", "source": "fair", "decision": "good"}
MAIL = CALL | {"vendor": "mail", "at": f"{DAY}01Z", "price": "1", "score": "5"}
FIRM = CALL | {"vendor": "firm", "at": f"{DAY}02Z", "kind": "shop", "staff": "7"}
COLUMNS = ("case", "decided_at", "decision", "outcome", "vendor", "at", "price")
COLUMNS += ("order", "source", "score", "kind", "staff", "is_new")


def spec_of(**changes: Any) -> TrainingSpec:
    return read_spec(SPEC | changes)


def open_rows(
    folder: Path,
    rows: Sequence[Mapping[str, str]],
    mapping: Mapping[str, Any] = CALLS,
    columns: Sequence[str] = COLUMNS,
    **changes: Any,
) -> LogFile:
    """Open a log of these rows."""
    path = folder / "log.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    shape = read_shape(LogMapping, dict(mapping), "mapping")
    return open_log(path, spec_of(**changes), shape, Bounds())


def hold(folder: Path, *more: Any, **changes: Any) -> HeldLog:
    """Read a log of some rows."""
    return run_to_end(hold_log(open_rows(folder, *more, **changes), folder))


def problems_of(held: HeldLog) -> dict[str, int]:
    return {p.kind: p.n_times for p in held.log.problems.finish()}


def words_of(held: HeldLog) -> str:
    return "; ".join(problem.words for problem in held.log.problems.finish())


def read_all(held: HeldLog) -> CaseRecords:
    return held.read(np.arange(held.n_cases))


def rows_of(held: HeldLog) -> list[int]:
    """Return the first row of each case that counts."""
    return read_all(held)["row"].tolist()


def orders_of(held: HeldLog) -> list[list[int]]:
    return read_all(held)["orders"].tolist()


def targets_of(held: HeldLog) -> list[str]:
    return held.to_targets(read_all(held))


def columns_of(held: HeldLog) -> dict[str, list[Any]]:
    """Return the columns of the cases that count; None for nothing."""
    columns = held.to_columns(read_all(held))
    return {
        name: [None if cell is None or cell != cell else cell for cell in column]
        for name, column in columns.items()
    }
