"""Draw the tables, bars and progress of the commands."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.bar import Bar
from rich.markup import escape
from rich.table import Column, Table

from askless.app.words.facts import bracket
from askless.app.words.figures import (
    RARE_NOTE,
    VOTE_ERROR,
    VOTE_NOTE,
    Cells,
    build_curve_cells,
    build_figure_cells,
    describe_betters,
    describe_estimate,
    explain_figures,
    has_rare_class,
    shown_figures,
    to_percent,
)
from askless.app.words.own_questions import describe_own_questions
from askless.app.words.savings import describe_knee
from askless.app.words.sessions import build_session_cells, describe_note
from askless.app.words.wording import LACKS, money, percent
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Curve, Model

if TYPE_CHECKING:
    # Its imports take long, and most commands need none of them.
    from askless.core.pipeline.online.learning import LearningReport
    from askless.core.simulation.early import EarlyPoint
    from askless.core.simulation.timed import TimedFigures


BAR_WIDTH = 48


def build_table(
    title: str,
    cells: Cells,
    words: Collection[int] = (),
    notes: Iterable[str] = (),
    *,
    is_dense: bool = False,
) -> Table:
    """Draw a table: figures to the right, columns named in `words` to the left.

    In a dense one, a budget and seven figures fit 80 letters.
    """
    head, rows = cells
    table = Table(title=escape(title), title_justify="left", caption_justify="left")
    for place, heading in enumerate(head):
        table.add_column(
            escape(heading),
            justify="left" if place in words else "right",
            # A budget, or an aim.
            no_wrap=is_dense and place == 0,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(escape, row))
    if is_dense:
        table.box, table.padding = box.SIMPLE_HEAD, (0, 1, 0, 0)
    table.caption = escape("\n".join(notes)) or None
    return table


def label_rows_by_aim(cells: Cells, aims: Sequence[str]) -> Cells:
    """Return a table by budget as one by aim, if there are aims."""
    head, rows = cells
    if not aims:
        return cells
    named = zip(aims, rows, strict=True)
    return ("aim", *head[1:]), [(aim, *row[1:]) for aim, row in named]


def build_curve_table(
    curve: Curve, unit: str, aims: Sequence[str] = (), notes: Sequence[str] = ()
) -> Table:
    """Return error, chances and spend by budget, or by aim, above some notes."""
    head, rows = label_rows_by_aim(build_curve_cells(curve, unit), aims)
    # With an aim, a budget is a limit and not what sessions are to reach.
    betters = [] if aims else describe_betters(curve, unit)
    extra = [VOTE_NOTE] if VOTE_ERROR in head else []
    if has_rare_class(curve):
        extra = [RARE_NOTE]
        # Words below one another, so that so many columns fit.
        head = [name.replace(" ", "\n") for name in head]
    lines = [*extra, *betters, *notes]
    return build_table("Error against budget", (head, rows), notes=lines, is_dense=True)


def build_figures_table(
    curve: Curve, ensemble: Ensemble, threshold: float | None, aims: Sequence[str]
) -> Table:
    """Return the figures by budget, or by aim, each above its 95 % interval."""
    return build_table(
        "Chances and labels, each with its 95 % interval",
        label_rows_by_aim(
            build_figure_cells(curve, ensemble.catalogue.cost_unit, is_high=True), aims
        ),
        notes=[explain_figures(shown_figures(curve), ensemble, threshold)],
        is_dense=True,
    )


def build_sessions_table(model: Model) -> Table | None:
    """Return a table of how sessions go; None if the card has no sessions."""
    cells = build_session_cells(model)
    if cells is None:
        return None
    return build_table("How cases go", cells, (1,), [describe_note(model)])


def build_early_table(points: Sequence["EarlyPoint"], unit: str) -> Table:
    """Return a table of early stops by certificate, or why there are none."""
    head = (
        f"budget {bracket(unit)}".strip(),
        "stop from",
        "differ from the end",
        "error",
        "mean spend",
        "else",
    )
    rows: list[tuple[str, ...]] = []
    for point in points:
        threshold, lack = point.certificate.threshold, point.certificate.lack
        stops = LACKS[lack] if threshold is None else percent(threshold)
        spends = (point.mean_spend, point.mean_spend_whole)
        rows.append(
            (
                "unlimited" if point.budget is None else money(point.budget),
                stops,
                to_percent(point.differing),
                to_percent(point.error),
                *(money(round(spend, -4)) for spend in spends),
            )
        )
    return build_table("With early stops", (head, rows))


def build_timed_table(
    figures: Sequence["TimedFigures"], value_of_second: float, unit: str
) -> Table:
    """Return money and seconds by budget and calls at once."""
    head = (
        f"budget {bracket(unit)}".strip(),
        "calls at once",
        "error",
        "mean spend",
        "mean seconds",
        "calls",
        "money and seconds",
    )
    rows: list[tuple[str, ...]] = [
        (
            "unlimited" if point.budget is None else money(point.budget),
            str(point.at_once),
            to_percent(point.error),
            money(round(point.spend)),
            f"{point.seconds:.2f}",
            f"{point.calls:.2f}",
            money(round(point.total(value_of_second))),
        )
        for point in figures
    ]
    return build_table("Money and seconds", (head, rows))


def build_learning_table(report: "LearningReport", unit: str) -> Table:
    """Return a table of sessions of the rows that a model has learnt, by budget."""
    rows: list[tuple[str, ...]] = [
        (
            "unlimited" if under.budget is None else money(under.budget),
            *(
                describe_estimate(error, True, "{} ({})")
                for error in (under.error, under.recent)
            ),
        )
        for under in report.under_budgets
    ]
    head = f"budget {unit}".strip(), "wrong before learnt", "running error"
    title = "Sessions, each before its row was learnt (95 % interval)"
    return build_table(title, (head, rows), is_dense=True)


def draw_curve_bars(curve: Curve, unit: str) -> Table:
    """Return error against mean spend as a bar for each budget."""
    table = Table(
        Column(f"mean spend {bracket(unit)}".strip(), justify="right"),
        "error",
        Column(justify="right"),
        title="Error against mean spend per case",
        title_justify="left",
        box=None,
    )
    most = max(curve.errors_calibrated) or 1.0
    for spend, error in zip(curve.mean_spends, curve.errors_calibrated, strict=True):
        bar = Bar(most, 0.0, error, width=BAR_WIDTH)
        table.add_row(money(round(spend, -4)), bar, to_percent(error))
    return table


def summarise_model(model: Model) -> str:
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
