"""Read, change and show the budget and the aim of a session."""

import numpy as np

from askless.app.documents.http.terms import AimWish, SessionAim, TermsRequest
from askless.app.documents.model.card import read_mean_budgets
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.aims import change_aim, check_aim
from askless.core.session.policies import POLICIES
from askless.core.session.policy import Outlook
from askless.core.session.state import Aim, State


def requested_aim(
    wish: AimWish | None, ensemble: Ensemble, policy: str | None
) -> Aim | None:
    """Return a requested aim; refuse one that `policy`, or no policy, can take."""
    return None if wish is None else check_aim(wish.to(Aim), ensemble, policy, "aim")


def change_state(ensemble: Ensemble, state: State, request: TermsRequest) -> State:
    """Return a state under other terms; raise RefusedError if none is named."""
    changed = request.model_fields_set
    if not changed:
        raise RefusedError([Refusal("budget", "is required, or aim")])
    aim = requested_aim(request.aim, ensemble, state.policy)
    if "budget" in changed and request.budget != state.budget:
        state = machine.change_budget(ensemble, state, request.budget)
    if "aim" in changed and aim != state.aim:
        state = change_aim(ensemble, state, aim)
    return state


def aim_of(model: Model, state: State) -> SessionAim | None:
    """Return a session's aim with the mean spend and error of such sessions."""
    if state.aim is None:
        return None
    outlook = POLICIES[state.policy].look_ahead(model.ensemble, state.aim)
    assert outlook is not None, "its policy takes aims"
    spend, error = measure_outlook(model, outlook)
    return SessionAim.of(state.aim, expected_spend=spend, expected_error=error)


def measure_outlook(model: Model, outlook: Outlook) -> Outlook:
    """Return what a model's card says of sessions with the mean spend of an outlook.

    The error by which training chose a rule is too low; the card's is of rows that
    didn't choose. Between two of the card's mean budgets, and below the least, it lies
    on the line between both. The outlook stays where the card says nothing of it:
    without folds, at other prices, and with error costs.
    """
    points = [
        (point.mean_budget, point.mean_spend, point.error)
        for point in read_mean_budgets(model)
    ]
    measured = model.ensemble.measured
    if not points or measured is None or model.ensemble.error_costs is not None:
        return outlook
    start = 0.0, 0.0, measured.rate_at(0)
    budgets, spends, errors = zip(start, *sorted(points), strict=True)
    budget = outlook.spend / MICROS_PER_UNIT
    spend = float(np.interp(budget, budgets, spends))
    return Outlook(spend * MICROS_PER_UNIT, float(np.interp(budget, budgets, errors)))
