"""Single figures of a curve: savings, half the cost, the knee, and chance.

All of it rests on the curve's errors on held-out rows and on its mean spends.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from askless.app.words.trust import place_at
from askless.app.words.wording import money
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.ensemble import Knee
from askless.core.model.figures import QUANTILE
from askless.core.model.model import Curve, Model

# A saving whose lower end is smaller is not worth a headline.
LEAST_SAVED = 0.1


class Saving(NamedTuple):
    """What the worthwhile part of the largest budget saves of its whole mean spend."""

    #: mean spend under the part and under the whole, in micro-units
    spend: float
    whole_spend: float
    #: error under the part and under the whole
    error: float
    whole_error: float
    #: 95 % interval of the first error minus the second, by paired rows
    lost: tuple[float, float]
    #: lower end of the share of the cost that is saved
    least: float

    @property
    def share(self) -> float:
        """Mean spend under the part as a share of the whole one."""
        return self.spend / self.whole_spend


def compute_saving(model: Model) -> Saving | None:
    """Return how much cheaper the worthwhile part of the largest budget is.

    None if nothing of the budget can be left, if that was not measured by paired rows,
    if errors have costs, or if the lower end is less than `LEAST_SAVED`.

    Notes
    -----
    The cost of an error avoided is the mean spend over the errors avoided: those of
    the smallest budget minus those made. The share that the part saves of this cost
    has its lower end where as many errors are lost as the interval has room for: a
    cheap part that may err more saves less, or nothing. The errors are those of rows
    that did not choose the part, and so the centre of the interval; its width is that
    of the paired rows.
    """
    curve, knees = model.curve, model.ensemble.knees
    if curve is None or not knees or model.ensemble.error_costs is not None:
        return None
    knee = knees[-1]
    if knee.standard_error is None:
        return None
    part, whole = (place_at(curve, end) for end in (knee.worthwhile, knee.budget))
    if part is None or whole is None or curve.mean_spends[whole] <= 0:
        return None
    errors = curve.errors_calibrated
    reach = QUANTILE * knee.standard_error
    middle = errors[part] - errors[whole]
    lost = middle - reach, middle + reach
    avoided = errors[0] - errors[whole]
    surely_avoided = avoided - max(0.0, lost[1])
    if surely_avoided <= 0:
        return None
    spend, whole_spend = curve.mean_spends[part], curve.mean_spends[whole]
    least = 1.0 - spend / whole_spend * avoided / surely_avoided
    if least < LEAST_SAVED:
        return None
    return Saving(spend, whole_spend, errors[part], errors[whole], lost, least)


def describe_lost(saving: Saving) -> str:
    """Return how many errors more the part makes at most, in 100 cases."""
    most = math.ceil(100 * saving.lost[1])
    if most <= 0:
        return "and no more errors"
    return f"and at most {most} more {'error' if most == 1 else 'errors'} in 100 cases"


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

    It is half the median width of the 95 % intervals, rounded up. Budgets are compared
    by the same ensembles.
    """
    alike = replace(curve, n_trained=None)
    widths = sorted(high - low for low, high in alike.intervals)
    return max(1, math.ceil(100 * widths[len(widths) // 2] / 2))
