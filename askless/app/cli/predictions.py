"""The command `predict`: every row of a table under budgets."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from askless.app.batch.budgets import parse_budget
from askless.app.batch.predicting import (
    PredictOrder,
    PredictWork,
    WrittenRows,
    order_text_columns,
    plan_prediction,
    write_predictions,
)
from askless.app.batch.sources import RowSource, open_rows
from askless.app.batch.writing import open_result, open_stdout
from askless.app.cli.aims import OneAim, parse_aim
from askless.app.cli.options import (
    AcceptUnseen,
    ModelFile,
    Policy,
    Prices,
    RowProcesses,
    Seed,
    Spending,
    Table,
    load_priced_model,
    option_name,
    output,
    parse_policy,
    print_warnings,
)
from askless.app.documents import files
from askless.app.processes.memory import available_bytes
from askless.app.terminal.bar import run_with_bar
from askless.app.uploads import Bounds
from askless.app.uploads.places import parse_source
from askless.app.words.wording import money
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble

STDOUT = Path("-")


Out = Annotated[
    Path,
    typer.Option("--out", "-o", help="CSV to write, or .parquet; -: standard output."),
]
Limits = Annotated[
    str | None, typer.Option(help="Most to spend per case, or inf; such as 20,60.")
]
BudgetFrom = Annotated[
    str | None, typer.Option(help="Column of the table with each row's budget.")
]
ExactBudget = Annotated[
    bool,
    typer.Option(
        "--exact-budget",
        help="Spend a budget although the curve says that a smaller one does as well.",
    ),
]
Keep = Annotated[
    list[str] | None, typer.Option(help="Column of the table to write too.")
]


def predict_rows(
    model: ModelFile,
    data: Table,
    out: Out,
    budget: Limits = None,
    budget_from: BudgetFrom = None,
    keep: Keep = None,
    policy: Policy = None,
    seed: Seed = 0,
    prices: Prices = None,
    aim: OneAim = None,
    processes: RowProcesses = 1,
    exact_budget: ExactBudget = False,
    spend: Spending = "worthwhile",
    accept_unseen: AcceptUnseen = False,
) -> None:
    if out != STDOUT:
        files.check_writable(out, "--out")
    stored = load_priced_model(model, prices)
    ensemble = stored.ensemble
    chosen = parse_policy(policy, ensemble)
    parsed_aim = parse_aim(aim, ensemble, chosen)
    order = PredictOrder(
        limits=parse_limits(budget, budget_from),
        budget_from=budget_from,
        keep=tuple(keep or []),
        policy=chosen,
        seed=seed,
        aim=parsed_aim,
        # At other prices its budgets buy something else.
        curve=None if exact_budget or prices is not None else stored.curve,
        spend="all" if exact_budget else spend,
        accept_unseen=accept_unseen,
    )
    bounds = Bounds(memory=available_bytes())
    source = open_rows(parse_source(data), order_text_columns(ensemble, order), bounds)
    work = plan_prediction(ensemble, source, order, option_name)
    written = write_rows(source, work, out, processes)
    print_warnings([*written.warnings, *note_smaller_budgets(order, ensemble)])
    if out != STDOUT:
        output.print(f"wrote {written.n_rows} rows to {escape(str(out))}")


def write_rows(
    source: RowSource, work: PredictWork, out: Path, processes: int
) -> WrittenRows:
    """Predict the rows of a table and write them to a file as they come."""
    n_kept = len(work.order.keep)
    with open_stdout(n_kept) if out == STDOUT else open_result(out, n_kept) as file:
        shared = source.share(processes)
        writing = write_predictions(shared, work, [file], processes)
        return run_with_bar(writing, "prediction")


def note_smaller_budgets(order: PredictOrder, ensemble: Ensemble) -> list[str]:
    """Return notes on budgets that were replaced by smaller ones as good."""
    unit, notes = ensemble.catalogue.cost_unit, []
    everything = replace(order, spend="all")
    for limit in order.limits:
        used = order.choose_budget(ensemble, limit)
        if used == limit:
            continue
        is_better = everything.choose_budget(ensemble, limit) == used
        why = "errs less" if is_better else "does as well"
        # At other prices nothing was measured.
        where = "on held-out rows" if ensemble.measured else "by training's prices"
        notes.append(
            f"budget {name_budget(limit, unit)}: predicted under "
            f"{name_budget(used, unit)}, which {why} {where}; --exact-budget spends it"
        )
    return notes


def name_budget(budget: int | None, unit: str) -> str:
    return "inf" if budget is None else money(budget, unit)


def parse_limits(budget: str | None, budget_from: str | None) -> list[int | None]:
    """Return the budgets named, each once; () if a column has them."""
    if (budget is None) == (budget_from is None):
        rule = "must be given, or else --budget-from, and not both"
        raise RefusedError([Refusal("--budget", rule)])
    if budget is None:
        return []
    named = [parse_budget(text, "--budget") for text in budget.split(",")]
    return list(dict.fromkeys(named))
