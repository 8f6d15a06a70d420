"""Jobs of the kind `evaluate`: a model's error and spend on labelled rows."""

import io
import json

from askless.app.batch.curves import curve_json, list_policies
from askless.app.batch.labelled import refuse_options
from askless.app.batch.measuring import (
    EvaluateOrder,
    check_labelled,
    measure_source,
    plan_measuring,
)
from askless.app.batch.outputs import Computing, JobOutput
from askless.app.batch.results import curve_to_arrow, to_csv, to_parquet
from askless.app.batch.sources import RowSource
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.table.columns import Columns, unknown_column


def check_measuring(model: Model, source: RowSource, order: EvaluateOrder) -> list[str]:
    return check_labelled(source, plan_measuring(model, source, order, str), str)


def check_labelled_names(model: Model, columns: Columns, order: EvaluateOrder) -> None:
    """Raise RefusedError for each column that the order names and the table lacks."""
    del model
    table = order.table
    refusals = refuse_options(columns, table, str)
    if table.target not in columns and table.target.strip() not in columns:
        refusals.append(unknown_column("target", table.target, columns))
    if refusals:
        raise RefusedError(refusals)


def compute_measures(
    model: Model, source: RowSource, order: EvaluateOrder
) -> Computing:
    """Measure all rows; the result is the curve of error and spend against budget."""
    ensemble, aims = model.ensemble, list(order.aims)
    work = plan_measuring(model, source, order, str)
    measured = yield from measure_source(source, work, order, str)
    policies = {"policy": list_policies(ensemble, order.played)}
    unit = ensemble.catalogue.cost_unit
    curve = policies | curve_json(measured.curve, unit, aims, measured.early)
    table = curve_to_arrow(curve)
    contents = {
        "json": json.dumps(curve).encode(),
        "csv": to_csv(table, int(bool(aims))).encode(),
        "parquet": to_parquet(table),
    }
    streams = {form: io.BytesIO(content) for form, content in contents.items()}
    return JobOutput(streams, table.num_rows)
