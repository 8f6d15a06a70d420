"""Read, change and show the budget and the aim of a session."""

from askless.app.documents.http.terms import AimWish, SessionAim, TermsRequest
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.aims import change_aim, check_aim
from askless.core.session.policies import POLICIES
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


def aim_of(ensemble: Ensemble, state: State) -> SessionAim | None:
    """Return a session's aim with the mean spend and error of such sessions."""
    if state.aim is None:
        return None
    outlook = POLICIES[state.policy].look_ahead(ensemble, state.aim)
    assert outlook is not None, "its policy takes aims"
    return SessionAim.of(
        state.aim, expected_spend=outlook.spend, expected_error=outlook.error
    )
