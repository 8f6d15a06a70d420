"""The command `shadow`: what a policy of ours would have done on logged cases."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.markup import escape

from askless.app.batch.budgets import parse_price
from askless.app.batch.shadow.log_files import draft_mapping, open_log
from askless.app.batch.shadow.shadow_runs import ShadowOptions, shadow_log
from askless.app.cli.options import Data, Spec, errors, output, parser_of
from askless.app.documents import files
from askless.app.documents.log_mapping import LogMapping
from askless.app.documents.shape import read_shape
from askless.app.documents.text import parse_json
from askless.app.pages.models.shadow import render_shadow
from askless.app.processes.memory import available_bytes
from askless.app.terminal.bar import run_with_bar
from askless.app.uploads import Bounds
from askless.app.uploads.streams import open_table
from askless.app.words.shadow.shadow_view import shadow_json
from askless.app.words.shadow.shadow_words import list_short_lines
from askless.core.errors import Refusal, RefusedError
from askless.core.parameters import Parameter
from askless.core.pipeline.spec import TrainingSpec

OLDER = Parameter("older", float, None, least=0.1, most=0.9)

Mapping = Annotated[
    Path | None,
    typer.Option(help="Which column holds what, JSON; else guessed from their names."),
]
Init = Annotated[
    bool, typer.Option("--init", help="Write a mapping to look over, and no report.")
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="HTML to write; or the mapping.")
]
ErrorPrice = Annotated[
    str | None,
    typer.Option(
        help="What a wrong decision costs, in money; else the spec's error costs, or "
        "Askless is set to err as the log does."
    ),
]
Older = Annotated[
    float,
    typer.Option(
        parser=parser_of(OLDER),
        help="Share of the cases to learn from, the older ones.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


def shadow_decisions(
    log: Data,
    spec: Spec,
    mapping: Mapping = None,
    init: Init = False,
    out: Out = None,
    error_price: ErrorPrice = None,
    older: Older = 2 / 3,
    as_json: AsJson = False,
) -> None:
    if out is None and (init or not as_json):
        raise RefusedError([Refusal("--out", "is required, unless --json is given")])
    if out is not None:
        files.check_writable(out, "--out")
    training_spec = files.load_spec(spec)
    bounds = Bounds(memory=available_bytes())
    if init:
        assert out is not None, "it is required"
        write_mapping(log, training_spec, out)
        return
    columns = read_mapping(log, training_spec, mapping)
    opened = open_log(log, training_spec, columns, bounds)
    options = ShadowOptions(older, parse_price(error_price, "--error-price"))
    with TemporaryDirectory() as folder:
        result = run_with_bar(shadow_log(opened, options, Path(folder)), "shadow")
    if as_json:
        sys.stdout.write(json.dumps(shadow_json(result)) + "\n")
    if out is not None:
        files.replace_file(out, render_shadow(result))
    if not as_json:
        for line in list_short_lines(result):
            output.print(escape(line))
        output.print(f"wrote {escape(str(out))}")
    for problem in result.problems:
        errors.print(
            f"[yellow]warning[/yellow] {problem.n_times:,} {escape(problem.words)}"
        )


def draft_of(log: Path, spec: TrainingSpec) -> tuple[dict[str, Any], list[str]]:
    """Return the mapping that the columns of a log suggest, and notes."""
    table = open_table(log, (), Bounds(memory=available_bytes()))
    return draft_mapping([*table], spec)


def write_mapping(log: Path, spec: TrainingSpec, out: Path) -> None:
    """Write a first mapping of a log."""
    drafted, notes = draft_of(log, spec)
    for note in notes:
        errors.print(f"[yellow]note[/yellow] {escape(note)}")
    files.replace_file(out, json.dumps(drafted, ensure_ascii=False, indent=1) + "\n")
    output.print(f"wrote {escape(str(out))}. Look it over, then: askless shadow")


def read_mapping(log: Path, spec: TrainingSpec, path: Path | None) -> LogMapping:
    """Return the mapping of a file, or the one that column names suggest."""
    if path is not None:
        raw = parse_json(files.read_text(path), str(path))
        return read_shape(LogMapping, raw, "mapping")
    drafted, notes = draft_of(log, spec)
    if notes:
        rule = "is required, such as --init drafts it"
        raise RefusedError([Refusal("--mapping", rule, "; ".join(notes))])
    return read_shape(LogMapping, drafted, "mapping")
