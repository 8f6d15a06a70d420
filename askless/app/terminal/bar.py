"""Show how far a command has come."""

import sys
from collections.abc import Generator
from typing import Any, TypeVar

from askless.core.work import convert_steps, run_to_end

T = TypeVar("T")


def run_with_bar(work: Generator[Any, None, T], title: str) -> T:
    """Run a training or a selection to its end with a bar on a terminal's stderr."""
    if not sys.stderr.isatty():
        return run_to_end(work)
    # Only a bar needs rich, which takes a fortieth of a short prediction to load.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn(title),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=1.0)
        return run_to_end(
            convert_steps(work, lambda step: bar.update(task, completed=step.share))
        )
