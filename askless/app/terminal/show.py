"""Table, bar and progres in the terminal."""

import sys
from collections.abc import Generator, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from rich import box
from rich.bar import Bar
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from askless.app.words.figures import (
    VOTE_ERROR,
    VOTE_NOTE,
    curve_cells,
    describe_betters,
)
from askless.app.words.own_questions import describe_own_questions
from askless.app.words.savings import describe_knee
from askless.app.words.sessions import describe_note, session_cells
from askless.app.words.wording import LACKS, money, percent
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.model import Curve, Model
from askless.core.simulation.early import EarlyPoint

T = TypeVar("T")

BAR_WIDTH = 48


def titled_table(title: str, *columns: Column) -> Table:
    return Table(*columns, title=title, title_justify="left")


def figure_column(heading: str) -> Column:
    """Return a column of figures."""
    return Column(heading, justify="right")


def curve_table(
    curve: Curve, unit: str, aims: Sequence[str] = (), notes: Sequence[str] = ()
) -> Table:
    """Return error, chances and spend by budget, or by aim, above some notes."""
    (budget, *head), rows = curve_cells(curve, unit)
    first = Column("aim", no_wrap=True) if aims else figure_column(budget)
    table = titled_table("Error against budget", first, *map(figure_column, head))
    for row, aim in zip_longest(rows, aims):
        table.add_row(aim or row[0], *row[1:])
    # A budget and six figures are to fit 80 letters.
    table.box, table.padding = box.SIMPLE_HEAD, (0, 1, 0, 0)
    # With an aim, a budget is a limit and not what sessions are to reach.
    betters = [] if aims else describe_betters(curve, unit)
    lines = [VOTE_NOTE] if VOTE_ERROR in head else []
    table.caption = "\n".join([*lines, *betters, *notes])
    table.caption_justify = "left"
    return table


def sessions_table(model: Model) -> Table | None:
    """Return a table of how sessions go; None if the card has no sessions."""
    cells = session_cells(model)
    if cells is None:
        return None
    (budget, words), rows = cells
    table = titled_table("How cases go", figure_column(budget), Column(words))
    for amount, sentences in rows:
        table.add_row(amount, escape(sentences))
    table.caption, table.caption_justify = describe_note(model), "left"
    return table


def early_table(points: Sequence[EarlyPoint], unit: str) -> Table:
    """Return a table of early stops by certificate, or why there are none."""
    table = titled_table(
        "With early stops",
        figure_column(f"budget{f' ({unit})' if unit else ''}"),
        figure_column("stop from"),
        figure_column("differ from the end"),
        figure_column("error"),
        figure_column("mean spend"),
        figure_column("else"),
    )
    for point in points:
        threshold, lack = point.certificate.threshold, point.certificate.lack
        table.add_row(
            "unlimited" if point.budget is None else money(point.budget),
            LACKS[lack] if threshold is None else percent(threshold),
            f"{100 * point.differing:.1f} %",
            f"{100 * point.error:.1f} %",
            money(round(point.mean_spend, -4)),
            money(round(point.mean_spend_whole, -4)),
        )
    return table


def curve_bars(curve: Curve, unit: str) -> Table:
    """Return error against mean spend as a bar for each budget."""
    table = titled_table(
        "Error against mean spend per case",
        figure_column(f"mean spend{f' ({unit})' if unit else ''}"),
        Column("error"),
        figure_column(""),
    )
    table.box = None
    most = max(curve.errors_calibrated) or 1.0
    for spend, error in zip(curve.mean_spends, curve.errors_calibrated, strict=True):
        bar = Bar(most, 0.0, error, width=BAR_WIDTH)
        table.add_row(money(round(spend, -4)), bar, f"{100 * error:.1f} %")
    return table


def price_table(catalogue: Catalogue) -> Table:
    table = titled_table(
        f"Prices ({catalogue.cost_unit})",
        Column("feature"),
        figure_column("cost"),
        Column("group and its fee, paid once"),
    )
    groups = {group.name: group for group in catalogue.groups}
    for feature in catalogue.features:
        group = groups.get(feature.group or "")
        shared = ""
        if group is not None:
            amount = group.fee if group.price is None else group.price
            shared = f"{group.label or group.name}: {money(amount)}"
        table.add_row(escape(feature.title), money(feature.cost), escape(shared))
    return table


def model_summary(model: Model) -> str:
    ensemble = model.ensemble
    used = int(ensemble.is_used.sum())
    learner = model.params.get("learner", "stump")
    made = f"{len(ensemble.hypotheses)} weak hypotheses ({learner})"
    if ensemble.panels is not None:
        made = f"{len(ensemble.panels.panels)} panels and {made}"
    text = (
        f"{model.name}: {made} by {ensemble.algorithm} read {used} of "
        f"{len(ensemble.catalogue.features)} features"
    )
    if model.curve is not None:
        error = model.curve.errors_calibrated[-1]
        text += f"; error on held-out rows without a budget {percent(error)}"
    more = describe_own_questions(model), describe_knee(model)
    return "; ".join([text, *filter(None, more)])


def run_with_bar(work: Generator[Any, None, T], what: str) -> T:
    """Run a training or a selection to its end with a bar on a terminal's stderr."""
    bar = Progress(
        TextColumn(what),
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
