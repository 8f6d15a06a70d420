"""Reverse charges of a session; its answers stay."""

from dataclasses import replace

from askless.core.model.ensemble import Ensemble
from askless.core.session.machine import advance
from askless.core.session.state import State


def reverse(ensemble: Ensemble, state: State, feature_idx: int) -> State:
    """Reverse the charge of a feature, and choose the next question anew.

    If the feature is answered differently or ordered later, it is charged at the price
    of that time. A fee in the reversed charge is due again with the next charge of its
    group. Ended sessions allow this too. The feature must have been charged.
    """
    kept = tuple(
        charge for charge in state.charges if charge.feature_idx != feature_idx
    )
    assert len(kept) == len(state.charges) - 1, "charged once"
    reversed_state = replace(state, charges=kept, is_led=False, step_chances=())
    return advance(ensemble, reversed_state)
