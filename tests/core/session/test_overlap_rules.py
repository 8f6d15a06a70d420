"""Sessions of every policy whose calls are on their way together, at random."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askless.core.catalogue.prices import price_feature
from askless.core.session import machine
from askless.core.session.answers import compute_paid, list_revealed
from askless.core.session.plans import overlap
from askless.core.session.plans.overlap import Awaited, choose_move
from askless.core.session.policies import POLICIES, list_serving_policies
from askless.core.session.state import Aim, Answer, Pace, Purchase, StopRule
from tests import strategies
from tests.core.session.test_explorations import EVERY_KIND
from tests.levels import at_most
from tests.sessions import NEVER

AIMS = (
    st.none()
    | st.builds(Aim, error_price=st.integers(0, 10_000_000))
    | st.builds(Aim, mean_budget=st.integers(0, 9_000_000))
)
STOPS = st.sampled_from([NEVER, StopRule(), StopRule(certain=False, max_questions=2)])


@st.composite
def paced_sessions(draw):
    """A session for which seconds are money, just begun."""
    ensemble = draw(EVERY_KIND)
    policy = draw(st.sampled_from(list_serving_policies(ensemble)))
    takes_aims = POLICIES[policy].look_ahead(ensemble, None) is not None
    idxs = range(len(ensemble.catalogue.features))
    assume(len(idxs) > 2)
    known = draw(st.sets(st.sampled_from(idxs), max_size=1))
    state = machine.start(
        ensemble,
        draw(st.sampled_from((None, 3_000_000, 12_000_000))),
        seed=draw(st.sampled_from((0, 7, 2**64 - 1))),
        known=dict.fromkeys(known, 0.0),
        policy=policy,
        stop=draw(STOPS),
        aim=draw(AIMS) if takes_aims else None,
        explore=draw(st.sampled_from((0.0, 0.5))),
    )
    seconds = draw(
        st.lists(st.sampled_from((0.5, 8.0)), min_size=len(idxs), max_size=len(idxs))
    )
    price = draw(st.sampled_from((1e3, 1e9, 1e12)))
    pace = Pace(tuple(seconds), price, draw(st.integers(2, 4)))
    return ensemble, machine.decide_next_step(ensemble, replace(state, pace=pace))


def end_call(draw, ensemble, state, call):
    """What comes of a call: values, nothing, a failure, or no answer in time."""
    catalogue, idx = ensemble.catalogue, call.feature_idx
    revealed = list_revealed(catalogue, state, idx)
    kind = draw(st.sampled_from(("value", "unavailable", "unknown", "ordered")))
    if kind == "value":
        values = [
            draw(strategies.cells(catalogue.features[other])) for other in revealed
        ]
        answers = tuple(
            Answer(other, "unavailable")
            if np.isnan(value)
            else Answer(other, "value", float(value))
            for other, value in zip(revealed, values, strict=True)
        )
        return Purchase(idx, call.amount, "charge", answers)
    answers = tuple(Answer(other, kind) for other in revealed)
    if kind == "ordered":
        return Purchase(idx, call.amount, "charge", answers)
    is_charged = kind == "unavailable" and bool(catalogue.is_per_call[idx])
    return Purchase(idx, call.amount if is_charged else 0, "miss", answers)


@pytest.mark.slow
@at_most(60)
@given(paced_sessions(), st.data())
def test_what_leaves_is_open_not_on_its_way_and_within_the_budget(session, data):
    ensemble, state = session
    chances = np.full(len(ensemble.catalogue.features), 0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "N_DRAWS", 6)
        if data.draw(st.booleans()):
            patch.setattr(overlap, "expect_empty", lambda _: chances)
        play(data.draw, ensemble, state)


def play(draw, ensemble, state):
    """Play a session to its end; calls end in any order."""
    catalogue = ensemble.catalogue
    awaited: list[Awaited] = []
    for _ in range(4 * len(catalogue.features) + 4):
        move = choose_move(ensemble, state, awaited)
        idx = move.feature_idx
        if idx is not None:
            gone = {
                member
                for call in awaited
                for member in catalogue.offer_of(call.feature_idx)
            }
            assert state.outcomes[idx] is None
            assert idx not in gone
            assert len(awaited) < state.pace.at_once
            price = price_feature(catalogue, compute_paid(catalogue, state), idx)
            assert state.remaining is None or price <= state.remaining
            awaited.append(Awaited(idx, price, state.pace.seconds[idx]))
            state = replace(state, held=state.held + price)
            continue
        if move.is_over or not awaited:
            break
        call = awaited.pop(draw(st.integers(0, len(awaited) - 1)))
        purchase = end_call(draw, ensemble, state, call)
        state = replace(state, held=state.held - call.amount)
        state = machine.take_purchase(ensemble, state, purchase)
    assert move.is_over
