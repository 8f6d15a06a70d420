"""The command `learn`: a model goes on learning from labelled rows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from askless.app.batch.kinds import check_rows_of_table, learn_all_rows, report_to_json
from askless.app.batch.labelled import columns_with_text
from askless.app.batch.sources import open_rows
from askless.app.cli.options import (
    AcceptUnseen,
    ModelFile,
    Table,
    option_name,
    output,
    print_warnings,
)
from askless.app.documents import files
from askless.app.documents.http.jobs import LearnOrder
from askless.app.processes.memory import available_bytes
from askless.app.terminal.bar import run_with_bar
from askless.app.terminal.show import build_learning_table
from askless.app.uploads import Bounds
from askless.app.uploads.places import parse_source
from askless.app.words.wording import percent
from askless.core.model.figures import Estimate
from askless.core.model.learning_state import RECENT_ROWS
from askless.core.pipeline.online.learning import LearningReport
from askless.core.pipeline.online.learning_state import get_learning

Out = Annotated[
    Path, typer.Option("--out", "-o", help="Where the model that has learnt goes.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def go_on_learning(
    model: ModelFile,
    data: Table,
    out: Out,
    as_json: AsJson = False,
    accept_unseen: AcceptUnseen = False,
) -> None:
    files.check_writable(out, "--out")
    stored = files.load_model(model)
    get_learning(stored, str(model))
    bounds = Bounds(memory=available_bytes())
    source = open_rows(parse_source(data), columns_with_text(stored), bounds)
    order = LearnOrder(accept_unseen=accept_unseen)
    print_warnings(check_rows_of_table(stored, source, order, option_name))
    learnt, report = run_with_bar(learn_all_rows(stored, source), "learning")
    files.replace_file(out, files.model_text(learnt))
    if as_json:
        output.print_json(json.dumps(report_to_json(report)))
        return
    for line in describe_report(report):
        output.print(escape(line))
    if report.n_rows and report.under_budgets:
        unit = stored.ensemble.catalogue.cost_unit
        output.print(build_learning_table(report, unit))
    output.print(f"wrote {escape(str(out))}")


def describe_report(report: LearningReport) -> Iterator[str]:
    """Yield lines about the rows learnt and what they have changed."""
    yield f"learnt {report.n_rows} rows; since training {report.n_learnt}"
    if report.error is not None:
        yield f"wrong before they were learnt: {describe_share(report.error)}"
    if report.after is not None:
        yield (
            f"running error, of late rows (half-life {RECENT_ROWS}): "
            f"{describe_change(report.before, report.after)}"
        )
    features = ", ".join(report.features) or "none"
    yield f"new stumps: {report.n_stumps}; features not read before: {features}"


def describe_share(estimate: Estimate) -> str:
    """Return a share in percent, with its interval."""
    share = percent(estimate.value)
    if estimate.interval is None:
        return share
    low, high = (percent(bound) for bound in estimate.interval)
    return f"{share} (95 % interval {low} to {high})"


def describe_change(before: Estimate | None, after: Estimate) -> str:
    """Return a running error, and what it was before if it was known."""
    now = describe_share(after)
    return now if before is None else f"{percent(before.value)} before, now {now}"
