"""The forecast of a session: label, probabilities and margin from its vote."""

import math

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.session.policy import Policy
from askless.core.session.probability import decide
from askless.core.session.rows.walks import Standing
from askless.core.session.state import Forecast


def make_forecast(ensemble: Ensemble, policy: Policy, standing: Standing) -> Forecast:
    """Return what a policy predicts from the current vote of one session.

    With nothing known or a tie the label is the majority class; with nothing known (for
    two classes also on a tie) the probabilities are the priors. `hoeffding_p` is
    exp(-N m^2/2) for N draws (Reyzin 2010, Corollary 3, one-sided), times K - 1 for K
    classes (union bound). For fixed N it bounds the chance of such a lead if the full
    vote pointed elsewhere; it is not a probability of error.
    """
    chances = policy.chances(ensemble, standing)
    lead, n_draws = compute_lead(standing.margins), policy.n_draws(standing)
    hoeffding_p = None
    if n_draws is not None:
        n_rivals = len(ensemble.classes) - 1
        hoeffding_p = min(1.0, n_rivals * math.exp(-n_draws * lead**2 / 2))
    return Forecast(
        label=int(decide(ensemble, chances)),
        vote=int(policy.votes(ensemble, standing)),
        probabilities=tuple(chances.tolist()),
        margin=lead,
        known_share=float(standing.known_shares),
        n_draws=n_draws,
        hoeffding_p=hoeffding_p,
    )


def compute_lead(margins: FloatArray) -> float:
    """Return `Forecast.margin` from the margins of one row, (n_outputs,)."""
    if margins.size == 1:
        return float(margins[0])
    second, first = np.sort(margins)[-2:].tolist()
    return float(first - second) / 2
