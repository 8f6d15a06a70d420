"""Weigh the seconds of a run: how long its calls take, and when its time is over."""

from dataclasses import replace
from datetime import timedelta

from askless.app.documents.buying.runs import RunTerms
from askless.app.records import StoredCall
from askless.app.service.buying.offers import Filler, offer_name
from askless.app.service.buying.turns import RunTurn, is_over, list_usable
from askless.app.service.buying.watching import learn_latency
from askless.app.store.buying import calls
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.session.machine import decide_next_step
from askless.core.session.plans.overlap import Awaited, Move, choose_move, expect_left
from askless.core.session.state import Pace

# Seconds that a provider is expected to take before any of its answers was timed.
UNTIMED_S = 1.0
# Calls of which the latency is learned, and how long that is kept.
NEWEST = 200
KEPT = timedelta(seconds=60)


def choose(turn: RunTurn) -> Move:
    """Return the next move of a run: a call, or to wait, or to end.

    Without terms its calls leave one after the other, and seconds cost nothing.
    """
    awaited = list_awaited(turn)
    if turn.run.terms is None:
        if is_over(turn.state):
            return Move(None, is_over=True)
        return Move(None if awaited else turn.state.next_feature_idx)
    if turn.state.is_ended or is_out_of_time(turn):
        return Move(None, is_over=True)
    state = replace(turn.state, pace=make_pace(turn))
    state = decide_next_step(turn.opened.model.ensemble, state)
    return choose_move(turn.opened.model.ensemble, state, awaited)


def terms_of(turn: RunTurn) -> RunTerms:
    return RunTerms.model_validate(turn.run.terms)


def find_time_left(turn: RunTurn) -> float | None:
    """Return the seconds that a run has left; None: it has no deadline."""
    terms = turn.run.terms
    if terms is None or terms["deadline_s"] is None:
        return None
    elapsed = (turn.at.now - turn.run.created_at).total_seconds()
    return float(terms["deadline_s"]) - elapsed


def is_out_of_time(turn: RunTurn) -> bool:
    left = find_time_left(turn)
    return left is not None and left <= 0


def comes_too_late(turn: RunTurn, filler: Filler) -> bool:
    """Return whether a provider is expected to answer after the run's deadline.

    Its turn by its calls a second may be late already.
    """
    left, usual = find_time_left(turn), learn_seconds(turn, filler.name)
    next_at = filler.stored.next_at or turn.at.now
    wait_s = max((next_at - turn.at.now).total_seconds(), 0.0)
    return left is not None and wait_s + (usual or 0.0) > left


def make_pace(turn: RunTurn) -> Pace:
    """Return how long each offer's answer is expected to take, and what that costs."""
    catalogue, terms = turn.opened.model.ensemble.catalogue, terms_of(turn)
    by_offer: dict[str, float] = {}
    seconds = []
    for idx in range(len(catalogue.features)):
        name = offer_name(catalogue, idx)
        if name not in by_offer:
            usable = list_usable(turn, name, turn.state)
            first = usable[0].name if usable else None
            by_offer[name] = 0.0 if first is None else expect_seconds(turn, first)
        seconds.append(by_offer[name])
    return Pace(tuple(seconds), terms.value_of_second * MICROS_PER_UNIT, terms.at_once)


def expect_seconds(turn: RunTurn, provider: str) -> float:
    usual = learn_seconds(turn, provider)
    return UNTIMED_S if usual is None else usual


def learn_seconds(turn: RunTurn, provider: str) -> float | None:
    """Return the median of the seconds of a provider's newest answers; None: none."""
    cache, key = turn.buying.latencies, (turn.run.tenant_id, provider)
    learned = cache.get(key)
    if learned is None or turn.at.now - learned[0] > KEPT:
        latency = learn_latency(calls.list_newest(turn.db, provider, NEWEST))
        seconds = None if latency is None else latency.p50_ms / 1000
        learned = cache[key] = turn.at.now, seconds
    return learned[1]


def list_on_the_way(turn: RunTurn) -> list[StoredCall]:
    return [call for call in turn.made.values() if call.state in calls.ON_THE_WAY]


def list_awaited(turn: RunTurn) -> list[Awaited]:
    """Return the calls on their way, with how long they may still take."""
    feature_idxs = turn.opened.model.ensemble.catalogue.feature_idxs
    awaited = []
    for call in list_on_the_way(turn):
        since = call.sent_at or call.created_at
        elapsed = max((turn.at.now - since).total_seconds(), 0.0)
        left = expect_left(expect_seconds(turn, call.provider), elapsed)
        awaited.append(Awaited(feature_idxs[call.features[0]], call.price, left))
    return awaited
