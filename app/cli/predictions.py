"""The command `predict`: every row of a table under budgets."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from app.batch.budgets import parse_budget
from app.batch.predicting import PredictOrder, check_table, predict_table
from app.batch.results import PARQUET, to_csv, to_parquet
from app.cli.aims import OneAim, parse_aim
from app.cli.options import (
    Data,
    ModelFile,
    Policy,
    Prices,
    Seed,
    load_priced,
    name_option,
    output,
    parse_policy,
    warn,
)
from app.documents import files
from app.ingest import Bounds, read_table
from app.memory import available_bytes
from app.terminal.show import pull
from core.errors import Refusal, RefusedError

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
Keep = Annotated[
    list[str] | None, typer.Option(help="Column of the table to write too.")
]


def predict_rows(
    model: ModelFile,
    data: Data,
    out: Out,
    budget: Limits = None,
    budget_from: BudgetFrom = None,
    keep: Keep = None,
    policy: Policy = None,
    seed: Seed = 0,
    prices: Prices = None,
    aim: OneAim = None,
) -> None:
    if out != STDOUT:
        files.check_writable(out, "--out")
    ensemble = load_priced(model, prices).ensemble
    chosen = parse_policy(policy, ensemble)
    sought = parse_aim(aim, ensemble, chosen)
    order = PredictOrder(
        limits=parse_limits(budget, budget_from),
        budget_from=budget_from,
        keep=tuple(keep or []),
        policy=chosen,
        seed=seed,
        aim=sought,
    )
    table = read_table(data, Bounds(memory=available_bytes()))
    checked = check_table(ensemble, table, order, name_option)
    warn(checked.warnings)
    laid = pull(predict_table(ensemble, checked, order), "prediction")
    write_table(out, laid, len(checked.kept))
    if out != STDOUT:
        output.print(f"wrote {laid.num_rows} rows to {escape(str(out))}")


def write_table(out: Path, laid: Any, n_kept: int) -> None:
    """Write predictions as the ending of the file says; CSV unless it is Parquet's."""
    if out == STDOUT:
        sys.stdout.write(to_csv(laid, n_kept))
    elif out.suffix.lower() == PARQUET:
        files.write_whole(out, to_parquet(laid))
    else:
        files.write_whole(out, to_csv(laid, n_kept))


def parse_limits(budget: str | None, budget_from: str | None) -> list[int | None]:
    """Return the budgets named, each once; none where a column has them."""
    if (budget is None) == (budget_from is None):
        rule = "must be given, or else --budget-from, and not both"
        raise RefusedError([Refusal("--budget", rule)])
    if budget is None:
        return []
    named = [parse_budget(one, "--budget") for one in budget.split(",")]
    return list(dict.fromkeys(named))
