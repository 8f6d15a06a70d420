"""Predictions of many rows as a table, written as CSV or Parquet."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from core.arrays import FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.table.prices import from_micros

PARQUET = ".parquet"

# Figures that have a value and an interval.
MEASURED = (
    *("auroc", "log_loss", "brier", "calibration_error"),
    *("sensitivity", "specificity", "expected_cost"),
)

# Of chances and amounts in a CSV.
DECIMALS = 6


class BudgetColumns(NamedTuple):
    """Which columns of budgets a result has."""

    #: where rows may have several, or another one than the next row
    budget: bool = False
    #: where one is not the one that was named
    budget_used: bool = False


class Predictions(NamedTuple):
    """How the sessions of some rows end, each under its budget."""

    #: positions in the table; as the rest (n_sessions, ...)
    rows: IntArray
    #: in micro-units; None: unlimited
    budgets: list[int | None]
    #: what was played under, where a smaller budget does as well
    budgets_used: list[int | None]
    labels: IntArray
    #: (n_sessions, n_classes)
    chances: FloatArray
    #: in micro-units
    spent: IntArray
    #: (n_sessions, n_features); the order of asking, 0: not asked
    ranks: IntArray


def join_predictions(parts: Sequence[Predictions]) -> Predictions:
    """Put parts together in the order of the table, budgets as they were named."""
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(rows, kind="stable")
    budgets = [budget for part in parts for budget in part.budgets]
    used = [budget for part in parts for budget in part.budgets_used]

    def joined(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    return Predictions(
        rows=rows[order],
        budgets=[budgets[place] for place in order],
        budgets_used=[used[place] for place in order],
        labels=joined("labels"),
        chances=joined("chances"),
        spent=joined("spent"),
        ranks=joined("ranks"),
    )


def lay_out(
    predicted: Predictions,
    ensemble: Ensemble,
    kept: Mapping[str, Any],
    shown: BudgetColumns,
) -> Any:
    """Return an arrow table; budgets without a limit are inf.

    Kept columns come first, with `_in_table` behind a name that predictions have too.
    """
    names = [feature.name for feature in ensemble.catalogue.features]
    labels, chances = predicted.labels, predicted.chances
    told: dict[str, Any] = {}
    if shown.budget:
        told["budget"] = lay_budgets(predicted.budgets)
    if shown.budget_used:
        told["budget_used"] = lay_budgets(predicted.budgets_used)
    said = [ensemble.classes[label].label for label in labels]
    told["label"] = pa.array(said, pa.string())
    told["probability"] = np.take_along_axis(chances, labels[:, None], axis=1)[:, 0]
    spends = [from_micros(spent) for spent in predicted.spent.tolist()]
    told["spend"] = pa.array(spends, pa.float64())
    told["features"] = pa.array(
        [[names[idx] for idx in list_asked(ranks)] for ranks in predicted.ranks],
        pa.list_(pa.string()),
    )
    for position, one in enumerate(ensemble.classes):
        told[f"probability_{one.label}"] = chances[:, position]
    first = {
        f"{name}_in_table" if name in told else name: spell(column).take(predicted.rows)
        for name, column in kept.items()
    }
    return pa.table(first | told)


def lay_budgets(budgets: Sequence[int | None]) -> Any:
    """Return budgets in units as a column."""
    amounts = [np.inf if one is None else from_micros(one) for one in budgets]
    return pa.array(amounts, pa.float64())


def spell(column: Any) -> Any:
    """Return a column without a dictionary, which would be another in each block."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def lay_out_curve(told: Mapping[str, Any]) -> Any:
    """Return the figures of `curve_json` as an arrow table, a row for each budget."""
    columns: dict[str, Any] = {"aim": told["aims"]} if "aims" in told else {}
    columns["budget"] = [np.inf if one is None else one for one in told["budgets"]]
    for name in ("error", "error_calibrated", "mean_spend", "max_spend"):
        columns[name] = told[name]
    figures = told["predictive"] or []
    for name in MEASURED:
        found = [one[name] for one in figures]
        if any(found):
            columns[name] = [one and one["value"] for one in found]
            bounds = [(one and one["interval"]) or (None, None) for one in found]
            columns[f"{name}_low"], columns[f"{name}_high"] = (
                pa.array(side, pa.float64()) for side in zip(*bounds, strict=True)
            )
    return pa.table(columns)


def list_asked(ranks: IntArray) -> list[int]:
    """Return the features that were asked, in order; ranks (n_features,)."""
    order = np.argsort(ranks, kind="stable")
    return [int(idx) for idx in order[ranks[order] > 0]]


def to_csv(table: Any, n_kept: int) -> str:
    """Return CSV; the first `n_kept` columns are as the table had them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(csv_rows(table, n_kept))
    return text.getvalue()


def csv_rows(table: Any, n_kept: int) -> Iterator[tuple[Any, ...]]:
    """Return the cells of each row as CSV has them."""
    columns = []
    for position, (name, cells) in enumerate(table.to_pydict().items()):
        if position >= n_kept:
            cells = [say_cell(cell, name.startswith("probability")) for cell in cells]
        columns.append(cells)
    return zip(*columns, strict=True)


def say_cell(cell: Any, is_chance: bool) -> str:
    """Return a cell of a prediction as CSV has it."""
    if isinstance(cell, list):
        return ";".join(cell)
    if cell is None:
        return ""
    if isinstance(cell, float):
        text = f"{cell:.{DECIMALS}f}"
        return text if is_chance else text.rstrip("0").rstrip(".")
    return str(cell)


def to_parquet(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content
