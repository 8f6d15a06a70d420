"""The command `compare`: several models, side by side."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from askless.app.batch.budgets import largest_budget
from askless.app.batch.curves import play_conditions
from askless.app.cli.measures import (
    Budgets,
    GroupBy,
    Weight,
    choose_budgets,
    read_labelled,
)
from askless.app.cli.options import Seed, output
from askless.app.documents import files
from askless.app.documents.http import models as bodies
from askless.app.pages.models.report import render_comparison
from askless.app.terminal.show import build_table
from askless.app.words.charts.charts import NamedCurve, draw_curves
from askless.app.words.charts.svg import to_standalone
from askless.app.words.comparison import (
    ComparedModel,
    build_comparison_cells,
    explain_comparison,
    list_clashes,
)
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Curve, Model
from askless.core.simulation.blocks import Conditions
from askless.core.simulation.curves import compare_paired, make_curve
from askless.core.table.spec import TableSpec

MODEL_ENDING = ".json"

Files = Annotated[
    list[Path],
    typer.Argument(help="Two or more MODEL.json; last, if any, a table with classes."),
]


def compare_models(
    paths: Files,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Chart to write, .html or .svg.")
    ] = None,
    budgets: Budgets = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    weight: Weight = None,
    group_by: GroupBy = None,
) -> None:
    if out is not None:
        files.check_writable(out, "--out")
    data = None if paths[-1].suffix == MODEL_ENDING else paths[-1]
    models = read_named_models(paths if data is None else paths[:-1])
    limits = choose_budgets(budgets, models[0])
    if data is None:
        compared = [
            ComparedModel(model.name, require_held_out_curve(model), None)
            for model in models
        ]
    else:
        table = TableSpec(models[0].target, weight=weight, group_by=group_by)
        compared = play_models(models, data, Conditions(limits, seed=seed), table)
    unit = models[0].ensemble.catalogue.cost_unit
    where = "held-out rows of each training" if data is None else data.name
    if out is not None and out.suffix.lower() == ".svg":
        files.replace_file(out, draw_model_curves(compared, unit))
    elif out is not None:
        files.replace_file(out, render_comparison(compared, limits, unit, where))
    if as_json:
        documents = [curve_document(model, unit) for model in compared]
        sys.stdout.write(json.dumps(documents) + "\n")
        return
    head, rows = build_comparison_cells(compared, limits, unit)
    # Intervals go below their figures, so that more models fit.
    high = [tuple(cell.replace(" (", "\n(") for cell in row) for row in rows]
    title, notes = f"Error against budget: {where}", explain_comparison(compared)
    output.print(build_table(title, (head, high), notes=notes))
    if out is not None:
        output.print(f"wrote {escape(str(out))}")


def draw_model_curves(compared: list[ComparedModel], unit: str) -> str:
    curves = [NamedCurve(model.name, model.curve) for model in compared]
    return to_standalone(draw_curves(curves, unit))


def read_named_models(paths: list[Path]) -> list[Model]:
    """Read models that can be compared; equal names are replaced by file names."""
    if len(paths) < 2:
        rule = f"must be two or more, each a file that ends in {MODEL_ENDING}"
        raise RefusedError([Refusal("models", rule, str(len(paths)))])
    models = [files.load_model(path) for path in paths]
    refusals = [
        Refusal(f"{path}: {clash.name}", f"must be as in {paths[0]}", repr(clash.other))
        for path, model in zip(paths, models, strict=True)
        for clash in list_clashes(models[0], model)
    ]
    if refusals:
        raise RefusedError(refusals)
    if len({model.name for model in models}) == len(models):
        return models
    return [
        replace(model, name=path.stem)
        for path, model in zip(paths, models, strict=True)
    ]


def require_held_out_curve(model: Model) -> Curve:
    """Return the curve of a model's own held-out rows."""
    if model.curve is None:
        rule = "must have a curve; without one give a table with classes as well"
        raise RefusedError([Refusal(model.name, rule)])
    return model.curve


def play_models(
    models: list[Model], data: Path, played: Conditions, table: TableSpec
) -> list[ComparedModel]:
    """Play the same rows with each model; differences are from the first."""
    played_models: list[ComparedModel] = []
    first = None
    for model in models:
        most = largest_budget(played.budgets)
        dataset = read_labelled(data, model, table, most)
        ends = play_conditions(model.ensemble, dataset, played)
        curve = make_curve(dataset, played.budgets, ends)
        gaps = None if first is None else compare_paired(dataset, ends, first)
        played_models.append(ComparedModel(model.name, curve, gaps))
        first = first or ends
    return played_models


def curve_document(model: ComparedModel, unit: str) -> dict[str, object]:
    """Return a model's curve and differences as JSON-able values."""
    curve = bodies.Curve.of(model.curve, unit=unit).model_dump(exclude={"predictive"})
    gaps = None
    if model.differences is not None:
        gaps = [bodies.Estimate.of(gap).model_dump() for gap in model.differences]
    return {"name": model.name, "curve": curve, "difference": gaps}
