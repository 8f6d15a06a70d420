"""Every row of a table as a session under a budget, or under several."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from app.batch.budgets import Naming, largest_budget, parse_budget
from app.batch.results import Predictions, join_predictions, lay_out
from app.ingest import to_columns
from core.arrays import FloatArray, IntArray
from core.errors import RefusedError
from core.model.ensemble import Ensemble
from core.model.rows import check_rows
from core.session.probability import decide
from core.session.simulate import class_probabilities, walk
from core.session.state import Aim
from core.table.columns import Columns, as_text, cell_refusal, unknown_column
from core.table.prices import MAX_UNITS

# Rows played between two signs of progress.
CHUNK = 2000


class BudgetShare(NamedTuple):
    """Rows that are played under one budget."""

    #: in micro-units; None: unlimited
    limit: int | None
    #: positions in the table
    rows: IntArray


class BatchProgress(NamedTuple):
    """How much of a table is done, 0 to 1."""

    share: float


Predicting = Generator[BatchProgress, None, Any]


@dataclass(frozen=True)
class PredictOrder:
    """What the rows of a table are predicted under, and what is written beside."""

    #: in micro-units, each once; none where a column has them
    limits: list[int | None]
    budget_from: str | None = None
    keep: tuple[str, ...] = ()
    policy: str | None = None
    seed: int = 0
    aim: Aim | None = None


@dataclass(frozen=True)
class CheckedRows:
    """A table that was found fit for an order, ready to be played."""

    values: FloatArray
    shares: list[BudgetShare]
    kept: dict[str, Any]
    warnings: list[str]


def check_table(
    ensemble: Ensemble, table: Any, order: PredictOrder, naming: Naming
) -> CheckedRows:
    """Check a table, as `app.ingest.read_table` gives it, against model and order."""
    named = [] if order.budget_from is None else [order.budget_from]
    columns = to_columns(table, [*text_columns(ensemble), *named])
    refuse_unknown(columns, order, naming)
    shares = share_rows(columns, order)
    most = largest_budget([share.limit for share in shares])
    values, warnings = check_rows(columns, ensemble, most)
    kept = {name: table.column(name) for name in order.keep}
    return CheckedRows(values, shares, kept, warnings)


def predict_table(
    ensemble: Ensemble, checked: CheckedRows, order: PredictOrder
) -> Predicting:
    """Play every row; comes to the arrow table of predictions."""
    parts: list[Predictions] = []
    n_rows, n_done = sum(len(share.rows) for share in checked.shares), 0
    for limit, rows in checked.shares:
        for start in range(0, len(rows), CHUNK):
            some = BudgetShare(limit, rows[start : start + CHUNK])
            parts.append(predict_share(ensemble, checked.values, some, order))
            n_done += len(some.rows)
            yield BatchProgress(n_done / n_rows)
    is_long = order.budget_from is not None or len(order.limits) > 1
    return lay_out(join_predictions(parts), ensemble, checked.kept, is_long)


def predict_share(
    ensemble: Ensemble, values: FloatArray, share: BudgetShare, order: PredictOrder
) -> Predictions:
    """Play rows under one budget."""
    limit, rows = share
    walks = walk(
        ensemble,
        values[rows],
        [limit],
        order.policy,
        order.seed,
        needs_ranks=True,
        streams=rows.tolist(),
        aims=[order.aim],
    )
    chances = class_probabilities(ensemble, walks)[:, 0]
    return Predictions(
        rows=rows,
        budgets=[limit] * len(rows),
        labels=decide(ensemble, chances),
        chances=chances,
        spent=walks.spent[:, 0],
        ranks=walks.ranks,
    )


def refuse_unknown(columns: Columns, order: PredictOrder, naming: Naming) -> None:
    """Refuse an order that names columns which the table does not have."""
    named = [(naming("keep"), name) for name in order.keep]
    if order.budget_from is not None:
        named.append((naming("budget_from"), order.budget_from))
    refusals = [
        unknown_column(option, name, columns)
        for option, name in named
        if name not in columns
    ]
    if refusals:
        raise RefusedError(refusals)


def share_rows(columns: Columns, order: PredictOrder) -> list[BudgetShare]:
    """Return each budget with its rows: all of them, or those that a column says."""
    if order.budget_from is None:
        every = np.arange(len(next(iter(columns.values()))))
        return [BudgetShare(limit, every) for limit in order.limits]
    cells, wrong = as_text(columns[order.budget_from]), list[int]()
    rows_by_limit: dict[int | None, list[int]] = {}
    for row, cell in enumerate(cells):
        try:
            limit = parse_budget(cell or "", order.budget_from)
        except RefusedError:
            wrong.append(row)
        else:
            rows_by_limit.setdefault(limit, []).append(row)
    if wrong:
        rule = f"must be an amount from 0 to {MAX_UNITS}, or inf for no limit"
        rows = np.array(wrong, np.int64)
        raise RefusedError([cell_refusal(order.budget_from, rule, rows, cells)])
    return [BudgetShare(limit, np.array(rows)) for limit, rows in rows_by_limit.items()]


def text_columns(ensemble: Ensemble) -> list[str]:
    """Return the columns whose cells are wanted as written."""
    return [f.name for f in ensemble.catalogue.features if f.type != "number"]
