"""What features cost in the order of use: the budgets where a plan grows."""

import numpy as np

from core.model.ensemble import Ensemble
from core.table.prices import Paid, buy


def purchase_budgets(ensemble: Ensemble, most: int) -> tuple[int | None, ...]:
    """Return the budgets that pay one feature more, evenly thinned to `most`.

    In the order in which hypotheses need them: for stumps where the plan of `ordered`
    grows; a tree votes before its last feature is paid. The first is 0, the last
    unlimited.
    """
    spends, paid = [0], Paid()
    for feature_idx in ensemble.first_uses:
        amount, paid = buy(ensemble.catalogue, paid, (feature_idx,))
        spends.append(spends[-1] + amount)
    steps = sorted(set(spends))
    if len(steps) > most - 1:
        picks = np.linspace(0, len(steps) - 1, most - 1).round().astype(int)
        steps = [steps[pick] for pick in picks]
    return (*steps, None)
