"""Several models side by side, as a table in the terminal and as a page."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.markup import escape
from rich.table import Table

from app.terminal.html import html_figures, html_notes, html_page, html_table
from app.terminal.show import right, titled
from app.wording import money
from core.model.figures import Estimate
from core.model.model import Curve


class Compared(NamedTuple):
    """A model's curve, and by how much more it errs than the first on the same rows."""

    name: str
    curve: Curve
    #: by budget; None of the first model, and where the rows are not the same
    differences: Sequence[Estimate] | None


def compared_table(
    found: Sequence[Compared], budgets: Sequence[int | None], unit: str, where: str
) -> Table:
    """Return error and spend of each model under each budget."""
    head, rows = lay_cells(found, budgets, unit)
    table = titled(
        f"Error against budget: {where}", *(right(escape(one)) for one in head)
    )
    for row in rows:
        table.add_row(*(cell.replace(" (", "\n(") for cell in row))
    table.caption, table.caption_justify = "\n".join(explain_cells(found)), "left"
    return table


def compared_page(
    found: Sequence[Compared],
    budgets: Sequence[int | None],
    unit: str,
    where: str,
    chart: str,
) -> str:
    """Return a page with the chart, and the same numbers beside it."""
    names = " and ".join(one.name for one in found)
    head, rows = lay_cells(found, budgets, unit)
    parts = ["<h1>Error against spend</h1>", html_notes([f"{names}: {where}."])]
    parts += [html_figures([chart]), html_table(head, rows)]
    return html_page(names, [*parts, html_notes(explain_cells(found))])


def lay_cells(
    found: Sequence[Compared], budgets: Sequence[int | None], unit: str
) -> tuple[list[str], list[list[str]]]:
    """Return the head, and a row for each budget."""
    head = [f"budget {unit}".strip()]
    for one in found:
        head += [f"{one.name}: error", "mean spend"]
        head += ["more than the first"] if one.differences is not None else []
    rows = []
    for position, budget in enumerate(budgets):
        cells = ["unlimited" if budget is None else money(budget)]
        for one in found:
            place = one.curve.place_at(budget)
            low, high = one.curve.intervals[place]
            error = 100 * one.curve.errors_calibrated[place]
            cells.append(f"{error:.1f} % ({100 * low:.0f}–{100 * high:.0f})")
            cells.append(money(round(one.curve.mean_spends[place], -4)))
            if one.differences is not None:
                cells.append(say_difference(one.differences[position]))
        rows.append(cells)
    return head, rows


def say_difference(difference: Estimate) -> str:
    """Return a difference in percentage points with its interval."""
    told = f"{100 * difference.value:+.1f}"
    if difference.interval is None:
        return told
    low, high = difference.interval
    return f"{told} ({100 * low:+.1f} to {100 * high:+.1f})"


def explain_cells(found: Sequence[Compared]) -> list[str]:
    notes = ["error: how often the label is wrong that sessions say; 95 % interval."]
    if any(one.differences is not None for one in found):
        notes.append(
            "more than the first: in points of a percent, on the same rows; where the "
            "interval has no 0, the difference is hardly luck."
        )
    else:
        notes.append("Each model on its own rows: small differences may be luck.")
        notes.append(
            "Between the budgets of a model's curve its error is the last one's."
        )
    return notes
