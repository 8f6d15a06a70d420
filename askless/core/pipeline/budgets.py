"""Choose the budgets of curves and of calibrations, and find what pays of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.prices import MICROS_PER_UNIT, Paid, buy
from askless.core.model.ensemble import Ensemble, Knee
from askless.core.pipeline.comparison import average_differences, compute_error_costs
from askless.core.session.probability import decide_label
from askless.core.simulation.figures import LEAST_CHANCE, ScoredRows

# Most points of a curve, with budgets 0 and unlimited among them.
MAX_CURVE_POINTS = 12

# Leading digits within each power of ten; the first row with few enough points is used.
ROUND_FIGURES = (
    (10, 15, 20, 30, 40, 50, 60, 80),
    (10, 20, 30, 50),
    (10, 20, 50),
    (10,),
)

# A smaller budget does not do as well if it errs more by this many standard errors of
# the paired difference; or by one, or by this share of the dearest error (few rows
# would let pass too much), where its log-loss is higher by a standard error as well.
CLEAR_ERRORS, ERROR_SLACK = 2.0, 0.005

# It keeps this share of what the larger budget gains in log-loss over the class shares:
# of a rare class labels hardly ever change, but chances do.
LEAST_KEPT = 0.5


def list_usual_budgets(ensemble: Ensemble) -> tuple[int | None, ...]:
    """Return at most `MAX_CURVE_POINTS` budgets that people would choose.

    They are the amounts at which something becomes affordable. If these are too many,
    they are round figures, without those that buy no more than the one before. The
    first is 0, the last unlimited.
    """
    steps = chosen = list_purchase_steps(ensemble)
    for figures in ROUND_FIGURES:
        if len(chosen) < MAX_CURVE_POINTS:
            break
        amounts = [0, *list_round_amounts(figures, steps[-1])]
        # Each amount pays so many purchases; of equal numbers keep the first.
        n_paid = np.searchsorted(steps, amounts, "right")
        _, firsts = np.unique(n_paid, return_index=True)
        chosen = [amounts[first] for first in firsts]
    return thin_steps(chosen, MAX_CURVE_POINTS)


def list_round_amounts(figures: tuple[int, ...], most: int) -> Iterator[int]:
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


def list_purchase_budgets(ensemble: Ensemble, most: int) -> tuple[int | None, ...]:
    """Return 0, budgets that each pay one feature more, and None for no limit."""
    return thin_steps(list_purchase_steps(ensemble), most)


def thin_steps(steps: list[int], most: int) -> tuple[int | None, ...]:
    """Thin amounts evenly to `most` budgets, the last of them unlimited."""
    if len(steps) > most - 1:
        picks = np.linspace(0, len(steps) - 1, most - 1).round().astype(int)
        steps = [steps[pick] for pick in picks]
    return (*steps, None)


def list_purchase_steps(ensemble: Ensemble) -> list[int]:
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


class HeldOutLosses(NamedTuple):
    """Losses of held-out rows under each budget, (n_rows, n_budgets)."""

    #: 1 where the label is wrong
    errors: FloatArray
    #: error cost of the label; without error costs, 1 where it is wrong
    costs: FloatArray
    log_losses: FloatArray
    #: (n_rows,); of the class shares
    prior_losses: FloatArray
    #: (n_rows,); they sum to 1
    weights: FloatArray
    #: (n_rows,)
    groups: IntArray
    #: the most that an error costs
    dearest: float
    #: mean spend in units of prices, which error costs are in too
    spends: tuple[float, ...]
    #: whether errors have costs
    has_costs: bool

    def keep(self, is_kept: BoolArray) -> "HeldOutLosses":
        """Return the losses of some of the rows; (n_rows,)."""
        weights = self.weights[is_kept]
        return self._replace(
            errors=self.errors[is_kept],
            costs=self.costs[is_kept],
            log_losses=self.log_losses[is_kept],
            prior_losses=self.prior_losses[is_kept],
            weights=weights / weights.sum(),
            groups=self.groups[is_kept],
        )


def compute_knees(
    losses: HeldOutLosses, budgets: Sequence[int | None]
) -> tuple[Knee, ...]:
    """Return the knees: the part of each budget that is worth spending.

    The losses are of the rows of the curve, which the ensembles of their folds never
    saw; the budgets, in micro-units and ascending, are theirs. Sessions of `LIMITED`
    policies end by worth; of others pages alone propose the worthwhile part.
    """
    return tuple(
        Knee(budgets[place], budgets[part], *compare_costs(losses, part, place))
        if part < place
        else Knee(budgets[place], budgets[place])
        for place, part in enumerate(choose_worthwhile_budgets(losses))
    )


def choose_worthwhile_budgets(losses: HeldOutLosses) -> list[int]:
    """Return the position of the worthwhile part of each budget.

    Notes
    -----
    Budgets are gone through from the smallest on. The worthwhile part of a budget is
    that of the budget before it if that does as well (`errs_no_more`) and spends no
    more on average; else it is the whole budget. So small gains add up, and who names
    the worthwhile part gets the same session. It is the rule of one standard error
    (Breiman et al. 1984, section 3.4.3) of paired differences, with a bound.
    """
    parts, last = [0], 0
    for place in range(1, len(losses.spends)):
        # Ending early may spend less under a larger budget, at the same error.
        is_cheaper = losses.spends[last] <= losses.spends[place]
        if not is_cheaper or not errs_no_more(losses, last, place):
            last = place
        parts.append(last)
    return parts


def measure_optimism(
    losses: HeldOutLosses, fold_idxs: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return by how much errors and costs at worthwhile parts are too low.

    Parameters
    ----------
    losses : HeldOutLosses
        Of all folds.
    fold_idxs : array
        The fold of each row; (n_rows,).

    Returns
    -------
    errors, costs : array
        (n_budgets,) each; 0 where a budget is no worthwhile part, and for the first.

    Notes
    -----
    A part is chosen where its rows err little, so their error is too low. On rows that
    do not choose it is the mean loss of each fold's rows under the part that the other
    folds choose (as in nested cross-validation, Varma and Simon 2006). A part of
    several budgets has their mean.
    """
    n_budgets = len(losses.spends)
    own = np.array(choose_worthwhile_budgets(losses))
    measures = np.stack([losses.errors, losses.costs])
    chosen = np.zeros((2, n_budgets))
    for fold_idx in np.unique(fold_idxs).tolist():
        is_inside = fold_idxs == fold_idx
        parts = choose_worthwhile_budgets(losses.keep(~is_inside))
        chosen += losses.weights[is_inside] @ measures[:, is_inside][:, :, parts]
    gaps = np.zeros((2, n_budgets))
    for part in np.unique(own[own > 0]).tolist():
        gaps[:, part] = chosen[:, own == part].mean(axis=1)
        gaps[:, part] -= losses.weights @ measures[:, :, part].T
    return gaps[0], gaps[1]


def compute_held_out_losses(
    ensemble: Ensemble, rows: ScoredRows, spends: Sequence[float]
) -> HeldOutLosses:
    """Return the losses of scored rows under each budget.

    `spends` are what the rows spend under them on average, in micro-units.
    """
    costs = ensemble.error_costs
    own = np.take_along_axis(rows.chances, rows.targets[:, None, None], axis=2)[..., 0]
    priors = ensemble.class_priors[rows.targets]
    labels = decide_label(ensemble, rows.chances)
    return HeldOutLosses(
        (labels != rows.targets[:, None]).astype(np.float64),
        compute_error_costs(ensemble, rows.targets, labels),
        -np.log(np.maximum(own, LEAST_CHANCE)),
        -np.log(np.maximum(priors, LEAST_CHANCE)),
        rows.weights / rows.weights.sum(),
        rows.group_idxs,
        1.0 if costs is None else float(np.max(costs)),
        tuple(np.divide(spends, MICROS_PER_UNIT).tolist()),
        costs is not None,
    )


def errs_no_more(losses: HeldOutLosses, less: int, more: int) -> bool:
    """Return whether a budget does as well as a larger one on held-out rows.

    `less` and `more` are their positions. It does where the rows can't tell them apart,
    and where errors have costs also if the larger one saves no more than it spends.
    """
    gap, error = compare_costs(losses, less, more)
    if losses.has_costs and gap <= losses.spends[more] - losses.spends[less]:
        return True
    gaps = losses.log_losses[:, less] - losses.log_losses[:, more]
    lost, lost_error = average_differences(gaps, losses.weights, losses.groups)
    is_lost = gap > min(error, ERROR_SLACK * losses.dearest) and lost > lost_error
    if gap > CLEAR_ERRORS * error or is_lost:
        return False
    gained = losses.weights @ (losses.prior_losses - losses.log_losses[:, more])
    return lost <= max(lost_error, (1.0 - LEAST_KEPT) * float(gained))


def compare_costs(losses: HeldOutLosses, less: int, more: int) -> tuple[float, float]:
    """Return what a larger budget saves of error costs, and its standard error.

    A row that it saves and one that it loses are added to the variance: without them
    one row that differs would be as much as its standard error.
    """
    gaps = losses.costs[:, less] - losses.costs[:, more]
    saved, error = average_differences(gaps, losses.weights, losses.groups)
    sums = np.bincount(losses.groups, losses.weights)
    # Without groups 2/n², the variance of a mean by two rows.
    added = 2.0 * (losses.dearest * float(sums @ sums)) ** 2
    return saved, float(np.sqrt(error**2 + added))
