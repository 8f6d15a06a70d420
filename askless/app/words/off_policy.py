"""What models would have done on logged cases, in words and cells."""

from collections.abc import Sequence
from typing import NamedTuple

from askless.app.words.figures import Cells
from askless.app.words.wording import percent
from askless.core.model.figures import Estimate
from askless.core.simulation.off_policy import (
    LEAST_EFFECTIVE,
    LEAST_EXPLORED,
    MEASURES,
    MOST_UNSUPPORTED,
    Lack,
    PolicyEstimate,
)

LACKS: dict[Lack, str] = {
    "no_support": f"for more than {percent(MOST_UNSUPPORTED)} of the cases the log can "
    "never have the answers that it asks for",
    "few_explored": f"fewer than {LEAST_EXPLORED} cases explored what it would ask: "
    "log more of them, or explore more often",
    "few_effective": f"its cases weigh as few as {LEAST_EFFECTIVE} or less",
}


class LoggedModel(NamedTuple):
    """A model's estimates, and its figures less those of the first model."""

    name: str
    estimate: PolicyEstimate
    #: by `MEASURES`, more than the first; None for the first model
    gaps: tuple[Estimate, ...] | None


def estimate_cells(models: Sequence[LoggedModel], unit: str) -> Cells:
    """Return a table with a row for each figure and a column for each model."""
    head = ["", *(one.name for one in models)]
    names = ["error", "log-loss", f"spend {unit}".strip()]
    rows: list[tuple[str, ...]] = []
    for place, name in enumerate(names):
        rows.append(
            (name, *(tell(one.estimate.robust[place], place) for one in models))
        )
        gaps = (
            "" if one.gaps is None else tell(one.gaps[place], place) for one in models
        )
        rows.append(("more than the first", *gaps))
    effective = (f"{one.estimate.n_effective:.0f}" for one in models)
    rows.append(("cases, effective", *effective))
    for place, name in enumerate(("log", "exploration", "nothing")):
        shares = (percent(one.estimate.support[place]) for one in models)
        rows.append((f"answered by {name}", *shares))
    return head, rows


def tell(one: Estimate, place: int) -> str:
    """Return a figure of `MEASURES` with its interval."""
    assert one.interval is not None, "there are two cases or more"
    values = (one.value, *one.interval)
    if MEASURES[place] == "error":
        value, low, high = (f"{100 * value:.1f}" for value in values)
        return f"{value} % ({low} to {high})"
    if MEASURES[place] == "spend":
        value, low, high = (f"{value / 1_000_000:.2f}" for value in values)
    else:
        value, low, high = (f"{value:.3f}" for value in values)
    return f"{value} ({low} to {high})"


def explain_estimates(models: Sequence[LoggedModel]) -> list[str]:
    """Return what the figures are, and which models get no verdict."""
    told = [
        "Doubly robust, with intervals of 95 %, each case at its own budget.",
        "No answer is guessed: cases that were asked at random stand for the others.",
    ]
    told += (
        f"No verdict on {one.name}: {LACKS[one.estimate.lack]}."
        for one in models
        if one.estimate.lack is not None
    )
    return told
