"""Jobs of the kind `predict`: each row of a table is predicted under its budget."""

from contextlib import ExitStack
from tempfile import TemporaryFile

from askless.app.batch.outputs import TABLES, Computing, JobOutput
from askless.app.batch.predicting import (
    PredictOrder,
    check_source,
    plan_prediction,
    refuse_unknown,
    write_predictions,
)
from askless.app.batch.sources import RowSource
from askless.app.batch.writing import open_stream
from askless.core.model.model import Model
from askless.core.table.columns import Columns


def check_prediction(model: Model, source: RowSource, order: PredictOrder) -> list[str]:
    work = plan_prediction(model.ensemble, source, order, str)
    return check_source(source, work)


def check_predicted_names(model: Model, columns: Columns, order: PredictOrder) -> None:
    del model
    refuse_unknown(columns, order, str)


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
