"""Jobs of the kind `learn`: a model goes on learning from labelled rows."""

import io
import json
from collections.abc import Generator
from typing import Any

from askless.app.batch.outputs import Computing, JobOutput
from askless.app.batch.predicting import BatchProgress
from askless.app.batch.sources import ColumnChoice, RowSource
from askless.app.batch.table_checks import WholeColumns
from askless.app.documents.http.jobs import LearnOrder
from askless.app.documents.shape import read_shape
from askless.core.errors import RefusedError
from askless.core.model.figures import Estimate
from askless.core.model.model import Model
from askless.core.pipeline.online.learning import Learning, LearningReport
from askless.core.pipeline.online.learning_rows import (
    check_rows_to_learn,
    list_names_read,
    read_rows_to_learn,
    refuse_names,
)
from askless.core.pipeline.online.learning_state import find_learning
from askless.core.table.columns import Columns

# Rows learnt between two reports of progress.
BLOCK_ROWS = 1 << 12


def read_learn(raw: Any, model: Model) -> LearnOrder:
    """Read an order to learn; refuse a model that can't go on learning."""
    order = read_shape(LearnOrder, raw, "")
    find_learning(model)
    return order


def choose_names(source: RowSource, model: Model) -> list[str]:
    """Return the columns of a table that learning reads."""
    names = list_names_read(model)
    known = {*names, *(name.strip() for name in names)}
    return [name for name in source.names if name in known]


def check_learnt_names(model: Model, columns: Columns, order: object) -> None:
    """Raise RefusedError for columns that the model doesn't know, or needs."""
    del order
    refusals = refuse_names([*columns], model)
    if refusals:
        raise RefusedError(refusals)


def check_learnt_rows(
    model: Model, source: RowSource, order: object = None
) -> list[str]:
    """Return warnings about a table; raise RefusedError with every broken rule."""
    del order
    columns = WholeColumns(source, choose_names(source, model))
    return check_rows_to_learn(columns, model, source.n_rows)


def learn_source(
    model: Model, source: RowSource
) -> Generator[BatchProgress, None, tuple[Model, LearningReport]]:
    """Learn all rows of a table in their order; return the model and what changed.

    Nothing is kept of a table that is refused in its midst.
    """
    learning = Learning(model)
    choice = ColumnChoice(choose_names(source, model), [])
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
    learnt, report = yield from learn_source(model, source)
    text = json.dumps(report_to_json(report))
    contents = {"json": io.BytesIO(text.encode())}
    return JobOutput(contents, report.n_rows, learnt)


def report_to_json(report: LearningReport) -> dict[str, Any]:
    """Return what rows have changed as JSON-able values."""
    errors = {
        "error": report.error,
        "recent_error_before": report.before,
        "recent_error_after": report.after,
    }
    return {
        "rows": report.n_rows,
        "rows_since_training": report.n_learnt,
        **{name: estimate_to_json(one) for name, one in errors.items()},
        "new_stumps": report.n_stumps,
        "new_features": list(report.features),
    }


def estimate_to_json(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "interval": list(estimate.interval or ())}
