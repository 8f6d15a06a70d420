"""Commands that measure a model: evaluate, report."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from askless.app.batch.budgets import largest_budget, parse_budget
from askless.app.batch.curves import (
    budgets_of_curve,
    check_threshold,
    curve_json,
    describe_asking,
    measure_rows,
)
from askless.app.batch.labelled import columns_with_text, label_table
from askless.app.batch.measuring import (
    EvaluateOrder,
    MeasuredTable,
    measure_source,
    plan_measuring,
)
from askless.app.batch.sources import open_rows
from askless.app.cli.aims import SeveralAims, parse_aims
from askless.app.cli.options import (
    CALLS_AT_ONCE,
    STOP,
    AcceptUnseen,
    CallsAtOnce,
    Delta,
    Disagreement,
    ModelFile,
    Policy,
    RowProcesses,
    Seed,
    Spending,
    Table,
    ValueOfSecond,
    option_name,
    output,
    parse_policy,
    parser_of,
    print_warnings,
    read_values,
)
from askless.app.documents import files
from askless.app.processes.memory import available_bytes
from askless.app.terminal import show
from askless.app.terminal.bar import run_with_bar
from askless.app.uploads import Bounds
from askless.app.uploads.places import parse_source
from askless.app.words.charts.charts import NamedCurve
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.parameters import Parameter
from askless.core.session.state import StopRule
from askless.core.simulation.blocks import Conditions
from askless.core.simulation.purchases import measure_purchases
from askless.core.table.dataset import Dataset
from askless.core.table.spec import TableSpec

if TYPE_CHECKING:
    from askless.app.batch.timed import TimeTerms

# Most rows for which a report counts how often features are asked.
MAX_PURCHASERS = 2000

Latencies = Annotated[
    Path | None,
    typer.Option(help="A log of calls: the vendor of each, and its seconds."),
]
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


def evaluate_model(
    model: ModelFile,
    data: Table,
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
    processes: RowProcesses = 1,
    spend: Spending = "worthwhile",
    value_of_second: ValueOfSecond = 0.0,
    latencies: Latencies = None,
    calls_at_once: CallsAtOnce = CALLS_AT_ONCE.default,
    accept_unseen: AcceptUnseen = False,
) -> None:
    stored = files.load_model(model)
    ensemble, unit = stored.ensemble, stored.ensemble.catalogue.cost_unit
    check_threshold(threshold, ensemble, "--threshold")
    if aim and disagreement is not None:
        rule = "must be left out beside --aim"
        raise RefusedError([Refusal("--disagreement", rule)])
    chosen = parse_policy(policy, ensemble)
    limits = choose_budgets("inf" if aim and budgets is None else budgets, stored)
    limits, aims = parse_aims(aim or [], limits, ensemble, chosen)
    table = TableSpec(stored.target, weight=weight, group_by=group_by)
    played = Conditions(limits, chosen, seed, aims, spend)
    if latencies is not None or value_of_second:
        beside = {"--disagreement": disagreement, "--threshold": threshold}
        for name, given in beside.items():
            if given is not None:
                rule = "must be left out beside --value-of-second"
                raise RefusedError([Refusal(name, rule)])
        terms = read_terms(stored, latencies, value_of_second, calls_at_once)
        source = parse_source(data)
        if isinstance(source, str):
            rule = "must be a file beside --value-of-second"
            raise RefusedError([Refusal("DATA", rule)])
        dataset = read_labelled(source, stored, table, largest_budget(limits))
        show_timed(stored.ensemble, dataset, played, terms, as_json=as_json)
        return
    early = None
    if disagreement is not None:
        early = StopRule(disagreement=disagreement, delta=delta, spend=spend)
    order = EvaluateOrder(
        *(played, table, threshold, tuple(aim or ()), early, as_json, accept_unseen)
    )
    measured = measure_file(parse_source(data), stored, order, processes)
    if as_json:
        asking = describe_asking(ensemble, played, measured.lists)
        document = asking | curve_json(measured.curve, unit, aim or [], measured.early)
        sys.stdout.write(json.dumps(document) + "\n")
        return
    show_measured(measured, ensemble, order)


def show_measured(
    measured: MeasuredTable, ensemble: Ensemble, order: EvaluateOrder
) -> None:
    """Print tables of the figures."""
    unit = ensemble.catalogue.cost_unit
    # What was asked for comes first: the other tables are of sessions without stops.
    if measured.early is not None:
        output.print(show.build_early_table(measured.early, unit))
        output.print("Without early stops:")
    output.print(show.build_curve_table(measured.curve, unit, order.aims))
    if measured.curve.predictive is not None:
        table = show.build_figures_table(
            measured.curve, ensemble, order.threshold, order.aims
        )
        output.print(table)


def measure_file(
    source: Path | str, stored: Model, order: EvaluateOrder, processes: int
) -> MeasuredTable:
    """Measure the rows of a file part by part, and print warnings."""
    bounds = Bounds(memory=available_bytes())
    rows = open_rows(source, columns_with_text(stored), bounds)
    work = plan_measuring(stored, rows, order, option_name)
    shared = rows.share(processes)
    measuring = measure_source(shared, work, order, option_name, processes)
    measured = run_with_bar(measuring, "evaluation")
    print_warnings(measured.warnings)
    return measured


def read_terms(
    stored: Model, path: Path | None, value_of_second: float, at_once: int
) -> "TimeTerms":
    """Return what seconds cost, and how long the calls of a log took."""
    # Loaded where it is needed, as below: few calls measure time.
    from askless.app.batch.timed import TimeTerms, read_latencies

    if path is None or not value_of_second:
        rule = "must be given, both or none of the two"
        raise RefusedError([Refusal("--value-of-second, --latencies", rule)])
    bounds = Bounds(memory=available_bytes())
    latencies = read_latencies(path, stored.ensemble.catalogue, bounds)
    return TimeTerms(value_of_second, at_once, latencies)


def show_timed(
    ensemble: Ensemble,
    dataset: Dataset,
    played: Conditions,
    terms: "TimeTerms",
    *,
    as_json: bool,
) -> None:
    """Play rows in time, and print money and seconds, by calls at once."""
    from askless.app.batch.timed import play_timed, timed_json

    work = play_timed(ensemble, dataset, played, terms)
    figures = run_with_bar(work, "evaluation")
    if as_json:
        sys.stdout.write(json.dumps(timed_json(figures, terms)) + "\n")
        return
    unit = ensemble.catalogue.cost_unit
    output.print(show.build_timed_table(figures, terms.value_of_second, unit))


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
    # Loaded where it is needed: `evaluate` draws no page.
    from askless.app.pages.models.report import render_report

    files.check_writable(out, "--out")
    stored, tested = files.load_model(model), None
    limits = [] if budgets is None else choose_budgets(budgets, stored)
    if data is not None:
        played = Conditions(limits or choose_budgets(None, stored))
        table = TableSpec(stored.target, weight=weight, group_by=group_by)
        dataset = read_labelled(data, stored, table, largest_budget(played.budgets))
        curve = measure_rows(stored.ensemble, dataset, played)
        few = dataset.take(slice(None, None, -(-dataset.n_samples // MAX_PURCHASERS)))
        bought = measure_purchases(stored.ensemble, few, played.budgets)
        purchases = tuple(tuple(purchase.shares.tolist()) for purchase in bought)
        tested = NamedCurve(data.name, replace(curve, purchases=purchases))
    files.replace_file(out, render_report(stored, limits, tested))
    output.print(f"wrote {escape(str(out))}")


def choose_budgets(budgets: str | None, stored: Model) -> list[int | None]:
    """Return the budgets named, else those of the model's curve or the usual ones."""
    if budgets is not None:
        return [parse_budget(text, "--budgets") for text in budgets.split(",")]
    return budgets_of_curve(stored)


def read_labelled(
    data: Path, stored: Model, table: TableSpec, most: int | None
) -> Dataset:
    """Read a table's rows with classes, weights and groups (`check_values`)."""
    columns, values = read_values(data, stored.ensemble, stored.target, most)
    return label_table(columns, values, stored, table, option_name)
