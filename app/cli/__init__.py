"""The `askless` command: its table of commands, and what it says of a refusal."""

import sys
from collections.abc import Callable
from typing import NoReturn

import typer
from rich.markup import escape

import app.threads  # noqa: F401 - sets variables that numpy reads
from app.cli import models, service, tables
from app.cli.options import errors
from app.terminal.ask import say_error
from core.errors import CoreError, RefusedError

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": service.show_demo,
    "serve": service.serve_api,
    "worker": service.work,
    "migrate": service.migrate,
    "compile-kernels": service.compile_kernels,
    "check": tables.check_spec,
    "train": tables.train_model,
    "select": tables.select_features,
    "evaluate": models.evaluate_model,
    "predict": models.predict_rows,
    "ask": models.ask_case,
    "report": models.report_model,
}

command_line = typer.Typer(
    help="Predict from few features: train with prices, ask one feature at a time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
for name, command in COMMANDS.items():
    command_line.command(name)(command)


def main() -> None:
    """Run the command; a refusal is exit code 2, one line for each broken rule."""
    try:
        command_line()
    except CoreError as error:
        refuse(error)


def refuse(error: CoreError) -> NoReturn:
    lines = error.refusals if isinstance(error, RefusedError) else [say_error(error)]
    for line in lines:
        errors.print(f"[red]refused[/red] {escape(str(line))}")
    sys.exit(2)
