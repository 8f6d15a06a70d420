"""Play sessions in time: calls take seconds, and several may be on their way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.prices import MICROS_PER_UNIT, price_feature
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import book_purchase, compute_paid, list_revealed
from askless.core.session.machine import decide_next_step, forecast
from askless.core.session.plans.overlap import Awaited, Move, choose_move, expect_left
from askless.core.session.state import Answer, Purchase, State

#: the next move of a session with its calls on their way
Chooser = Callable[[Ensemble, State, Sequence[Awaited]], Move]


class TimedEnd(NamedTuple):
    """The end of a session that was played in time."""

    #: in micro-units; calls that the end did not wait for are paid, too
    spent: int
    seconds: float
    #: that cost something
    n_calls: int
    #: position of the class to act on
    label: int


@dataclass(frozen=True)
class TimedFigures:
    """Means by row under one budget or aim; money in micro-units."""

    budget: int | None
    at_once: int
    error: float
    spend: float
    seconds: float
    calls: float

    def total(self, value_of_second: float) -> float:
        """Money, and seconds at their price."""
        return self.spend + value_of_second * MICROS_PER_UNIT * self.seconds


class CallMade(NamedTuple):
    """A call on its way, with what it will bring."""

    began: float
    arrives: float
    #: reserved for it, in micro-units
    reserved: int
    purchase: Purchase


def play_in_time(
    ensemble: Ensemble,
    state: State,
    values: FloatArray,
    seconds: FloatArray,
    choose: Chooser = choose_move,
) -> TimedEnd:
    """Play a session whose calls each take their time.

    Parameters
    ----------
    state : State
        As it was started, with the pace at which it weighs seconds.
    values : float64 array, shape (n_features,)
        The answers; NaN where a feature comes without a value.
    seconds : float64 array, shape (n_features,)
        How long the call for each feature's offer takes, empty or not.
    """
    now, made, n_calls = 0.0, list[CallMade](), 0
    while True:
        move = choose(ensemble, state, list_awaited(state, made, now))
        if move.feature_idx is not None:
            idx = move.feature_idx
            call = make_call(ensemble, state, idx, values)
            arrives = now + float(seconds[idx])
            call = call._replace(began=now, arrives=arrives)
            made.append(call)
            n_calls += call.reserved > 0
            state = replace(state, held=state.held + call.reserved)
            continue
        if move.is_over or not made:
            break
        arrived = min(made, key=lambda call: call.arrives)
        made.remove(arrived)
        now = arrived.arrives
        state = replace(state, held=state.held - arrived.reserved, is_led=False)
        state = book_purchase(ensemble.catalogue, state, arrived.purchase)
        state = decide_next_step(ensemble, state)
    late = sum(call.purchase.amount for call in made)
    label = forecast(ensemble, state).label
    return TimedEnd(state.spent + late, now, n_calls, label)


def list_awaited(state: State, made: Sequence[CallMade], now: float) -> list[Awaited]:
    """Return calls as their session sees them: it expects what its pace says."""
    awaited = []
    for call in made:
        idx = call.purchase.feature_idx
        usual = 0.0 if state.pace is None else state.pace.seconds[idx]
        left = expect_left(usual, now - call.began)
        awaited.append(Awaited(idx, call.reserved, left))
    return awaited


def make_call(
    ensemble: Ensemble, state: State, idx: int, values: FloatArray
) -> CallMade:
    """Return a call for a feature's offer, with the answer that it will bring."""
    catalogue = ensemble.catalogue
    price = price_feature(catalogue, compute_paid(catalogue, state), idx)
    revealed = list_revealed(catalogue, state, idx)
    if np.isnan(values[list(revealed)]).all():
        amount = price if catalogue.is_per_call[idx] else 0
        answers = tuple(Answer(other, "unavailable") for other in revealed)
        return CallMade(0.0, 0.0, price, Purchase(idx, amount, "miss", answers))
    answers = tuple(
        Answer(other, "unavailable")
        if np.isnan(values[other])
        else Answer(other, "value", float(values[other]))
        for other in revealed
    )
    return CallMade(0.0, 0.0, price, Purchase(idx, price, "charge", answers))
