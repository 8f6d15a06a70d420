"""The command `learn`: a model goes on learning from labelled rows."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from askless.app.batch.kinds import check_learnt_rows, learn_source, report_to_json
from askless.app.batch.labelled import columns_with_text
from askless.app.batch.sources import open_rows
from askless.app.cli.options import ModelFile, Table, output, warn
from askless.app.documents import files
from askless.app.processes.memory import available_bytes
from askless.app.terminal.learnt import describe_report
from askless.app.terminal.show import run_with_bar
from askless.app.uploads import Bounds
from askless.app.uploads.places import as_source
from askless.core.pipeline.online.learning_state import find_learning

Out = Annotated[
    Path, typer.Option("--out", "-o", help="Where the model that has learnt goes.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def go_on_learning(
    model: ModelFile, data: Table, out: Out, as_json: AsJson = False
) -> None:
    files.check_writable(out, "--out")
    stored = files.load_model(model)
    find_learning(stored, str(model))
    bounds = Bounds(memory=available_bytes())
    source = open_rows(as_source(data), columns_with_text(stored), bounds)
    warn(check_learnt_rows(stored, source))
    learnt, report = run_with_bar(learn_source(stored, source), "learning")
    files.replace_file(out, files.model_text(learnt))
    if as_json:
        output.print_json(json.dumps(report_to_json(report)))
        return
    for line in describe_report(report):
        output.print(escape(line))
    output.print(f"wrote {escape(str(out))}")
