"""Take back charges of a session; its answers stay."""

from dataclasses import replace

from core.model.ensemble import Ensemble
from core.session.machine import advance
from core.session.state import State


def reverse(ensemble: Ensemble, state: State, feature_idx: int) -> State:
    """Take back what a feature was charged, and find the next question anew.

    The next answer to the feature that differs, or an order, is charged at the price of
    then. A fee that the charge held is due again with the next charge of its group.
    Sessions that have ended take this too. The feature must have been charged.
    """
    standing = tuple(one for one in state.charges if one.feature_idx != feature_idx)
    assert len(standing) == len(state.charges) - 1, "charged once"
    back = replace(state, charges=standing, is_led=False, step_chances=())
    return advance(ensemble, back)
