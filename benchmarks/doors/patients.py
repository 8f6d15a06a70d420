"""Patients of the demo's table, as a caller would give their values."""

import csv
import json
from pathlib import Path
from typing import Any

DEMO = Path(__file__).resolve().parents[2] / "app" / "demo"
Patient = dict[str, Any]


def read_patients() -> list[Patient]:
    """Return each row: the features that have a value, and the true `label`."""
    spec = json.loads((DEMO / "heart.json").read_text(encoding="utf-8"))
    types = {one["name"]: one["type"] for one in spec["features"]}
    with (DEMO / "heart.csv").open(encoding="utf-8") as table:
        rows = [*csv.DictReader(table)]
    return [
        {name: read_cell(cell, types.get(name)) for name, cell in row.items() if cell}
        for row in rows
    ]


def read_cell(cell: str, kind: str | None) -> Any:
    if kind == "number":
        return float(cell)
    return cell == "1" if kind == "boolean" else cell
