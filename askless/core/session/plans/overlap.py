"""Decide which calls leave together, where waiting costs money as well.

Asking one after the other costs every second of waiting; asking at once costs answers
that turn out not to be needed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.prices import price_feature
from askless.core.kernels import NUMBER_CODE
from askless.core.model.drift import summarise_training_values
from askless.core.model.ensemble import Ensemble
from askless.core.model.values import panel_columns, possible_values
from askless.core.session.answers import book_purchase, compute_paid, list_revealed
from askless.core.session.machine import decide_next_step, forecast, start
from askless.core.session.policies import POLICIES
from askless.core.session.position import Position
from askless.core.session.promises import expect_charge, expect_empty
from askless.core.session.state import Answer, Pace, Purchase, State, StopRule

# Sets of answers that are drawn for the calls on their way.
N_DRAWS = 24
# Values that stand for the distribution of a feature.
N_QUANTILES = 64
LEVELS = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
NORMAL = np.array([NormalDist().inv_cdf(level) for level in LEVELS])


@dataclass(frozen=True, slots=True)
class Awaited:
    """A call that is on its way."""

    #: the feature that it was made for
    feature_idx: int
    #: reserved for it, in micro-units
    amount: int
    #: seconds that its answer is expected to take from now on
    seconds: float


def expect_left(usual: float, elapsed: float) -> float:
    """Return how many seconds a call still takes that has taken some already.

    One that is overdue is expected to take half as long again: times have long tails.
    """
    return max(usual - elapsed, elapsed / 2)


@dataclass(frozen=True, slots=True)
class Move:
    """The next thing to do: ask a feature, wait for a call, or end."""

    #: None: nothing more leaves now
    feature_idx: int | None
    #: whether the case ends now, and waits for none of the calls on their way
    is_over: bool = False


def choose_move(ensemble: Ensemble, state: State, awaited: Sequence[Awaited]) -> Move:
    """Return the next move of a session beside its calls on their way.

    The amounts of `awaited` must be all that `state.held` holds. A case ends where no
    answer is worth waiting for: what is on its way is paid, and only its wait is left.
    A call leaves beside others if the wait that this saves on the mean costs more than
    the answer that may not be needed. How often it is needed is the share of drawn
    answers to the calls on their way after which the policy asks for it next.
    """
    alone = expect_calls(ensemble, state, awaited) if awaited else state
    if alone.next_feature_idx is None or alone.stop_reason is not None:
        return Move(None, is_over=True)
    if not awaited:
        return Move(alone.next_feature_idx)
    pace = state.pace
    if pace is None or len(awaited) >= pace.at_once or not pace.second_price:
        return Move(None)
    return Move(choose_beside(ensemble, alone, awaited, pace))


def expect_calls(ensemble: Ensemble, state: State, awaited: Sequence[Awaited]) -> State:
    """Return a session as if nothing were on its way, at what is left to pay and wait.

    The wait for a call on its way is what it still takes, and its price is paid.
    """
    pace = state.pace
    if pace is not None:
        seconds = list(pace.seconds)
        for call in awaited:
            for idx in ensemble.catalogue.offer_of(call.feature_idx):
                seconds[idx] = call.seconds
        sunk = tuple((call.feature_idx, call.amount) for call in awaited)
        pace = replace(pace, seconds=tuple(seconds), sunk=sunk)
    return decide_next_step(ensemble, replace(state, held=0, pace=pace))


def choose_beside(
    ensemble: Ensemble, alone: State, awaited: Sequence[Awaited], pace: Pace
) -> int | None:
    """Return the feature whose call should leave beside others; None: wait.

    `alone` is the session as if nothing were on its way. The saving is the wait until
    the first of the others has answered, since then the question comes again.
    """
    # What is on its way has been paid and waited for by then.
    followers = draw_followers(ensemble, replace(alone, pace=pace), awaited)
    counts = Counter(
        idx
        for idx in followers
        if idx is not None and may_leave(ensemble, alone, awaited, idx)
    )
    if not counts:
        return None
    idx, count = counts.most_common(1)[0]
    chance = count / len(followers)
    _, charge = expect_charge(Position.of(ensemble, alone), idx)
    soonest = min(call.seconds for call in awaited)
    saved = chance * pace.second_price * min(soonest, pace.seconds[idx])
    return idx if saved > (1.0 - chance) * charge else None


def may_leave(
    ensemble: Ensemble, alone: State, awaited: Sequence[Awaited], idx: int
) -> bool:
    """Return whether what others reserve leaves its price, and no fee is paid twice.

    A fee that a call on its way may pay is not known to be paid before it is answered.
    """
    catalogue, paid = ensemble.catalogue, compute_paid(ensemble.catalogue, alone)
    group_idx = int(catalogue.group_idxs[idx])
    price = price_feature(catalogue, paid, idx)
    owes_fee = price > catalogue.features[idx].cost
    shares_fee = owes_fee and any(
        group_idx == catalogue.group_idxs[call.feature_idx] for call in awaited
    )
    held = sum(call.amount for call in awaited)
    has_room = alone.remaining is None or price <= alone.remaining - held
    return has_room and not shares_fee


def draw_followers(
    ensemble: Ensemble, alone: State, awaited: Sequence[Awaited]
) -> list[int | None]:
    """Return what is asked next after drawn answers; None: nothing, or advice to stop.

    Of a bundle it is the first feature of the offer. The same session draws the same.
    """
    random = np.random.default_rng(
        [alone.seed, alone.stream, len(alone.history), len(awaited)]
    )
    chances = forecast(ensemble, alone).probabilities
    classes = random.choice(len(chances), N_DRAWS, p=chances)
    drawn = [draw_answers(ensemble, alone, call, classes, random) for call in awaited]
    asked: dict[tuple[Purchase, ...], int | None] = {}
    followers = []
    for purchases in zip(*drawn, strict=True):
        if purchases not in asked:
            asked[purchases] = find_follower(ensemble, alone, purchases)
        followers.append(asked[purchases])
    return followers


def draw_answers(
    ensemble: Ensemble,
    alone: State,
    call: Awaited,
    classes: IntArray,
    random: np.random.Generator,
) -> list[Purchase]:
    """Draw what a call may bring to a case of each class.

    It is empty by the chance that training saw.
    """
    catalogue, asked = ensemble.catalogue, call.feature_idx
    revealed = list_revealed(catalogue, alone, asked)
    empty = expect_empty(Position.of(ensemble, alone))
    chance = 0.0 if empty is None else float(empty[asked])
    is_empty = random.random(N_DRAWS) < chance
    columns = [
        draw_typical(ensemble, alone.policy, idx, classes, random) for idx in revealed
    ]
    missed = Purchase(
        asked,
        call.amount if catalogue.is_per_call[asked] else 0,
        "miss",
        tuple(Answer(idx, "unavailable") for idx in revealed),
    )
    purchases = []
    for place in range(N_DRAWS):
        answers = tuple(
            Answer(idx, "value", float(column[place]))
            for idx, column in zip(revealed, columns, strict=True)
        )
        bought = Purchase(asked, call.amount, "charge", answers)
        purchases.append(missed if is_empty[place] else bought)
    return purchases


def find_follower(
    ensemble: Ensemble, alone: State, purchases: Sequence[Purchase]
) -> int | None:
    """Return what is asked next after some purchases; None: nothing."""
    catalogue = ensemble.catalogue
    # Without votes a case is hardly ever certain, and to find it takes as long again.
    has_votes = POLICIES[alone.policy].has_votes
    stop = replace(alone.stop, certain=alone.stop.certain and has_votes)
    state = replace(alone, is_led=False, stop=stop)
    for purchase in purchases:
        state = book_purchase(catalogue, state, purchase)
    state = decide_next_step(ensemble, state)
    idx = state.next_feature_idx
    if idx is None or state.stop_reason is not None:
        return None
    return list_revealed(catalogue, state, idx)[0]


def draw_typical(
    ensemble: Ensemble,
    policy: str,
    feature_idx: int,
    classes: IntArray,
    random: np.random.Generator,
) -> FloatArray:
    """Draw a value of a feature for each case of some classes; (n_cases,).

    Given its class, a value hangs on nothing else (naive Bayes): its chance is that of
    the class where this value alone is known, times the value's own in training.
    """
    cache = ensemble.__dict__.setdefault("value_draws", {})
    if (policy, feature_idx) not in cache:
        values = list_quantiles(ensemble, feature_idx)
        opened = start(ensemble, None, policy=policy, stop=StopRule(certain=False))
        position = Position.of(ensemble, opened)
        chances = POLICIES[policy].predict_after(position, feature_idx, values)
        ends = np.cumsum(chances, axis=0)
        cache[policy, feature_idx] = values, ends / ends[-1]
    values, ends = cache[policy, feature_idx]
    places = (random.random(classes.size) >= ends[:, classes]).sum(axis=0)
    drawn: FloatArray = values[np.minimum(places, values.size - 1)]
    return drawn


def list_quantiles(ensemble: Ensemble, feature_idx: int) -> FloatArray:
    """Return equally likely values of a feature.

    Numbers are normal within the range that panels clip them to; categories and
    booleans have their shares. What no panel reads has its possible values alike.
    """
    feature = ensemble.catalogue.features[feature_idx]
    _, shares = summarise_training_values(ensemble, feature_idx)
    if shares:
        ends = np.cumsum([*shares.values()])
        places = np.searchsorted(ends, LEVELS * ends[-1])
        return np.asarray(np.take([*shares], places), np.float64)
    for idx, code, (low, high, mean, deviation) in panel_columns(ensemble):
        if (idx, code) == (feature_idx, NUMBER_CODE):
            values = np.clip(mean + deviation * NORMAL, low, high)
            return round_to_seen(values, feature.values)
    has_votes = bool(ensemble.hypotheses)
    possible = possible_values(ensemble, feature_idx, has_votes=has_votes)
    return possible if possible.size else np.zeros(1)


def round_to_seen(values: FloatArray, seen: Sequence[float]) -> FloatArray:
    """Return the nearest of the values of training to each; empty: they are many."""
    if not seen:
        return values
    listed = np.array(seen, np.float64)
    nearest: FloatArray = listed[np.abs(listed[:, None] - values).argmin(axis=0)]
    return nearest
