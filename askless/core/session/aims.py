"""Check and change the aim of a session: what cases should reach on average."""

from dataclasses import replace
from decimal import ROUND_CEILING, Context

from askless.core.errors import ClosedError, Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.session.machine import decide_next_step
from askless.core.session.policies import (
    POLICIES,
    check_policy,
    default_policy,
    list_serving_policies,
)
from askless.core.session.state import Aim, State

ONE_RULE = "must be one of mean_budget, wanted_error and error_price"


def check_aim(aim: Aim, ensemble: Ensemble, policy: str | None, where: str) -> Aim:
    """Return the aim if sessions of an ensemble can reach it.

    `policy` is the one that is to ask; None: the first that takes aims. `where` names
    the field in refusals. Raises `RefusedError` for an aim without exactly one field
    set, a policy that does not serve the ensemble or takes no aims, and a wanted error
    below the least that is reached.
    """
    given = [name for name in Aim.__slots__ if getattr(aim, name) is not None]
    if len(given) != 1:
        raise RefusedError([Refusal(where, ONE_RULE, f"{len(given)} of them")])
    name = policy or default_policy(ensemble, None, aim)
    if policy is not None:
        check_policy(policy, ensemble, "policy")
    outlook = POLICIES[name].look_ahead(ensemble, None)
    if outlook is None:
        raise RefusedError([Refusal(where, unsupported_aim_rule(ensemble, name))])
    if aim.wanted_error is not None and aim.wanted_error < outlook.error:
        least = round_up(outlook.error)
        rule = f"must be at least {least}, the least that this model reaches"
        raise RefusedError([Refusal(f"{where}.wanted_error", rule)])
    return aim


def unsupported_aim_rule(ensemble: Ensemble, name: str) -> str:
    """Return the broken rule where a policy takes no aims: it names one that does."""
    takers = [
        policy_name
        for policy_name in list_serving_policies(ensemble)
        if POLICIES[policy_name].look_ahead(ensemble, None) is not None
    ]
    whose = f"is for sessions of the policy {takers[0]}, " if takers else "is "
    return f"{whose}not for the policy {name}"


def round_up(error: float) -> str:
    """Return an error as text with four significant digits, rounded up."""
    digits = Context(prec=4, rounding=ROUND_CEILING).create_decimal(error)
    return f"{float(digits):g}"


def change_aim(ensemble: Ensemble, state: State, aim: Aim | None) -> State:
    """Change the aim of a session, and choose the next question anew.

    Raises `ClosedError` where the session was stopped.
    """
    if state.is_ended:
        raise ClosedError("the session was stopped")
    # Answers so far were chosen for another aim.
    is_led = state.is_led and not state.history
    return decide_next_step(
        ensemble, replace(state, aim=aim, is_led=is_led, step_chances=())
    )
