"""The command `decide`: buy for every case of a file, without a service."""

import asyncio
import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from askless.app.buyer.journal import (
    FileCase,
    FileOrder,
    FileTally,
    Journal,
    open_journal,
)
from askless.app.cli.options import (
    CALLS_AT_ONCE,
    Budget,
    CallsAtOnce,
    Data,
    ModelFile,
    Spending,
    ValueOfSecond,
    errors,
    output,
    parser_of,
)
from askless.app.documents import files
from askless.app.documents.buying.providers import Provider
from askless.app.documents.shape import read_shape
from askless.app.documents.text import parse_json
from askless.app.processes.memory import available_bytes
from askless.app.service.buying.listing import Decision
from askless.app.service.buying.providers import CallRules, check_calls
from askless.app.service.models import CheckedModel
from askless.app.settings.environment import read_settings
from askless.app.uploads import Bounds
from askless.app.uploads.streams import read_columns
from askless.app.words.wording import money
from askless.core.catalogue.catalogue import Feature
from askless.core.catalogue.prices import from_micros
from askless.core.errors import AnswerError, Refusal, RefusedError
from askless.core.model.model import Model
from askless.core.parameters import Parameter
from askless.core.table.answer_values import parse_answer
from askless.core.table.cells import is_blank

MOST_REFUSALS = 20
DEADLINE = Parameter("deadline", float, None, least=0.1, most=86_400.0)
AT_ONCE = Parameter("at_once", int, None, least=1, most=200)
FIELDS = (
    *("label", "probability", "spend", "stop_reason", "features"),
    *("in_doubt", "receipt"),
)

Providers = Annotated[
    Path, typer.Option(help="Providers by name, JSON, as `providers init` drafts them.")
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="CSV to write; its journal lies beside it.")
]
AtOnce = Annotated[
    int, typer.Option(parser=parser_of(AT_ONCE), help="Cases that buy at a time.")
]
Deadline = Annotated[
    float | None,
    typer.Option(
        parser=parser_of(DEADLINE),
        help="Seconds after which a case ends with what is known.",
    ),
]


def decide_cases(
    model: ModelFile,
    cases: Data,
    providers: Providers,
    budget: Budget,
    out: Out,
    at_once: AtOnce = 20,
    spend: Spending = "worthwhile",
    value_of_second: ValueOfSecond = 0.0,
    deadline: Deadline = None,
    calls_at_once: CallsAtOnce = CALLS_AT_ONCE.default,
) -> None:
    files.check_writable(out, "--out")
    settings = read_settings()
    text = files.read_text(model)
    stored = files.read_model(parse_json(text, str(model)))
    rules = CallRules(settings.secrets, settings.provider_hosts)
    fillers = read_providers(providers, rules)
    table, listed = read_case_table(cases, stored, fillers)
    limit = None if budget == "inf" else parse_json(budget, "--budget")
    order = FileOrder(
        CheckedModel(stored.name, text),
        fillers,
        {
            "budget": limit,
            "stop": {"spend": spend},
            "run": {
                "value_of_second": value_of_second,
                "deadline_s": deadline,
                "at_once": calls_at_once,
            },
        },
        sha256(cases.read_bytes()).hexdigest(),
    )
    folder = out.with_name(f"{out.name}.journal")
    unit = stored.ensemble.catalogue.cost_unit
    with open_journal(folder, order, settings) as journal:
        run_with_money(journal, listed, at_once, unit)
        decisions = list(journal.list_decisions())
    files.replace_file(out, write_decisions(table, decisions))
    spent = sum(decision.spent for decision in decisions)
    output.print(
        f"wrote {len(decisions)} decisions to {escape(str(out))}: "
        f"{money(spent, unit)} spent"
    )
    doubtful = sum(bool(decision.in_doubt) for decision in decisions)
    if doubtful:
        errors.print(
            f"[yellow]warning[/yellow] {doubtful} cases have a call in doubt: it "
            "counts as spent; ask the provider"
        )


def read_providers(path: Path, rules: CallRules) -> dict[str, Provider]:
    """Read a file of providers by name; raise RefusedError for what can't be called."""
    raw = parse_json(files.read_text(path), str(path))
    if not isinstance(raw, Mapping) or not raw:
        raise RefusedError([Refusal("--providers", "must be an object of providers")])
    listed = {
        str(name): read_shape(Provider, document, f"providers.{name}")
        for name, document in raw.items()
    }
    refusals = [
        replace(refusal, field=f"providers.{name}.{refusal.field}")
        for name, provider in listed.items()
        for refusal in check_calls(rules, provider)
    ]
    if refusals:
        raise RefusedError(refusals[:MOST_REFUSALS])
    return listed


def read_case_table(
    path: Path, model: Model, providers: Mapping[str, Provider]
) -> tuple[dict[str, list[str]], list[FileCase]]:
    """Read a table of cases: features are known, all other columns are keys.

    Raises RefusedError for a key that no column has, and for values that their features
    can't have, by row.
    """
    bounds = Bounds(memory=available_bytes())
    names = [*read_columns(path, (), bounds)]
    columns = read_columns(path, names, bounds)
    table = {
        name: ["" if cell is None else str(cell) for cell in columns[name]]
        for name in names
    }
    refusals = [
        Refusal(
            f"providers.{name}.request", f"needs a column {key} in the file of cases"
        )
        for name, provider in providers.items()
        for key in provider.request.keys
        if key not in table
    ]
    features = {
        feature.name: feature
        for feature in model.ensemble.catalogue.features
        if feature.name in table
    }
    n_rows = len(next(iter(table.values()), []))
    cases = []
    for row in range(n_rows):
        cells = {name: table[name][row].strip() for name in table}
        known, wrong = read_known(features, cells, row + 1)
        refusals += wrong
        keys = {name: cells[name] for name in cells if name not in features}
        keys = {name: text for name, text in keys.items() if text}
        cases.append(FileCase(row + 1, known, keys))
    if refusals:
        raise RefusedError(refusals[:MOST_REFUSALS])
    return table, cases


def read_known(
    features: Mapping[str, Feature], cells: Mapping[str, str], row: int
) -> tuple[dict[str, Any], list[Refusal]]:
    """Return the values of a row's features as a request has them."""
    known: dict[str, Any] = {}
    refusals = []
    for name, feature in features.items():
        text = cells[name]
        if is_blank(feature, text):
            continue
        try:
            value = parse_answer(feature, text)
        except AnswerError as error:
            refusals += [
                replace(refusal, field=f"row {row}, {name}")
                for refusal in error.refusals
            ]
            continue
        known[name] = text if feature.type == "category" else value
        if feature.type == "boolean":
            known[name] = bool(value)
    return known, refusals


def run_with_money(
    journal: Journal, cases: list[FileCase], at_once: int, unit: str
) -> None:
    """Decide the cases, with a bar that says how many and for how much."""
    bar = Progress(
        TextColumn("deciding"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} cases, {task.fields[money]} spent"),
        TimeRemainingColumn(),
        console=errors,
        disable=not errors.is_terminal,
    )
    with bar:
        task = bar.add_task("deciding", total=len(cases), money=money(0, unit))

        def report(tally: FileTally) -> None:
            shown = money(tally.spent, unit)
            bar.update(task, completed=tally.n_ended, money=shown)

        asyncio.run(journal.decide(cases, at_once, report))


def write_decisions(table: Mapping[str, list[str]], decisions: list[Decision]) -> str:
    """Return the result as CSV: the columns of the cases, then what was decided."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*table, *FIELDS])
    for decision in decisions:
        row = decision.number - 1
        cells = [column[row] for column in table.values()]
        cells += [decision.label, f"{decision.probability:.6f}"]
        cells += [f"{from_micros(decision.spent):.6f}", decision.stop_reason or ""]
        cells += [" ".join(decision.features), " ".join(decision.in_doubt)]
        writer.writerow([*cells, decision.hash or ""])
    return file.getvalue()
