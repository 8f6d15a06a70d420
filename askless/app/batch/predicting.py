"""Predict every row of a table as a session under one or several budgets."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from askless.app.batch.budgets import Naming, largest_budget, parse_budget
from askless.app.batch.results import (
    BudgetColumns,
    Predictions,
    join_predictions,
    predictions_to_arrow,
)
from askless.app.batch.sources import ColumnChoice, PartReader, RowSource
from askless.app.batch.table_checks import (
    list_needed_columns,
    list_text_columns,
    refuse_rows,
    refuse_unseen_rows,
)
from askless.app.batch.writing import ResultFile
from askless.app.processes.pool import map_in_processes
from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.prices import MAX_UNITS
from askless.core.errors import RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Curve
from askless.core.model.rows import (
    UnseenNames,
    check_block,
    empty_refusals,
    find_unseen,
    warn_unseen,
)
from askless.core.session.probability import decide_label
from askless.core.session.spending import compute_limit
from askless.core.session.state import Aim, Spend
from askless.core.simulation.simulate import class_probabilities, simulate
from askless.core.table.columns import (
    Columns,
    cell_refusal,
    to_text_cells,
    unknown_column,
)

# Rows played between two reports of progress.
CHUNK = 2048
# Stands for a column whose name alone is known.
NO_CELLS = np.empty(0)


class BudgetShare(NamedTuple):
    """The rows that are played under one budget."""

    #: in micro-units; None: unlimited
    limit: int | None
    #: positions in the block
    rows: IntArray


class BatchProgress(NamedTuple):
    """The share of a table that is done, 0 to 1."""

    share: float


class WrittenRows(NamedTuple):
    """The number of rows written, and warnings for the caller."""

    n_rows: int
    warnings: list[str]


@dataclass(frozen=True)
class PredictOrder:
    """The budgets and options of a prediction, and columns to keep beside it."""

    #: in micro-units, each once; none where a column has them
    limits: list[int | None]
    budget_from: str | None = None
    keep: tuple[str, ...] = ()
    policy: str | None = None
    seed: int = 0
    aim: Aim | None = None
    #: if a smaller budget does as well by this curve, rows are played under that one;
    #: None: under the budgets as given
    curve: Curve | None = None
    spend: Spend = "worthwhile"
    #: whether most cells of a column may be unseen in training
    accept_unseen: bool = False

    def choose_budget(self, ensemble: Ensemble, limit: int | None) -> int | None:
        """Return the budget to play under: at most `limit`, and as good by the curve.

        The curve does not apply if a policy or an aim is named. Of what it leaves, the
        part is played that sessions spend by themselves.
        """
        if self.curve is not None and self.policy is None and self.aim is None:
            limit = self.curve.best_budget(limit)
        return compute_limit(ensemble, limit, self.aim, self.spend, self.policy)

    @property
    def has_budget_column(self) -> bool:
        """Whether the result has a column of budgets, as rows have different ones."""
        return self.budget_from is not None or len(self.limits) > 1


@dataclass(frozen=True)
class PredictWork:
    """Predicts parts of a table, in any process."""

    ensemble: Ensemble
    order: PredictOrder
    #: the most that may be spent, in micro-units; None: no limit
    most: int | None
    #: whether some rows are played under a smaller budget than the one given
    is_chosen: bool = False

    def play(self, reader: PartReader) -> Iterator["PredictedRows"]:
        """Predict the rows of a part, `CHUNK` at a time."""
        part = reader.read()
        block = check_block(part.columns, self.ensemble, self.most)
        for start in range(0, part.n_rows, CHUNK):
            rows = slice(start, start + CHUNK)
            columns = {name: column[rows] for name, column in part.columns.items()}
            values, kept = block.values[rows], part.kept.slice(start, CHUNK)
            shares = assign_rows_to_budgets(columns, len(values), self.order)
            parts = [
                play_rows_of_budget(self, values, share, part.start + start)
                for share in shares
            ]
            table = predictions_to_arrow(
                join_predictions(parts),
                self.ensemble,
                dict(zip(kept.column_names, kept.columns, strict=True)),
                BudgetColumns(self.order.has_budget_column, self.is_chosen),
            )
            unseen = find_unseen(columns, self.ensemble, values.T)
            yield PredictedRows(table, len(values), unseen)


class PredictedRows(NamedTuple):
    """Predictions of some rows: an arrow table, and cells to warn about."""

    table: Any
    n_rows: int
    unseen: UnseenNames


def plan_prediction(
    ensemble: Ensemble, source: RowSource, order: PredictOrder, naming: Naming
) -> PredictWork:
    """Check names and budgets; cells are checked as rows are played."""
    refuse_unknown_columns(dict.fromkeys(source.names, NO_CELLS), order, naming)
    if not source.n_rows:
        raise RefusedError(empty_refusals(0))
    if not order.accept_unseen:
        refuse_unseen_rows(source, ensemble, naming("accept_unseen"))
    limits = collect_budgets(source, order)
    is_chosen = any(order.choose_budget(ensemble, limit) != limit for limit in limits)
    return PredictWork(ensemble, order, largest_budget(limits), is_chosen)


def order_text_columns(ensemble: Ensemble, order: PredictOrder) -> frozenset[str]:
    """Return the columns whose cells are read as text."""
    named = [] if order.budget_from is None else [order.budget_from]
    return frozenset([*list_text_columns(ensemble), *named])


def columns_to_predict(source: RowSource, work: PredictWork) -> ColumnChoice:
    """Return the columns of a table that predicting reads."""
    named = [] if work.order.budget_from is None else [work.order.budget_from]
    names = list_needed_columns(work.ensemble, source.names)
    return ColumnChoice(list(dict.fromkeys(names + named)), list(work.order.keep))


def collect_budgets(source: RowSource, order: PredictOrder) -> list[int | None]:
    """Return each budget once; read them from a column if one has them."""
    if order.budget_from is None:
        return order.limits
    choice, limits = ColumnChoice([order.budget_from], []), dict[int | None, None]()
    try:
        for number in range(len(source.spans)):
            part = source.part(number, choice).read()
            shares = assign_rows_to_budgets(part.columns, part.n_rows, order)
            limits |= dict.fromkeys(share.limit for share in shares)
    except RefusedError:
        # Refuse it again, with row numbers of the whole table.
        assign_rows_to_budgets(source.whole(choice.names), source.n_rows, order)
        raise
    return list(limits)


def predict_parts(
    source: RowSource, work: PredictWork, n_processes: int = 1
) -> Iterator[PredictedRows]:
    """Predict every row; raises RefusedError with every broken rule of the table.

    Some rows may be yielded before the refusal.
    """
    choice = columns_to_predict(source, work)
    readers = (source.part(span_idx, choice) for span_idx in range(len(source.spans)))
    try:
        yield from map_in_processes(work.play, readers, n_processes)
    except RefusedError:
        # Refuse it again, with row numbers of the whole table.
        refuse_rows(source, work.ensemble, work.most)
        raise


def check_cells(source: RowSource, work: PredictWork) -> list[str]:
    """Check all rows unplayed; return warnings, or raise RefusedError."""
    choice, ensemble = columns_to_predict(source, work), work.ensemble
    unseen = UnseenNames()
    try:
        for number in range(len(source.spans)):
            part = source.part(number, choice).read()
            unseen += check_block(part.columns, ensemble, work.most).unseen
    except RefusedError:
        # Refuse it again, with row numbers of the whole table.
        refuse_rows(source, ensemble, work.most)
        raise
    return warn_unseen(ensemble, unseen)


def write_predictions(
    source: RowSource,
    work: PredictWork,
    files: Sequence[ResultFile],
    n_processes: int = 1,
) -> Generator[BatchProgress, None, WrittenRows]:
    """Predict every row and write it to files; yield the share that is done."""
    unseen = UnseenNames()
    n_done = n_written = 0
    for predicted in predict_parts(source, work, n_processes):
        for file in files:
            file.add(predicted.table)
        unseen += predicted.unseen
        n_done += predicted.n_rows
        n_written += predicted.table.num_rows
        yield BatchProgress(n_done / source.n_rows)
    return WrittenRows(n_written, warn_unseen(work.ensemble, unseen))


def play_rows_of_budget(
    work: PredictWork, values: FloatArray, share: BudgetShare, n_before: int
) -> Predictions:
    """Play rows of a block under one budget; `n_before` rows come before the block."""
    limit, rows = share
    played = work.order.choose_budget(work.ensemble, limit)
    walks = simulate(
        work.ensemble,
        values[rows],
        [played],
        work.order.policy,
        work.order.seed,
        needs_ranks=True,
        streams=(n_before + rows).tolist(),
        aims=[work.order.aim],
        spend=work.order.spend,
    )
    chances = class_probabilities(work.ensemble, walks)[:, 0]
    return Predictions(
        rows=rows,
        budgets=[limit] * len(rows),
        budgets_used=[played] * len(rows),
        labels=decide_label(work.ensemble, chances),
        chances=chances,
        spent=walks.spent[:, 0],
        ranks=walks.ranks,
    )


def refuse_unknown_columns(
    columns: Columns, order: PredictOrder, naming: Naming
) -> None:
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


def assign_rows_to_budgets(
    columns: Columns, n_rows: int, order: PredictOrder
) -> list[BudgetShare]:
    """Return each budget with its rows: all rows, or those that a column assigns."""
    if order.budget_from is None:
        return [BudgetShare(limit, np.arange(n_rows)) for limit in order.limits]
    cells, wrong_rows = to_text_cells(columns[order.budget_from]), list[int]()
    rows_by_limit: dict[int | None, list[int]] = {}
    for row, cell in enumerate(cells):
        try:
            limit = parse_budget(cell or "", order.budget_from)
        except RefusedError:
            wrong_rows.append(row)
        else:
            rows_by_limit.setdefault(limit, []).append(row)
    if wrong_rows:
        rule = f"must be an amount from 0 to {MAX_UNITS}, or inf for no limit"
        rows = np.array(wrong_rows, np.int64)
        raise RefusedError([cell_refusal(order.budget_from, rule, rows, cells)])
    return [BudgetShare(limit, np.array(rows)) for limit, rows in rows_by_limit.items()]
