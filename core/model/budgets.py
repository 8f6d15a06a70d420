"""What the prefixes of an ensemble cost: the budgets where a plan grows."""

from collections.abc import Sequence

import numpy as np

from core.model.ensemble import Ensemble
from core.table.prices import Paid, buy


def prefix_spends(ensemble: Ensemble) -> list[int]:
    """Give what each prefix of the ensemble costs, in micro-units; (n_hypotheses,)."""
    catalogue, paid, spends = ensemble.catalogue, Paid(), []
    spent = 0
    for hypothesis in ensemble.hypotheses:
        amount, paid = buy(catalogue, paid, hypothesis.feature_idxs)
        spent += amount
        spends.append(spent)
    return spends


def feature_spends(ensemble: Ensemble) -> list[int]:
    """Give what features cost so far, in the order of first use; (n_used,)."""
    catalogue, paid, spends = ensemble.catalogue, Paid(), []
    spent = 0
    for feature_idx in ensemble.first_uses:
        amount, paid = buy(catalogue, paid, (feature_idx,))
        spent += amount
        spends.append(spent)
    return spends


def purchase_budgets(ensemble: Ensemble, most: int) -> tuple[int | None, ...]:
    """Give the budgets that pay one feature more, thinned to `most`.

    In the order in which hypotheses need them: for stumps where the plan of `ordered`
    grows; a tree votes before its last feature is paid. The first is 0, the last
    unlimited.
    """
    return thin_budgets(feature_spends(ensemble), most)


def thin_budgets(spends: Sequence[int], most: int) -> tuple[int | None, ...]:
    """Give what was spent, from 0 to unlimited, evenly thinned to `most`."""
    steps = sorted({0, *spends})
    if len(steps) > most - 1:
        picks = np.linspace(0, len(steps) - 1, most - 1).round().astype(int)
        steps = [steps[pick] for pick in picks]
    return (*steps, None)
