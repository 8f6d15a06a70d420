"""Read, change and show the budget and the aim of a session."""

from app.documents.http.terms import AimWish, SessionAim, TermsRequest
from core.errors import Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.session import machine
from core.session.aims import change_aim, check_aim
from core.session.policies import POLICIES
from core.session.state import Aim, State


def check_wish(
    wish: AimWish | None, ensemble: Ensemble, policy: str | None
) -> Aim | None:
    """Return the aim that a caller wishes, which `policy` or some policy takes."""
    return None if wish is None else check_aim(wish.to(Aim), ensemble, policy, "aim")


def change_state(ensemble: Ensemble, state: State, request: TermsRequest) -> State:
    """Return a state under other terms; the same one where nothing changes."""
    given = request.model_fields_set
    if not given:
        raise RefusedError([Refusal("budget", "is required, or aim")])
    aim = check_wish(request.aim, ensemble, state.policy)
    if "budget" in given and request.budget != state.budget:
        state = machine.change_budget(ensemble, state, request.budget)
    if "aim" in given and aim != state.aim:
        state = change_aim(ensemble, state, aim)
    return state


def aim_of(ensemble: Ensemble, state: State) -> SessionAim | None:
    """Return the aim of a session, with what sessions of it come to on average."""
    if state.aim is None:
        return None
    outlook = POLICIES[state.policy].look_ahead(ensemble, state.aim)
    assert outlook is not None, "its policy takes aims"
    return SessionAim.of(
        state.aim, expected_spend=outlook.spend, expected_error=outlook.error
    )
