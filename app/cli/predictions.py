"""The command `predict`: every row of a table under budgets."""

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from app.cli.aims import OneAim, parse_aim
from app.cli.options import (
    Data,
    ModelFile,
    Policy,
    Prices,
    Seed,
    check_values,
    largest_budget,
    load_priced,
    output,
    parse_budget,
    parse_policy,
    text_columns,
)
from app.documents import files
from app.ingest import read_table, to_columns
from app.memory import available_bytes
from app.terminal.predicted import (
    PARQUET,
    Predictions,
    join_predictions,
    lay_out,
    to_csv,
    to_parquet,
)
from core.arrays import FloatArray, IntArray
from core.errors import Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.session.probability import decide
from core.session.simulate import class_probabilities, walk
from core.session.state import Aim
from core.table.columns import (
    Columns,
    as_text,
    cell_refusal,
    unknown_column,
)
from core.table.prices import MAX_UNITS

STDOUT = Path("-")

# Limits, each with the rows that are played under it.
Shares = list[tuple[int | None, IntArray]]


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
    limits = parse_limits(budget, budget_from)
    table = read_table(data, available_bytes())
    text = [*text_columns(ensemble), *([budget_from] if budget_from else [])]
    columns = to_columns(table, text)
    refuse_unknown(columns, keep or [], budget_from)
    shares = share_rows(limits, columns, budget_from)
    values = check_values(columns, ensemble, largest_budget([one for one, _ in shares]))
    predicted = join_predictions(
        [
            predict_part(ensemble, values, share, chosen, seed, sought)
            for share in shares
        ]
    )
    is_long = budget_from is not None or len(limits) > 1
    kept = {name: table.column(name) for name in keep or []}
    laid = lay_out(predicted, ensemble, kept, is_long)
    write_table(out, laid, len(kept))
    if out != STDOUT:
        output.print(f"wrote {len(predicted.labels)} rows to {escape(str(out))}")


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


def refuse_unknown(columns: Columns, keep: list[str], budget_from: str | None) -> None:
    """Refuse options that name columns which the table does not have."""
    named = [("--keep", name) for name in keep]
    named += [("--budget-from", budget_from)] if budget_from is not None else []
    refusals = [
        unknown_column(option, name, columns)
        for option, name in named
        if name not in columns
    ]
    if refusals:
        raise RefusedError(refusals)


def share_rows(
    limits: list[int | None], columns: Columns, budget_from: str | None
) -> Shares:
    """Return each budget with its rows: all of them, or those that a column says."""
    if budget_from is None:
        every = np.arange(len(next(iter(columns.values()))))
        return [(limit, every) for limit in limits]
    cells, wrong = as_text(columns[budget_from]), list[int]()
    rows_by_limit: dict[int | None, list[int]] = {}
    for row, cell in enumerate(cells):
        try:
            limit = parse_budget(cell or "", budget_from)
        except RefusedError:
            wrong.append(row)
        else:
            rows_by_limit.setdefault(limit, []).append(row)
    if wrong:
        rule = f"must be an amount from 0 to {MAX_UNITS}, or inf for no limit"
        raise RefusedError([cell_refusal(budget_from, rule, wrong, cells)])
    return [(limit, np.array(rows)) for limit, rows in rows_by_limit.items()]


def predict_part(
    ensemble: Ensemble,
    values: FloatArray,
    share: tuple[int | None, IntArray],
    policy: str | None,
    seed: int,
    aim: Aim | None,
) -> Predictions:
    """Play rows under one budget."""
    limit, rows = share
    walks = walk(
        ensemble,
        values[rows],
        [limit],
        policy,
        seed,
        needs_ranks=True,
        streams=rows.tolist(),
        aims=[aim],
    )
    chances = class_probabilities(ensemble, walks)[:, 0]
    return Predictions(
        rows=rows,
        budgets=[limit] * len(rows),
        labels=decide(ensemble, chances),
        chances=chances,
        spent=walks.spent[:, 0],
        ranks=walks.ranks,
    )
