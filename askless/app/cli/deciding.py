"""The command `decide`: buy for every case of a file, without a service."""

import asyncio
import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from askless.app.batch.budgets import parse_budget
from askless.app.buyer.journal import (
    FileCase,
    FileOrder,
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
from askless.app.documents.buying.runs import read_key
from askless.app.documents.shape import read_shape
from askless.app.documents.text import parse_json
from askless.app.processes.memory import available_bytes
from askless.app.service.buying.listing import Decision
from askless.app.service.buying.providers import CallRules, check_calls
from askless.app.service.models import CheckedModel
from askless.app.settings.environment import read_settings
from askless.app.uploads import Bounds
from askless.app.uploads.streams import StreamedTable, open_table
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
# Rows of the file of cases that are in memory at a time.
ROWS_AT_ONCE = 1 << 14
# The journal keeps the decisions so far in this file.
PARTIAL = "decisions.csv"
AT_ONCE = Parameter("at_once", int, None, least=1, most=200)
FIELDS = (
    *("label", "probability", "spend", "stop_reason", "features"),
    *("in_doubt", "left_out", "receipt"),
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
    limit = parse_budget(budget, "--budget")
    table = open_cases(cases)
    check_cases(table, stored, fillers)
    with cases.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    run = {
        "value_of_second": value_of_second,
        "deadline_s": deadline,
        "at_once": calls_at_once,
    }
    amount = None if limit is None else from_micros(limit)
    terms = {"budget": amount, "stop": {"spend": spend}, "run": run}
    order = FileOrder(CheckedModel(stored.name, text), fillers, terms, digest)
    folder = out.with_name(f"{out.name}.journal")
    with open_journal(folder, order, settings) as journal:
        partial = folder / PARTIAL
        with partial.open("w", encoding="utf-8", newline="") as file:
            result = DecisionFile(file, table)
            unit = stored.ensemble.catalogue.cost_unit
            listed = list_cases(table, stored, fillers)
            run_with_money(journal, listed, result, at_once, unit)
        partial.replace(out)
    output.print(
        f"wrote {result.n_cases} decisions to {escape(str(out))}: "
        f"{money(result.spent, unit)} spent"
    )
    if result.n_doubtful:
        errors.print(
            f"[yellow]warning[/yellow] {result.n_doubtful} cases have a call in doubt: "
            "it counts as spent; ask the provider"
        )
    for name, n_cases in result.n_without.items():
        errors.print(
            f"[yellow]warning[/yellow] {n_cases} cases went on without {escape(name)} "
            "(left_out): a key, its ceiling or the time did not suffice, or it cooled "
            "down after failures"
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


def open_cases(path: Path) -> StreamedTable:
    """Open a table of cases; its cells stay as written."""
    table = open_table(path, (), Bounds(memory=available_bytes()))
    return table.with_text([*table])


def read_case_rows(table: StreamedTable) -> Iterator[list[str]]:
    """Yield the cells of each row; a block of rows is in memory."""
    names = [*table]
    for rows in table.ranges:
        for start in range(rows.start, rows.stop, ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, rows.stop)
            columns = table.read_rows(start, stop, names)
            for cells in zip(*columns.values(), strict=True):
                yield ["" if cell is None else str(cell) for cell in cells]


def find_features(table: StreamedTable, model: Model) -> dict[str, Feature]:
    """Return the model's features that are columns."""
    features = model.ensemble.catalogue.features
    return {feature.name: feature for feature in features if feature.name in table}


def check_cases(
    table: StreamedTable, model: Model, providers: Mapping[str, Provider]
) -> None:
    """Read all cases before anything is bought.

    Raises RefusedError for a key that no column has, and by row for keys and values of
    features that can't be.
    """
    refusals = [
        Refusal(
            f"providers.{name}.request", f"needs a column {key} in the file of cases"
        )
        for name, provider in providers.items()
        for key in provider.request.keys
        if key not in table
    ]
    features, names = find_features(table, model), list_case_keys(providers)
    for number, row in enumerate(read_case_rows(table), 1):
        cells = dict(zip(table, row, strict=True))
        refusals += read_known(features, cells, number)[1]
        refusals += read_case_keys(names, cells, number)[1]
        if len(refusals) >= MOST_REFUSALS:
            break
    if refusals:
        raise RefusedError(refusals[:MOST_REFUSALS])


def list_cases(
    table: StreamedTable, model: Model, providers: Mapping[str, Provider]
) -> Iterator[FileCase]:
    """Yield the cases of a table that was checked."""
    features, names = find_features(table, model), list_case_keys(providers)
    for number, row in enumerate(read_case_rows(table), 1):
        cells = dict(zip(table, row, strict=True))
        known, _ = read_known(features, cells, number)
        keys, _ = read_case_keys(names, cells, number)
        yield FileCase(number, known, keys)


def read_known(
    features: Mapping[str, Feature], cells: Mapping[str, str], row: int
) -> tuple[dict[str, Any], list[Refusal]]:
    """Return the values of a row's features as a request has them."""
    known: dict[str, Any] = {}
    refusals = []
    for name, feature in features.items():
        text = cells[name].strip()
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


def list_case_keys(providers: Mapping[str, Provider]) -> list[str]:
    """Return the names of the keys that providers need."""
    listed = (provider.request.keys for provider in providers.values())
    return [*dict.fromkeys(key for keys in listed for key in keys)]


def read_case_keys(
    names: Iterable[str], cells: Mapping[str, str], row: int
) -> tuple[dict[str, str], list[Refusal]]:
    """Return the keys of a row, without blank ones."""
    keys: dict[str, str] = {}
    refusals = []
    for name in names:
        text = cells.get(name, "").strip()
        try:
            keys |= {name: read_key(text)} if text else {}
        except ValueError as error:
            refusals.append(Refusal(f"row {row}, {name}", str(error), text))
    return keys, refusals


class DecisionFile:
    """Decisions as CSV: the columns of each case, then what was decided."""

    def __init__(self, file: TextIO, table: StreamedTable) -> None:
        self.table, self.rows = table, read_case_rows(table)
        self.writer = csv.writer(file, lineterminator="\n")
        self.writer.writerow([*table, *FIELDS])
        self.n_cases, self.spent, self.n_doubtful = 0, 0, 0
        self.n_without = Counter[str]()

    def add(self, decision: Decision) -> None:
        """Write the decision on the next case."""
        self.n_cases += 1
        self.spent += decision.spent
        self.n_doubtful += bool(decision.in_doubt)
        self.n_without.update(decision.left_out)
        cells = [*next(self.rows), decision.label, f"{decision.probability:.6f}"]
        cells += [f"{from_micros(decision.spent):.6f}", decision.stop_reason or ""]
        cells += [" ".join(decision.features), " ".join(decision.in_doubt)]
        cells += [" ".join(decision.left_out), decision.hash or ""]
        self.writer.writerow(cells)


def run_with_money(
    journal: Journal,
    cases: Iterable[FileCase],
    result: DecisionFile,
    at_once: int,
    unit: str,
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
        task = bar.add_task("deciding", total=result.table.n_rows, money=money(0, unit))

        def keep(decision: Decision) -> None:
            result.add(decision)
            shown = money(result.spent, unit)
            bar.update(task, completed=result.n_cases, money=shown)

        asyncio.run(journal.decide(cases, at_once, keep))
