"""Spend and error of sessions with a mean budget, for the card."""

from collections.abc import Sequence

import numpy as np

from askless.core.catalogue.prices import MICROS_PER_UNIT, from_micros
from askless.core.model.ensemble import Ensemble
from askless.core.pipeline.certificates import UnseenRows
from askless.core.pipeline.playing import pick_played
from askless.core.session.policies import POLICIES, served_by
from askless.core.session.state import Aim
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset

# Mean budgets, as shares of the spend of least error.
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


def report_mean_budgets(
    whole: Ensemble, folds: Sequence[UnseenRows], seen: Dataset, seed: int
) -> dict[str, object]:
    """Return the card's figures of mean budgets, in units; empty if none are served.

    Errors come from the folds, whose ensembles never saw the rows that judge them.
    Spends come from simulated sessions of the model itself, on rows of its training.
    """
    policy, most = find_greatest_spend(whole)
    budgets = sorted({round(share * most) for share in SHARES} - {0})
    if not folds or not budgets:
        return {}
    aims = [Aim(mean_budget=budget) for budget in budgets]
    limits = [None] * len(aims)
    curves = [
        evaluate(one.ensemble, one.rows, limits, policy, seed, aims=aims)
        for one in folds
    ]
    sizes = np.array([one.rows.n_samples for one in folds], np.float64)
    shares = sizes / sizes.sum()
    rows = pick_played(seen)
    spends = evaluate(whole, rows, limits, policy, seed, aims=aims).mean_spends
    errors = shares @ [curve.errors_calibrated for curve in curves]
    points = [
        {
            "mean_budget": from_micros(budget),
            "mean_spend": round(spend / MICROS_PER_UNIT, 6),
            "error": round(float(error), 6),
        }
        for budget, spend, error in zip(budgets, spends, errors, strict=True)
    ]
    return {"mean_budgets": points}


def find_greatest_spend(whole: Ensemble) -> tuple[str, float]:
    """Return the policy that serves mean budgets, and its mean spend at least error.

    The spend is in micro-units. Without such a policy: the model's own policy and 0.
    """
    for name in served_by(whole):
        outlook = POLICIES[name].look_ahead(whole, None)
        if outlook is not None:
            return name, outlook.spend
    return whole.policy, 0.0
