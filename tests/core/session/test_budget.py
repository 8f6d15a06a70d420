"""A budget that changes while a session goes on."""

import pytest

from askless.core.errors import ClosedError, RefusedError
from askless.core.session import machine
from tests.sessions import observe, small_ensemble


def test_raised_budget_asks_what_it_now_pays():
    ensemble = small_ensemble([7, 50])
    state = observe(ensemble, machine.start(ensemble, 10), 0, "value", 1.0)
    assert state.next_feature_idx is None

    raised = machine.change_budget(ensemble, state, 57)

    assert (raised.next_feature_idx, raised.remaining) == (1, 50)


def test_lowered_budget_asks_no_more_than_it_pays():
    ensemble = small_ensemble([7, 5, 3])
    state = observe(ensemble, machine.start(ensemble, None), 0, "value", 1.0)

    lowered = machine.change_budget(ensemble, state, 7)

    assert (lowered.next_feature_idx, lowered.remaining) == (None, 0)


def test_budget_is_never_below_what_is_spent():
    ensemble = small_ensemble([7, 5])
    state = observe(ensemble, machine.start(ensemble, 100), 0, "value", 1.0)

    with pytest.raises(RefusedError, match="budget: must be at least what is spent"):
        machine.change_budget(ensemble, state, 6)


def test_budget_of_a_stopped_session_stays():
    ensemble = small_ensemble([7])

    with pytest.raises(ClosedError):
        machine.change_budget(ensemble, machine.stop(machine.start(ensemble, 7)), 8)
