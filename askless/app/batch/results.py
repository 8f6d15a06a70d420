"""Predictions of many rows as an arrow table, as CSV and as Parquet."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.prices import from_micros
from askless.core.model.ensemble import Ensemble

PARQUET = ".parquet"

# Figures that have a value and a confidence interval.
MEASURED = (
    *("auroc", "log_loss", "brier", "calibration_error"),
    *("sensitivity", "specificity", "expected_cost"),
    *("precision", "recall"),
)

# Decimals of probabilities and amounts in a CSV.
DECIMALS = 6


class BudgetColumns(NamedTuple):
    """Which columns with budgets a result has."""

    #: if not all rows have the same budget
    budget: bool = False
    #: if some rows were played under a smaller budget than the one given
    budget_used: bool = False


class Predictions(NamedTuple):
    """The final predictions of sessions, one for each row and budget."""

    #: (n_sessions,), positions in the table
    rows: IntArray
    #: in micro-units; None: unlimited
    budgets: list[int | None]
    #: the budgets played under: a smaller one may do as well
    budgets_used: list[int | None]
    labels: IntArray
    #: (n_sessions, n_classes)
    chances: FloatArray
    #: in micro-units
    spent: IntArray
    #: (n_sessions, n_features); the order of asking, 0: not asked
    ranks: IntArray


def join_predictions(parts: Sequence[Predictions]) -> Predictions:
    """Join parts in the order of the table; budgets keep the order given."""
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(rows, kind="stable")
    budgets = [budget for part in parts for budget in part.budgets]
    used = [budget for part in parts for budget in part.budgets_used]

    def join_sorted(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    return Predictions(
        rows=rows[order],
        budgets=[budgets[place] for place in order],
        budgets_used=[used[place] for place in order],
        labels=join_sorted("labels"),
        chances=join_sorted("chances"),
        spent=join_sorted("spent"),
        ranks=join_sorted("ranks"),
    )


def predictions_to_arrow(
    predicted: Predictions,
    ensemble: Ensemble,
    kept: Mapping[str, Any],
    shown: BudgetColumns,
) -> Any:
    """Convert predictions to an arrow table; an unlimited budget is inf.

    `kept` columns come first; `_in_table` is added to a name that predictions have too.
    """
    names = [feature.name for feature in ensemble.catalogue.features]
    labels, chances = predicted.labels, predicted.chances
    columns: dict[str, Any] = {}
    if shown.budget:
        columns["budget"] = budgets_to_arrow(predicted.budgets)
    if shown.budget_used:
        columns["budget_used"] = budgets_to_arrow(predicted.budgets_used)
    names_of_classes = [ensemble.classes[label].label for label in labels]
    columns["label"] = pa.array(names_of_classes, pa.string())
    columns["probability"] = np.take_along_axis(chances, labels[:, None], axis=1)[:, 0]
    spends = [from_micros(spent) for spent in predicted.spent.tolist()]
    columns["spend"] = pa.array(spends, pa.float64())
    columns["features"] = pa.array(
        [[names[idx] for idx in list_asked(ranks)] for ranks in predicted.ranks],
        pa.list_(pa.string()),
    )
    for position, label in enumerate(ensemble.classes):
        columns[f"probability_{label.label}"] = chances[:, position]
    first = {
        f"{name}_in_table" if name in columns else name: drop_dictionary(column).take(
            predicted.rows
        )
        for name, column in kept.items()
    }
    return pa.table(first | columns)


def budgets_to_arrow(budgets: Sequence[int | None]) -> Any:
    """Convert budgets to an arrow column of units; None becomes inf."""
    amounts = [np.inf if budget is None else from_micros(budget) for budget in budgets]
    return pa.array(amounts, pa.float64())


def drop_dictionary(column: Any) -> Any:
    """Return a column without its dictionary, which would differ between blocks."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def curve_to_arrow(document: Mapping[str, Any]) -> Any:
    """Convert a document of `curve_json` to an arrow table, a row for each budget."""
    columns: dict[str, Any] = {"aim": document["aims"]} if "aims" in document else {}
    columns["budget"] = [
        np.inf if limit is None else limit for limit in document["budgets"]
    ]
    for name in ("error", "error_calibrated", "mean_spend", "max_spend"):
        columns[name] = document[name]
    figures = [
        figure | (figure["rare"] or {}) for figure in document["predictive"] or []
    ]
    if any(figure["rare"] for figure in figures):
        columns["threshold"] = [figure.get("threshold") for figure in figures]
    for name in MEASURED:
        values = [figure.get(name) for figure in figures]
        # A figure that no budget has gets no columns.
        if any(values):
            columns[name] = [value and value["value"] for value in values]
            bounds = [(value and value["interval"]) or (None, None) for value in values]
            columns[f"{name}_low"], columns[f"{name}_high"] = (
                pa.array(side, pa.float64()) for side in zip(*bounds, strict=True)
            )
    return pa.table(columns)


def list_asked(ranks: IntArray) -> list[int]:
    """Return the features that were asked, in order; ranks (n_features,)."""
    order = np.argsort(ranks, kind="stable")
    return [int(idx) for idx in order[ranks[order] > 0]]


def to_csv(table: Any, n_kept: int) -> str:
    """Return a table as CSV; the first `n_kept` columns are not formatted."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(csv_rows(table, n_kept))
    return text.getvalue()


def csv_rows(table: Any, n_kept: int) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a table, cells formatted for CSV."""
    columns = []
    for position, (name, cells) in enumerate(table.to_pydict().items()):
        if position >= n_kept:
            cells = [
                format_cell(cell, name.startswith("probability")) for cell in cells
            ]
        columns.append(cells)
    return zip(*columns, strict=True)


def format_cell(cell: Any, is_chance: bool) -> str:
    """Return a cell of a prediction, formatted for CSV."""
    if isinstance(cell, list):
        return ";".join(cell)
    if cell is None:
        return ""
    if isinstance(cell, float):
        text = f"{cell:.{DECIMALS}f}"
        return text if is_chance else text.rstrip("0").rstrip(".")
    return str(cell)


def to_parquet(table: Any) -> bytes:
    """Return a table as the content of a Parquet file."""
    # Loaded where it is needed: most tables are CSV.
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content
