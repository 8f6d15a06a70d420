"""Several models side by side: head, rows and notes of a table, and what forbids it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from app.words.wording import money
from core.model.figures import Estimate
from core.model.model import Curve, Model


class Clash(NamedTuple):
    """What two models must share to be compared, and what each has."""

    name: str
    #: the rule that is broken, in words
    rule: str
    first: object
    other: object


def find_clashes(first: Model, other: Model) -> Iterator[Clash]:
    """Yield what two models do not share and would have to."""
    ours, its = first.ensemble, other.ensemble
    labels = [tuple(sorted(one.label for one in it.classes)) for it in (ours, its)]
    units = ours.catalogue.cost_unit, its.catalogue.cost_unit
    for clash in (
        Clash(
            "target",
            "must predict the same column as the first",
            first.target,
            other.target,
        ),
        Clash("classes", "must have the same classes as the first", *labels),
        Clash("cost_unit", "must have prices in the same unit as the first", *units),
    ):
        if clash.first != clash.other:
            yield clash


class Compared(NamedTuple):
    """A model's curve, and by how much more it errs than the first on the same rows."""

    name: str
    curve: Curve
    #: by budget; None of the first model, and where the rows are not the same
    differences: Sequence[Estimate] | None


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
