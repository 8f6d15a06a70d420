"""The kinds of jobs that apply a model to a table: a new kind is one entry.

How each kind checks an order, and what it computes, stands here too.
"""

import io
import json
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

from pydantic import BaseModel

from askless.app.batch import orders
from askless.app.batch.budgets import Naming
from askless.app.batch.curves import curve_json, describe_asking
from askless.app.batch.labelled import check_options, columns_with_text
from askless.app.batch.measuring import (
    EvaluateOrder,
    check_labelled,
    measure_source,
    plan_measuring,
)
from askless.app.batch.outputs import TABLES, Computing, JobOutput
from askless.app.batch.predicting import (
    BatchProgress,
    PredictOrder,
    check_cells,
    order_text_columns,
    plan_prediction,
    refuse_unknown_columns,
    write_predictions,
)
from askless.app.batch.results import curve_to_arrow, to_csv, to_parquet
from askless.app.batch.sources import ColumnChoice, RowSource
from askless.app.batch.table_checks import WholeColumns, refuse_unseen_rows
from askless.app.batch.writing import open_stream
from askless.app.documents.http import jobs as bodies
from askless.app.documents.http.jobs import LearnOrder
from askless.app.documents.shape import read_shape
from askless.core.catalogue.prices import from_micros
from askless.core.errors import RefusedError
from askless.core.model.figures import Estimate
from askless.core.model.model import Model
from askless.core.pipeline.online.learning import Learning, LearningReport
from askless.core.pipeline.online.learning_rows import (
    check_learning_names,
    check_rows_to_learn,
    list_names_read,
    read_rows_to_learn,
)
from askless.core.pipeline.online.learning_state import get_learning
from askless.core.table.columns import Columns, unknown_column

# Rows learnt between two reports of progress.
BLOCK_ROWS = 1 << 12


def parse_learn_order(raw: Any, model: Model) -> LearnOrder:
    """Read an order to learn; refuse a model that can't go on learning."""
    order = read_shape(LearnOrder, raw, "")
    get_learning(model)
    return order


def columns_to_learn(source: RowSource, model: Model) -> list[str]:
    """Return the columns of a table that learning reads."""
    names = list_names_read(model)
    known = {*names, *(name.strip() for name in names)}
    return [name for name in source.names if name in known]


def check_names_to_learn(model: Model, columns: Columns, order: object) -> None:
    """Raise RefusedError for columns that the model doesn't know, or needs."""
    del order
    refusals = check_learning_names([*columns], model)
    if refusals:
        raise RefusedError(refusals)


def check_rows_of_table(
    model: Model, source: RowSource, order: LearnOrder, naming: Naming = str
) -> list[str]:
    """Return warnings about a table; raise RefusedError with every broken rule."""
    if not order.accept_unseen:
        option = naming("accept_unseen")
        refuse_unseen_rows(source, model.ensemble, option, is_learnt=True)
    columns = WholeColumns(source, columns_to_learn(source, model))
    return check_rows_to_learn(columns, model, source.n_rows)


def learn_all_rows(
    model: Model, source: RowSource
) -> Generator[BatchProgress, None, tuple[Model, LearningReport]]:
    """Learn all rows of a table in their order; return the model and what changed.

    Nothing is kept of a table that is refused in its midst.
    """
    learning = Learning(model)
    choice = ColumnChoice(columns_to_learn(source, model), [])
    for number in range(len(source.spans)):
        part = source.part(number, choice).read()
        rows = read_rows_to_learn(part.columns, model, part.n_rows)
        for start in range(0, rows.targets.size, BLOCK_ROWS):
            learning.learn(rows.take(slice(start, start + BLOCK_ROWS)))
            done = part.start + min(start + BLOCK_ROWS, part.n_rows)
            yield BatchProgress(done / source.n_rows)
    return learning.finish()


def compute_learning(model: Model, source: RowSource, order: object) -> Computing:
    """Learn all rows; the result is the model with a report in JSON."""
    del order
    learnt, report = yield from learn_all_rows(model, source)
    text = json.dumps(report_to_json(report))
    contents = {"json": io.BytesIO(text.encode())}
    return JobOutput(contents, report.n_rows, learnt)


def report_to_json(report: LearningReport) -> dict[str, Any]:
    """Return the report of a learning as JSON-able values."""
    errors = {
        "error": report.error,
        "recent_error_before": report.before,
        "recent_error_after": report.after,
    }
    return {
        "rows": report.n_rows,
        "rows_since_training": report.n_learnt,
        **{name: estimate_to_json(value) for name, value in errors.items()},
        "new_stumps": report.n_stumps,
        "new_features": list(report.features),
        "under_budgets": [
            {
                "budget": None if under.budget is None else from_micros(under.budget),
                "error": estimate_to_json(under.error),
                "recent_error_after": estimate_to_json(under.recent),
            }
            for under in report.under_budgets
        ],
    }


def estimate_to_json(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "interval": list(estimate.interval or ())}


def check_prediction(model: Model, source: RowSource, order: PredictOrder) -> list[str]:
    work = plan_prediction(model.ensemble, source, order, str)
    return check_cells(source, work)


def check_predicted_names(model: Model, columns: Columns, order: PredictOrder) -> None:
    del model
    refuse_unknown_columns(columns, order, str)


def compute_predictions(
    model: Model, source: RowSource, order: PredictOrder
) -> Computing:
    """Write the predictions of all rows to temporary files, one for each format."""
    work = plan_prediction(model.ensemble, source, order, str)
    with ExitStack() as stack:
        # Temporary files have no name, so they vanish with this process.
        streams = {form: stack.enter_context(TemporaryFile()) for form in TABLES}
        with ExitStack() as writing:
            files = [
                writing.enter_context(
                    open_stream(stream, len(order.keep), is_csv=form == "csv")
                )
                for form, stream in streams.items()
            ]
            written = yield from write_predictions(source, work, files)
        stack.pop_all()
    return JobOutput(streams, written.n_rows)


def check_evaluation(
    model: Model, source: RowSource, order: EvaluateOrder
) -> list[str]:
    return check_labelled(source, plan_measuring(model, source, order, str), str)


def check_labelled_names(model: Model, columns: Columns, order: EvaluateOrder) -> None:
    """Raise RefusedError for each column that the order names and the table lacks."""
    del model
    table = order.table
    refusals = check_options(columns, table, str)
    if table.target not in columns and table.target.strip() not in columns:
        refusals.append(unknown_column("target", table.target, columns))
    if refusals:
        raise RefusedError(refusals)


def compute_evaluation(
    model: Model, source: RowSource, order: EvaluateOrder
) -> Computing:
    """Measure all rows; the result is the curve of error and spend against budget."""
    ensemble, aims = model.ensemble, list(order.aims)
    work = plan_measuring(model, source, order, str)
    measured = yield from measure_source(source, work, order, str)
    asking = describe_asking(ensemble, order.played, measured.lists)
    unit = ensemble.catalogue.cost_unit
    curve = asking | curve_json(measured.curve, unit, aims, measured.early)
    table = curve_to_arrow(curve)
    contents = {
        "json": json.dumps(curve).encode(),
        "csv": to_csv(table, int(bool(aims))).encode(),
        "parquet": to_parquet(table),
    }
    streams = {form: io.BytesIO(content) for form, content in contents.items()}
    return JobOutput(streams, table.num_rows)


@dataclass(frozen=True)
class TableKind:
    """One kind of job. `order` below is what `read` returns."""

    #: (order as it was sent, model) -> order; raises RefusedError
    read: Callable[[Any, Model], Any]
    #: (model, order) -> the columns whose cells are read as text
    text_columns: Callable[[Model, Any], frozenset[str]]
    #: (model, columns without cells, order): raises RefusedError for missing columns
    check_names: Callable[[Model, Columns, Any], None]
    #: (model, rows, order) -> warnings; raises RefusedError
    check_rows: Callable[[Model, RowSource, Any], Iterable[str]]
    #: (model, rows, order) -> progress, and at the end the result
    compute: Callable[[Model, RowSource, Any], Computing]
    #: the order in a form with a table, and the JSON that names a dataset
    order: type[BaseModel]
    call: type[BaseModel]
    #: of its route, `POST /models/{id}/{kind}`
    operation_id: str
    summary: str
    description: str
    #: Whether the next version of the model comes of it. The order may then have rows
    #: in JSON, and jobs of one name go on from each other, one at a time.
    makes_version: bool = False


TABLE_KINDS: dict[str, TableKind] = {
    "predict": TableKind(
        read=orders.parse_predict_order,
        text_columns=lambda model, order: order_text_columns(model.ensemble, order),
        check_names=check_predicted_names,
        check_rows=check_prediction,
        compute=compute_predictions,
        order=bodies.PredictOrder,
        call=bodies.PredictCall,
        operation_id="predict_table",
        summary="Predict the rows of a table",
        description="Check a table and enqueue the job that plays each row under its "
        "budget.\n\nThe table is uploaded with the order (multipart), or was before "
        "(JSON with its\n`dataset_id`). Nothing is bought: the ledger has no entries "
        "of it.",
    ),
    "evaluate": TableKind(
        read=orders.parse_evaluate_order,
        text_columns=lambda model, _: columns_with_text(model),
        check_names=check_labelled_names,
        check_rows=check_evaluation,
        compute=compute_evaluation,
        order=bodies.EvaluateOrder,
        call=bodies.EvaluateCall,
        operation_id="evaluate_model",
        summary="Measure a model on labelled rows",
        description="Check a labelled table and enqueue the job that measures error "
        "and spend.\n\nAs for `predict`; the result is also had as JSON.",
    ),
    "learn": TableKind(
        read=parse_learn_order,
        text_columns=lambda model, _: columns_with_text(model),
        check_names=check_names_to_learn,
        check_rows=check_rows_of_table,
        compute=compute_learning,
        order=bodies.LearnOrder,
        call=bodies.LearnCall,
        operation_id="learn_rows",
        summary="Go on learning from labelled rows",
        description="Check rows and enqueue the job that learns them, and makes the "
        "next version.\n\nThe rows are JSON, a form with a table, or a stored dataset. "
        "A bare name goes on\nfrom its newest version, an id or `name@version` from "
        "that one. All rows are learnt\nor none; the version before stays.",
        makes_version=True,
    ),
}
