"""Commands that say how good a model is: evaluate, report."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from app.charts import NamedCurve
from app.cli.aims import SeveralAims, parse_aims
from app.cli.options import (
    STOP,
    Data,
    Delta,
    Disagreement,
    ModelFile,
    Policy,
    Seed,
    largest_budget,
    output,
    parse_budget,
    parse_policy,
    parser_of,
    read_values,
)
from app.documents import files
from app.documents.bodies import models as bodies
from app.terminal import figures, show
from app.terminal.report import report_page
from core.errors import Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.model.model import Curve, Model
from core.model.rows import check_targets
from core.parameters import Parameter
from core.pipeline.budgets import usual_budgets
from core.session.curves import Endings, draw_curve, play_rows
from core.session.early import EarlyPoint, evaluate_early
from core.session.figures import find_figures
from core.session.policies import default_policy
from core.session.purchases import find_purchases
from core.session.state import Aim, StopRule
from core.table.columns import read_row_groups, read_weights, unknown_column
from core.table.dataset import Dataset
from core.table.spec import TableSpec

# Rows of which a report says what they are asked for.
MAX_PURCHASERS = 2000

THRESHOLD = Parameter("threshold", float, None, least=0.0, most=1.0)
Threshold = Annotated[
    float | None,
    typer.Option(
        parser=parser_of(THRESHOLD),
        help="Least chance of the positive class that counts as positive; "
        "by default the label that sessions say.",
    ),
]
Budgets = Annotated[
    str | None, typer.Option(help="Such as 2,4,inf; else those of the model's curve.")
]
Weight = Annotated[
    str | None, typer.Option(help="Column of the table: how much each row counts.")
]
GroupBy = Annotated[
    str | None, typer.Option(help="Column of the table: rows that belong together.")
]


@dataclass(frozen=True)
class Conditions:
    """What rows are played under: as in `evaluate`."""

    budgets: list[int | None]
    policy: str | None = None
    seed: int = 0
    aims: list[Aim | None] | None = None


def evaluate_model(
    model: ModelFile,
    data: Data,
    budgets: Budgets = None,
    policy: Policy = None,
    seed: Seed = 0,
    disagreement: Disagreement = None,
    delta: Delta = STOP["delta"].default,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    aim: SeveralAims = None,
    threshold: Threshold = None,
    weight: Weight = None,
    group_by: GroupBy = None,
) -> None:
    stored = files.load_model(model)
    ensemble, unit = stored.ensemble, stored.ensemble.catalogue.cost_unit
    check_threshold(threshold, ensemble)
    if aim and disagreement is not None:
        rule = "must be left out beside --aim"
        raise RefusedError([Refusal("--disagreement", rule)])
    chosen = parse_policy(policy, ensemble)
    limits = pick_limits("inf" if aim and budgets is None else budgets, stored)
    limits, aims = parse_aims(aim or [], limits, ensemble, chosen)
    table = TableSpec(stored.target, weight=weight, group_by=group_by)
    dataset = read_labelled(data, stored, table, largest_budget(limits))
    played = Conditions(limits, chosen, seed, aims)
    curve = measure_rows(ensemble, dataset, played, threshold)
    early = None
    if disagreement is not None:
        stop = StopRule(disagreement=disagreement, delta=delta)
        early = evaluate_early(ensemble, dataset, limits, stop, chosen, seed)
    if as_json:
        asks = {"policy": list_policies(ensemble, chosen, limits, aims)}
        told = asks | curve_json(curve, unit, aim or [], early)
        sys.stdout.write(json.dumps(told) + "\n")
        return
    output.print(show.curve_table(curve, unit, aim or []))
    output.print(figures.figures_table(curve, ensemble, threshold, aim or []))
    if early is not None:
        output.print(show.early_table(early, unit))


def report_model(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML to write.")],
    data: Annotated[
        Path | None, typer.Argument(help="Rows with classes, to be measured too.")
    ] = None,
    budgets: Budgets = None,
    weight: Weight = None,
    group_by: GroupBy = None,
) -> None:
    files.check_writable(out, "--out")
    stored, tested = files.load_model(model), None
    limits = [] if budgets is None else pick_limits(budgets, stored)
    if data is not None:
        played = Conditions(limits or pick_limits(None, stored))
        table = TableSpec(stored.target, weight=weight, group_by=group_by)
        dataset = read_labelled(data, stored, table, largest_budget(played.budgets))
        curve = measure_rows(stored.ensemble, dataset, played)
        few = dataset.take(slice(None, None, -(-dataset.n_samples // MAX_PURCHASERS)))
        bought = find_purchases(stored.ensemble, few, played.budgets)
        purchases = tuple(map(tuple, bought.tolist()))
        tested = NamedCurve(data.name, replace(curve, purchases=purchases))
    files.write_whole(out, report_page(stored, limits, tested))
    output.print(f"wrote {escape(str(out))}")


def curve_json(
    curve: Curve, unit: str, aims: list[str], early: list[EarlyPoint] | None
) -> dict[str, Any]:
    """Return what a program reads of the figures."""
    told = bodies.Curve.of(curve, unit=unit).model_dump(exclude={"unit"})
    told |= {"aims": aims} if aims else {}
    if early is not None:
        told["early"] = [
            bodies.EarlyPoint.of(one, one.certificate).model_dump() for one in early
        ]
    return told


def check_threshold(threshold: float | None, ensemble: Ensemble) -> None:
    if threshold is not None and ensemble.n_outputs > 1:
        rule = "must be left out: it parts two classes, and the model has more"
        raise RefusedError([Refusal("--threshold", rule)])


def pick_limits(budgets: str | None, stored: Model) -> list[int | None]:
    """Return the budgets named, else those of the model's curve or the usual ones."""
    if budgets is not None:
        return [parse_budget(one, "--budgets") for one in budgets.split(",")]
    if stored.curve is not None:
        return list(stored.curve.budgets)
    return list(usual_budgets(stored.ensemble))


def measure_rows(
    ensemble: Ensemble,
    dataset: Dataset,
    played: Conditions,
    threshold: float | None = None,
) -> Curve:
    """Return the curve of a table's rows, with its figures."""
    ends = play_conditions(ensemble, dataset, played)
    curve = draw_curve(dataset, played.budgets, ends)
    assert ends.scored is not None, "models of files are of one class per row"
    found = find_figures(ensemble, ends.scored, threshold)
    return replace(curve, predictive=found)


def play_conditions(
    ensemble: Ensemble, dataset: Dataset, played: Conditions
) -> Endings:
    """Play a table's rows."""
    return play_rows(
        ensemble,
        dataset,
        played.budgets,
        played.policy,
        played.seed,
        aims=played.aims,
        has_figures=True,
    )


def read_labelled(
    data: Path, stored: Model, table: TableSpec, most: int | None
) -> Dataset:
    """Read the rows of a table with their classes, weights and groups.

    `most`: see `check_values`.
    """
    ensemble = stored.ensemble
    columns, values = read_values(data, ensemble, stored.target, most)
    named = {"--weight": table.weight, "--group-by": table.group_by}
    refusals = [
        unknown_column(option, name, columns)
        for option, name in named.items()
        if name is not None and name not in columns
    ]
    weights, wrong = read_weights(columns, table, len(values))
    row_groups, broken = read_row_groups(columns, table)
    refusals += wrong + broken
    if refusals:
        raise RefusedError(refusals)
    return Dataset(
        catalogue=ensemble.catalogue,
        classes=ensemble.classes,
        values=values,
        targets=check_targets(columns, ensemble, stored.target),
        weights=weights,
        row_groups=row_groups,
    )


def list_policies(
    ensemble: Ensemble,
    chosen: str | None,
    limits: list[int | None],
    aims: list[Aim | None],
) -> str:
    """Return who asks under the budgets and aims, each once."""
    pairs = zip(limits, aims, strict=True)
    asks = (chosen or default_policy(ensemble, *pair) for pair in pairs)
    return ", ".join(dict.fromkeys(asks))
