"""The `askless` command: its table of commands, and how it prints refusals.

A command's modules are imported when it runs, so that help, version and completion are
fast.
"""

import gc
import sys
from importlib import import_module
from typing import Annotated, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

import askless.app.processes.threads  # noqa: F401 - sets variables that numpy reads
from askless.core.errors import CoreError, RefusedError


class CommandEntry(NamedTuple):
    """A command: the module and function that run it, and its help."""

    module: str
    function: str
    sentence: str
    #: whether it says itself that kernels are compiled, after its first answer
    is_light: bool = False


TRY = {
    "demo": CommandEntry(
        *("serving.service", "show_demo"),
        "Train on real heart data with real prices, play a session, then serve.",
    ),
    "shadow": CommandEntry(
        *("shadowing", "shadow_decisions"),
        "Compare a log of decisions with what Askless would have bought and decided.",
    ),
}
MODELS = {
    "init": CommandEntry(
        *("drafts", "init_spec"),
        "Write a first spec for a table: types found, costs to edit, what to look at.",
    ),
    "check": CommandEntry(
        *("tables", "check_spec"),
        "Check a table and a spec together; write nothing.",
    ),
    "train": CommandEntry(
        *("tables", "train_model"), "Train a model on a table with prices."
    ),
    "select": CommandEntry(
        *("tables", "select_features"),
        "Select the features that are worth knowing, one by one; write nothing.",
    ),
    "evaluate": CommandEntry(
        *("measures", "evaluate_model"),
        "Measure error, chances and spend by budget, or of aims, on a labelled table.",
    ),
    "compare": CommandEntry(
        *("comparing", "compare_models"),
        "Compare models by error and spend, on the same rows where a table is given.",
    ),
    "show": CommandEntry(
        *("explaining", "show_model"),
        "Show what a model buys, what that is worth, and what each answer does.",
    ),
    "report": CommandEntry(
        *("measures", "report_model"),
        "Write a page with charts: what a model asks per budget, and how good it is.",
    ),
    "export": CommandEntry(
        *("exporting", "export_model_file"),
        "Write a model in the format of MLflow.",
    ),
    "learn": CommandEntry(
        *("learning", "go_on_learning"),
        "Go on learning from labelled rows, with a model trained by online.",
    ),
    "refresh": CommandEntry(
        *("serving.refreshing", "refresh_model"),
        "Train a challenger of a model on its cases since; for timers: --if-due.",
    ),
}
CASES = {
    "ask": CommandEntry(
        *("models", "ask_case"),
        "Work through one case in the terminal, or with piped answers.",
    ),
    "predict": CommandEntry(
        *("predictions", "predict_rows"),
        "Predict every row of a table under a budget, or several.",
    ),
    "decide": CommandEntry(
        *("deciding", "decide_cases"),
        "Buy for every case of a file until it is decided, and write the decisions.",
    ),
    "cases": CommandEntry(
        *("serving.cases", "write_cases"),
        "Write the closed cases of a model, with their outcomes, as a table.",
    ),
}
OPERATE = {
    "serve": CommandEntry(
        *("serving.service", "serve_api"),
        "Serve the API; on the embedded database migrate it first.",
    ),
    "worker": CommandEntry(
        *("serving.service", "run_worker"),
        "Take trainings from the queue until SIGTERM.",
    ),
    "buyer": CommandEntry(
        *("serving.service", "run_buyer"),
        "Carry out runs: buy for sessions that buy by themselves, until SIGTERM.",
    ),
    "migrate": CommandEntry(
        *("serving.service", "migrate"),
        "Bring the database to the present schema; change nothing on a current one.",
    ),
    "keys": CommandEntry(
        *("serving.keys", "commands"),
        "Make, list, revoke and restore the keys that callers of the service need.",
    ),
    "tenants": CommandEntry(
        *("serving.tenants", "commands"),
        "List tenants, and say how long their sessions are kept.",
    ),
    "providers": CommandEntry(
        *("serving.providers", "commands"),
        "List, put, test and delete the providers that runs buy from; draft some.",
    ),
    "mcp": CommandEntry(
        *("serving.mcp", "serve_agent"),
        "Speak the Model Context Protocol over stdio, for an agent on this machine.",
        is_light=True,
    ),
    "verify": CommandEntry(
        *("serving.verifying", "verify_receipt"),
        "Verify a receipt, or the whole ledger: whether it is what was written.",
    ),
    "compile-kernels": CommandEntry(
        *("serving.service", "compile_kernels"),
        "Compile every kernel into NUMBA_CACHE_DIR, so that no request waits for it.",
    ),
}
#: Commands by the group that help shows them in.
GROUPS = {"Try": TRY, "Models": MODELS, "Cases": CASES, "Operate": OPERATE}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}


class Commands(TyperGroup):
    """The commands of the table; a command is imported when it is called."""

    def __init__(self, **attrs: object) -> None:
        super().__init__(**attrs)  # type: ignore[arg-type]  # handed through
        for title, group in GROUPS.items():
            for name, entry in group.items():
                self.commands[name] = TyperCommand(
                    name, help=entry.sentence, rich_help_panel=title
                )

    def resolve_command(self, ctx, args):  # type: ignore[no-untyped-def]  # click's own types are private here
        name, command, rest = super().resolve_command(ctx, args)
        if name is None:
            return name, command, rest
        command = load_command(name)
        if not (ctx.resilient_parsing or COMMANDS[name].is_light):
            watched = import_module("askless.app.cli.options").print_compiling()
            ctx.with_resource(watched)
        return name, command, rest


def load_command(name: str) -> TyperCommand | TyperGroup:
    """Import a command with its options.

    Hardly anything that an import makes is garbage. Not to look for it saves an eighth
    of the processor time of predicting a few rows.
    """
    entry, collects = COMMANDS[name], gc.isenabled()
    gc.disable()
    try:
        module = import_module(f"{__name__}.{entry.module}")
    finally:
        if collects:
            # No later collection looks at it again.
            gc.freeze()
            gc.enable()
    function = getattr(module, entry.function)
    if isinstance(function, typer.Typer):
        group = typer.main.get_group(function)
        group.name = name
        return group
    program = typer.Typer(add_completion=False)
    program.command(name, help=entry.sentence)(function)
    command = typer.main.get_command(program)
    assert isinstance(command, TyperCommand), "a Typer of one function is one command"
    return command


command_line = typer.Typer(
    cls=Commands,
    help="Predict from few features: train with prices, ask one feature at a time.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


def print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"askless {version('askless')}")
        raise typer.Exit


@command_line.callback()
def accept_version(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Say it and exit."
        ),
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the command; a refusal exits with 2 and one line for each broken rule."""
    try:
        command_line()
    except CoreError as error:
        exit_refused(error)


def exit_refused(error: CoreError) -> NoReturn:
    """Print a refusal, a line for each broken rule, and exit with 2."""
    from rich.markup import escape

    from askless.app.cli.options import errors
    from askless.app.terminal.ask import describe_error

    lines = (
        error.refusals if isinstance(error, RefusedError) else [describe_error(error)]
    )
    for line in lines:
        errors.print(f"[red]refused[/red] {escape(str(line))}")
    sys.exit(2)
