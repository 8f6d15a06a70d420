"""Single figures of a curve: savings, half the cost, the knee, and chance.

All of it rests on the curve's errors on held-out rows and on its mean spends.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from askless.app.words.trust import place_at
from askless.app.words.wording import money
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.ensemble import Knee
from askless.core.model.figures import QUANTILE
from askless.core.model.model import Curve, Model

# A smaller saving is not worth a headline.
WORTH_TELLING = 0.9


class Saving(NamedTuple):
    """The least mean spend that reaches the error of the largest budget."""

    #: of the mean spend at the largest budget, below 1
    share: float
    error: float
    #: in micro-units
    spend: float
    whole_spend: float


def compute_saving(curve: Curve) -> Saving | None:
    """Return how much cheaper the error of the largest budget can be had.

    The rule: of all budgets whose error is not above that of the largest budget, the
    one of least mean spend; its share of the mean spend at the largest budget. None if
    the share is `WORTH_TELLING` or more, or if the largest budget spends nothing.
    """
    error, whole = curve.errors_calibrated[-1], curve.mean_spends[-1]
    pairs = zip(curve.errors_calibrated, curve.mean_spends, strict=True)
    spend = min(spent for reached, spent in pairs if reached <= error)
    if whole <= 0 or spend / whole >= WORTH_TELLING:
        return None
    return Saving(spend / whole, error, spend, whole)


def half_spend_place(curve: Curve) -> int | None:
    """Return the largest budget of at most half the greatest mean spend."""
    half = curve.mean_spends[-1] / 2
    within = [
        place
        for place, mean_spend in enumerate(curve.mean_spends)
        if mean_spend <= half
    ]
    return within[-1] if within else None


def knee_place(curve: Curve, knees: Sequence[Knee]) -> int | None:
    """Return the position of the worthwhile part of the largest limited budget.

    It is where sessions under that budget end by themselves. None if the curve has no
    limited budget.
    """
    limited = [budget for budget in curve.budgets if budget is not None]
    if not limited:
        return None
    parts = [knee.worthwhile for knee in knees if knee.budget is not None]
    return place_at(curve, parts[-1] if parts else limited[-1])


def describe_knee(model: Model) -> str:
    """Return as a clause where nothing more is worth its price; "" if nowhere."""
    ensemble, curve = model.ensemble, model.curve
    knees = ensemble.knees
    limited = [knee.worthwhile for knee in knees if knee.budget is not None]
    if curve is None or not limited:
        return ""
    part = limited[-1]
    # The largest budget that adds nothing to the part.
    last = [knee for knee in knees if knee.worthwhile == part][-1]
    places = place_at(curve, part), place_at(curve, last.budget)
    if part is None or last.budget == part or None in places:
        return ""
    less, more = (curve.mean_spends[place] for place in places if place is not None)
    unit = ensemble.catalogue.cost_unit
    most = "no limit" if last.budget is None else money(last.budget, unit)
    spend = money(round(more - less, -4), unit)
    gain = describe_rest(last, unit, has_costs=ensemble.error_costs is not None)
    return (
        f"going on from {money(part, unit)} to {most} is not worth it: {spend} more on "
        f"average {gain}"
    )


def describe_rest(knee: Knee, unit: str, *, has_costs: bool) -> str:
    """Return what the part of a budget beyond the worthwhile one saves on top."""
    if knee.gain is None or knee.standard_error is None:
        return "which training found not to pay"
    reach = QUANTILE * knee.standard_error
    low, high = knee.gain - reach, knee.gain + reach
    if high <= 0:
        return "for no error fewer"
    if has_costs:
        most = money(round(high * MICROS_PER_UNIT, -4), unit)
        return f"for at most {most} of error costs saved in a case"
    fewer, more = max(0, math.floor(100 * low)), math.ceil(100 * high)
    noun = "error" if more == 1 else "errors"
    amount = f"{fewer} to {more}" if 0 < fewer < more else f"at most {more}"
    return f"for {amount} {noun} fewer in 100 cases"


def best_places_so_far(curve: Curve) -> list[int]:
    """Return for each budget the position of the least error up to it."""
    places: list[int] = []
    for place, error in enumerate(curve.errors_calibrated):
        is_better = not places or error < curve.errors_calibrated[places[-1]]
        places.append(place if is_better else places[-1])
    return places


def noise_in_points(curve: Curve) -> int:
    """Return the percentage points below which two errors differ by chance.

    It is half the median width of the 95 % intervals, rounded up.
    """
    widths = sorted(high - low for low, high in curve.intervals)
    return max(1, math.ceil(100 * widths[len(widths) // 2] / 2))
