"""`compare --logged`: what models would have done on cases that were logged."""

import json
import sys
from pathlib import Path

from rich.markup import escape

from askless.app.batch.logged import read_trails
from askless.app.batch.table_checks import text_columns
from askless.app.cli.options import check_values, output
from askless.app.documents.http.models import Estimate as EstimateBody
from askless.app.processes.memory import available_bytes
from askless.app.terminal.show import figure_column, titled_table
from askless.app.uploads import Bounds, read_columns
from askless.app.words.off_policy import LoggedModel, estimate_cells, explain_estimates
from askless.core.errors import Refusal, RefusedError
from askless.core.model.figures import Estimate
from askless.core.model.model import Model
from askless.core.simulation.off_policy import (
    MEASURES,
    estimate_gaps,
    estimate_policy,
    judge_cases,
)
from askless.core.simulation.trails import SUPPORTS
from askless.core.table.prices import from_micros
from askless.core.table.spec import CASE_COLUMN


def compare_logged(
    models: list[Model], data: Path, seed: int, *, as_json: bool
) -> None:
    """Print what each model would have come to on logged cases."""
    compared = judge_models(models, data, seed)
    unit = models[0].ensemble.catalogue.cost_unit
    if as_json:
        described = [describe_model(one) for one in compared]
        n_cases = compared[0].estimate.n_cases
        document = {"cases": n_cases, "unit": unit, "models": described}
        sys.stdout.write(json.dumps(document) + "\n")
        return
    head, rows = estimate_cells(compared, unit)
    title = f"On {compared[0].estimate.n_cases} logged cases: {data.name}"
    table = titled_table(escape(title), *(figure_column(escape(one)) for one in head))
    for row in rows:
        table.add_row(*(cell.replace(" (", "\n(") for cell in row))
    told = "\n".join(explain_estimates(compared))
    table.caption, table.caption_justify = escape(told), "left"
    output.print(table)


def judge_models(models: list[Model], data: Path, seed: int) -> list[LoggedModel]:
    """Estimate each model on the same cases; differences are from the first."""
    compared: list[LoggedModel] = []
    first = None
    for model in models:
        ensemble = model.ensemble
        if ensemble.is_multilabel:
            rule = "must predict one label for each case"
            raise RefusedError([Refusal(model.name, rule)])
        text = [*text_columns(ensemble), model.target, CASE_COLUMN]
        columns = read_columns(data, text, Bounds(memory=available_bytes()))
        trails = read_trails(columns, check_values(columns, ensemble), model)
        if len(trails) < 2:
            raise RefusedError([Refusal("--logged", "must have two cases or more")])
        judged = judge_cases(ensemble, trails, seed=seed)
        gaps = None if first is None else estimate_gaps(judged, first)
        compared.append(LoggedModel(model.name, estimate_policy(judged), gaps))
        first = first or judged
    return compared


def describe_model(one: LoggedModel) -> dict[str, object]:
    """Return a model's estimates as JSON-able values."""
    found = one.estimate
    return {
        "name": one.name,
        "robust": describe_figures(found.robust),
        "weighted": describe_figures(found.weighted),
        "normalised": describe_figures(found.normalised),
        "difference": None if one.gaps is None else describe_figures(one.gaps),
        "n_effective": found.n_effective,
        "support": dict(zip(SUPPORTS, found.support, strict=True)),
        "n_explored": found.n_explored,
        "lack": found.lack,
    }


def describe_figures(figures: tuple[Estimate, ...]) -> dict[str, object]:
    """Return estimates by measure; spends in units."""
    described: dict[str, object] = {}
    for name, one in zip(MEASURES, figures, strict=True):
        shown = one
        if name == "spend" and one.interval is not None:
            figures_in_units = (one.value, *one.interval)
            value, low, high = (from_micros(round(each)) for each in figures_in_units)
            shown = Estimate(value, (low, high))
        described[name] = EstimateBody.of(shown).model_dump()
    return described
