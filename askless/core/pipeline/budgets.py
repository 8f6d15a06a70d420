"""Choose the budgets of curves and of calibrations."""

import math
from collections.abc import Iterator

import numpy as np

from askless.core.catalogue.prices import Paid, buy
from askless.core.model.ensemble import Ensemble

# Most points of a curve, with budgets 0 and unlimited among them.
MAX_CURVE_POINTS = 12

# Leading digits within each power of ten; the first row with few enough points is used.
ROUND_FIGURES = (
    (10, 15, 20, 30, 40, 50, 60, 80),
    (10, 20, 30, 50),
    (10, 20, 50),
    (10,),
)


def usual_budgets(ensemble: Ensemble) -> tuple[int | None, ...]:
    """Return at most `MAX_CURVE_POINTS` budgets that people would choose.

    They are the amounts at which something becomes affordable. If these are too many,
    they are round figures, without those that buy no more than the one before. The
    first is 0, the last unlimited.
    """
    steps = chosen = purchase_steps(ensemble)
    for figures in ROUND_FIGURES:
        if len(chosen) < MAX_CURVE_POINTS:
            break
        amounts = [0, *round_amounts(figures, steps[-1])]
        # Each amount pays so many purchases; of equal numbers keep the first.
        n_paid = np.searchsorted(steps, amounts, "right")
        _, firsts = np.unique(n_paid, return_index=True)
        chosen = [amounts[first] for first in firsts]
    return thin_steps(chosen, MAX_CURVE_POINTS)


def round_amounts(figures: tuple[int, ...], most: int) -> Iterator[int]:
    """Yield amounts with these leading digits below a bound; micro-units, ascending."""
    power = 1
    while power < most:
        yield from (
            # A figure of 15 means 1.5 times the power: it is left out if not whole.
            figure * power // 10
            for figure in figures
            if figure * power % 10 == 0 and figure * power // 10 < most
        )
        power *= 10


def purchase_budgets(ensemble: Ensemble, most: int) -> tuple[int | None, ...]:
    """Return the budgets that each pay one feature more, evenly thinned to `most`.

    The first is 0, the last unlimited.
    """
    return thin_steps(purchase_steps(ensemble), most)


def thin_steps(steps: list[int], most: int) -> tuple[int | None, ...]:
    """Thin amounts evenly to `most` budgets, the last of them unlimited."""
    if len(steps) > most - 1:
        picks = np.linspace(0, len(steps) - 1, most - 1).round().astype(int)
        steps = [steps[pick] for pick in picks]
    return (*steps, None)


def purchase_steps(ensemble: Ensemble) -> list[int]:
    """Return 0 and the amounts that each pay one feature more, in micro-units.

    Features come in the order in which hypotheses need them: for stumps these are the
    amounts at which the plan of `ordered` grows; a tree votes before its last feature
    is paid. If there are panels, the amounts are their prices instead.
    """
    spends, paid = [0], Paid()
    for feature_idx in ensemble.first_uses:
        amount, paid = buy(ensemble.catalogue, paid, (feature_idx,))
        spends.append(spends[-1] + amount)
    if ensemble.panels is not None:
        orders = [panel.feature_idxs for panel in ensemble.panels.panels]
        spends = [buy(ensemble.catalogue, Paid(), order)[0] for order in orders]
    return sorted(set(spends))


def single_steps(ensemble: Ensemble) -> list[int]:
    """Return prices of single features below that of any panel, in micro-units.

    A budget that pays no panel buys such a feature where it helps.
    """
    ladder, catalogue = ensemble.panels, ensemble.catalogue
    if ladder is None:
        return []
    least = next(
        (
            purchase_step
            for purchase_step in purchase_steps(ensemble)
            if purchase_step > 0
        ),
        math.inf,
    )
    read = np.flatnonzero(ladder.members.any(axis=0)).tolist()
    prices = {buy(catalogue, Paid(), (idx,))[0] for idx in read}
    return sorted(price for price in prices if 0 < price < least)
