"""The command `init`: a first spec for one's own table."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from askless.app.cli.options import Data, SkipBadRows, errors, output, warn_skipped
from askless.app.cli.tables import print_checked
from askless.app.documents import files
from askless.app.documents.fields import MAX_NAME
from askless.app.documents.text import parse_spec
from askless.app.processes.memory import available_bytes
from askless.app.uploads import Bounds
from askless.app.uploads.checking import check_spec_and_table
from askless.app.uploads.drafting import draft_spec, format_spec
from askless.app.uploads.streams import open_table
from askless.core.errors import Refusal, RefusedError


def init_spec(
    data: Data,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the spec goes.")],
    prices: Annotated[
        Path | None,
        typer.Option(
            help="CSV with the columns feature, cost; also group, fee, price (of a "
            "bundle). Else every cost is 1, to be edited."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the spec.")] = False,
    skip_bad_rows: SkipBadRows = False,
    missing_words: Annotated[
        str | None,
        typer.Option(
            help="The words that mean missing, such as n.d.,null, and no others; "
            'none: "". Else the usual ones, NA among them.'
        ),
    ] = None,
) -> None:
    files.check_writable(out, "--out")
    if out.exists() and not force:
        rule = "must not be there yet; --force overwrites it"
        raise RefusedError([Refusal("--out", rule, str(out))])
    skipped: list[Refusal] = []
    bounds = Bounds(memory=available_bytes())
    table = open_table(data, (), bounds, skipped if skip_bad_rows else None)
    warn_skipped(skipped)
    words = None if missing_words is None else read_words(missing_words)
    draft = draft_spec(table, target, model_name_of_file(data), prices, words)
    text = format_spec(draft.spec)
    _, checked = check_spec_and_table(parse_spec(text), lambda: table)
    for note in draft.notes:
        errors.print(f"[yellow]note[/yellow] {escape(note)}")
    print_checked(checked)
    files.replace_file(out, text)
    costs = "Look it over" if prices else "Edit its costs"
    output.print(f"wrote {escape(str(out))}. {costs}, then: askless train")


def read_words(text: str) -> tuple[str, ...]:
    """Return the words of an option, parted by commas."""
    return tuple(filter(None, map(str.strip, text.split(","))))


def model_name_of_file(data: Path) -> str:
    """Return the name of a model, which is that of its table."""
    shown = "".join(text for text in data.name.split(".")[0] if text.isprintable())
    return shown[:MAX_NAME] or "model"
