"""Show how far a command has come."""

import sys
from collections.abc import Generator
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

T = TypeVar("T")


def run_with_bar(work: Generator[Any, None, T], title: str) -> T:
    """Run a training or a selection to its end with a bar on a terminal's stderr."""
    bar = Progress(
        TextColumn(title),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("", total=1.0)
        while True:
            try:
                progress = next(work)
            except StopIteration as stop:
                result: T = stop.value
                return result
            bar.update(task, completed=progress.share)
