"""The kinds of jobs that apply a model to a table: a new kind is one entry."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from askless.app.batch import evaluate_jobs, learn_jobs, orders, predict_jobs
from askless.app.batch.labelled import columns_with_text
from askless.app.batch.outputs import Computing
from askless.app.batch.predicting import order_text_columns
from askless.app.batch.sources import RowSource
from askless.app.documents.http import jobs as bodies
from askless.core.model.model import Model
from askless.core.table.columns import Columns


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
        read=orders.read_predict,
        text_columns=lambda model, order: order_text_columns(model.ensemble, order),
        check_names=predict_jobs.check_predicted_names,
        check_rows=predict_jobs.check_prediction,
        compute=predict_jobs.compute_predictions,
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
        read=orders.read_evaluate,
        text_columns=lambda model, _: columns_with_text(model),
        check_names=evaluate_jobs.check_labelled_names,
        check_rows=evaluate_jobs.check_measuring,
        compute=evaluate_jobs.compute_measures,
        order=bodies.EvaluateOrder,
        call=bodies.EvaluateCall,
        operation_id="evaluate_model",
        summary="Measure a model on labelled rows",
        description="Check a labelled table and enqueue the job that measures error "
        "and spend.\n\nAs for `predict`; the result is also had as JSON.",
    ),
    "learn": TableKind(
        read=learn_jobs.read_learn,
        text_columns=lambda model, _: columns_with_text(model),
        check_names=learn_jobs.check_learnt_names,
        check_rows=learn_jobs.check_learnt_rows,
        compute=learn_jobs.compute_learning,
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
