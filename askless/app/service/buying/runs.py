"""Decide what a run does next, reserve it, and settle what came of it.

Each function is one transaction of its caller, on locked rows: the session first, then
its run, then the provider. A crash leaves what some undisturbed run could have left.
"""

import random
from dataclasses import dataclass, replace
from datetime import timedelta

from askless.app.documents.buying.providers import Provider
from askless.app.records import CallState, Moment, PredictSession, StoredCall
from askless.app.service.buying import receipts
from askless.app.service.buying.calling.doubts import settle_late
from askless.app.service.buying.calling.reading import (
    MissingError,
    ReadAnswer,
    digest_request,
    make_message,
)
from askless.app.service.buying.calling.sending import Message, Reply
from askless.app.service.buying.calling.settling import (
    apply_verdict,
    note_behaviour,
    settle_erased,
)
from askless.app.service.buying.calling.trials import end_lost
from askless.app.service.buying.calling.verdicts import (
    CACHE,
    EMPTY,
    LATE,
    CallTerms,
    Verdict,
    cut_off,
    judge,
    read_cached,
)
from askless.app.service.buying.offers import (
    Filler,
    billing_of,
    charge_as,
    list_offers,
    offer_name,
    open_filler,
)
from askless.app.service.buying.timing import (
    choose,
    comes_too_late,
    find_time_left,
    is_out_of_time,
    list_awaited,
    list_on_the_way,
    make_pace,
)
from askless.app.service.buying.turns import (
    Buying,
    CallOrder,
    Pause,
    RunTurn,
    Step,
    find_fee_payers,
    list_usable,
    make_call,
    open_turn,
    outcome_of,
)
from askless.app.service.sessions.opened import SessionCall, lock_open
from askless.app.service.sessions.prices import reprice
from askless.app.store import sessions
from askless.app.store.buying import calls, deliveries, providers, runs
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.prices import price_feature
from askless.core.session.answers import compute_paid, list_revealed
from askless.core.session.machine import (
    finish,
    stop,
    take_purchase,
)
from askless.core.session.plans.overlap import expect_calls
from askless.core.session.state import Answer, Purchase, State

claim, is_any_free, record_heartbeat = (
    runs.claim,
    runs.is_any_free,
    runs.record_heartbeat,
)
let_go, leave, mark_sent = runs.let_go, runs.leave, calls.mark_sent
wake_expired = runs.wake_expired
# How long to wait where a provider has as many calls on their way as it takes.
BUSY_S = 0.05
TOO_LATE = "its answer is expected after the deadline"
COOLING = "it cooled down"
# The longest that a reserved call waits for its turn.
PATIENCE_S = 2.0
# How often to look whether a run goes on that was paused with calls on their way.
PAUSED_S = 1.0


def advance(db: Transaction, buying: Buying, session_id: str, at: Moment) -> Step:
    """Decide the next purchase and reserve it; end the run where there is none."""
    turn = open_turn(db, buying, session_id, at)
    return None if turn is None else take_turn(turn)


def take_turn(turn: RunTurn) -> Step:
    """Go on until a call is reserved, nothing can leave, or the run has ended."""
    if turn.run.state != "buying":
        # Another buyer would take what is on its way for lost.
        if list_on_the_way(turn):
            return Pause(PAUSED_S)
        runs.change(turn.db, turn.run.session_id, **runs.FREE)
        return None
    while not (move := choose(turn)).is_over:
        if move.feature_idx is None:
            return pause(turn)
        step = try_offer(turn, move.feature_idx)
        if step is not None:
            return step
    end(turn)
    return None


def try_offer(turn: RunTurn, feature_idx: int) -> Step:
    """Reserve a call for a feature; None where the plan was made anew instead."""
    catalogue = turn.opened.model.ensemble.catalogue
    name = offer_name(catalogue, feature_idx)
    fillers = list_usable(turn, name, turn.state)
    if not fillers:
        give_up(turn, name, feature_idx)
        return None
    filler = fillers[0]
    if comes_too_late(turn, filler):
        turn.leave_out(filler.name, TOO_LATE)
        return None
    if charges_otherwise(turn, filler):
        return None
    try:
        keys = turn.run.keys or {}
        message = make_message(filler.provider, keys, turn.buying.secrets)
    except MissingError as error:
        turn.leave_out(filler.name, str(error))
        return None
    catalogue = turn.opened.model.ensemble.catalogue
    revealed = list_revealed(catalogue, turn.state, feature_idx)
    cached = find_cached(turn, filler, revealed)
    if cached is not None:
        take_cached(turn, filler, revealed, cached)
        return None
    return reserve(turn, filler, message, revealed)


def give_up(turn: RunTurn, offer: str, idx: int) -> None:
    """Answer an offer that nobody is left for, and keep who cooled down."""
    called = {call.provider for call in turn.made.values()}
    for name, filler in turn.fillers.items():
        is_its = filler.provider.fills == offer and name not in called
        if is_its and filler.is_cooling(turn.at.now):
            turn.leave_out(name, COOLING)
    state, catalogue = turn.state, turn.opened.model.ensemble.catalogue
    features = list_offers(catalogue)[offer]
    names = tuple(catalogue.features[feature_idx].name for feature_idx in features)
    outcome = outcome_of(turn.made.values(), names)
    revealed = list_revealed(catalogue, state, idx)
    answers = tuple(Answer(feature_idx, outcome) for feature_idx in revealed)
    purchase = Purchase(idx, 0, "miss", answers)
    turn.change(take_purchase(turn.opened.model.ensemble, state, purchase))


def charges_otherwise(turn: RunTurn, filler: Filler) -> bool:
    """Make the plan anew at the prices of a provider, where they are others."""
    catalogue = turn.opened.model.ensemble.catalogue
    payers = find_fee_payers(turn, turn.state)
    charged = charge_as(catalogue, turn.own, [filler], payers)
    if charged == catalogue:
        return False
    loaded, now = turn.buying.loaded, turn.at.now
    turn.opened = reprice(turn.db, loaded, turn.opened, charged, now)
    return True


def find_cached(
    turn: RunTurn, filler: Filler, revealed: tuple[int, ...]
) -> ReadAnswer | None:
    provider = filler.provider
    if not provider.cache_s:
        return None
    since = turn.at.now - timedelta(seconds=provider.cache_s)
    catalogue = turn.opened.model.ensemble.catalogue
    features = [catalogue.features[idx] for idx in revealed]
    digest = digest_request(provider, turn.run.keys or {}, features)
    kept = providers.find_cached(turn.db, filler.name, digest, since)
    return None if kept is None else read_cached(kept)


def take_cached(
    turn: RunTurn, filler: Filler, revealed: tuple[int, ...], cached: ReadAnswer
) -> None:
    """Take what a provider answered before; it costs nothing."""
    call = make_call(turn, filler, 0, revealed)
    state: CallState = "missed" if cached.is_empty else "settled"
    verdict = Verdict(state, 0, "charge", EMPTY if cached.is_empty else CACHE, cached)
    calls.insert(turn.db, replace(call, state="sent", sent_at=turn.at.now))
    apply_verdict(turn, call, verdict)


def reserve(
    turn: RunTurn, filler: Filler, message: Message, revealed: tuple[int, ...]
) -> Step:
    """Reserve a call within budget and ceiling; None where the ceiling has no room."""
    db, now, state = turn.db, turn.at.now, turn.state
    provider, stored = filler.provider, providers.lock(db, filler.stored)
    if stored is None or open_filler(stored).is_cooling(now):
        turn.fillers.pop(filler.name)
        return None
    turn_at = max(now, stored.next_at or now)
    wait_s = (turn_at - now).total_seconds()
    if wait_s > PATIENCE_S:
        return pause(turn, spread(PATIENCE_S / 2))
    if calls.count_on_the_way(db, filler.name) >= provider.at_once:
        end_lost(db, filler.name, now)
        return pause(turn, spread(BUSY_S))
    catalogue = turn.opened.model.ensemble.catalogue
    price = price_feature(catalogue, compute_paid(catalogue, state), revealed[0])
    call = make_call(turn, filler, price, revealed)
    ceiling = provider.ceilings.day
    if not providers.reserve(db, filler.name, call.day, price, ceiling):
        turn.leave_out(filler.name, "its ceiling of the day has no room")
        return None
    is_held = sessions.hold(db, call.session_id or "", price)
    assert is_held, "the plan fits the budget, and the session is locked"
    if provider.per_second is not None:
        next_at = turn_at + timedelta(seconds=1 / provider.per_second)
        providers.change(db, stored.id, next_at=next_at)
    calls.insert(db, call)
    return CallOrder(call, provider, message, wait_s)


def pause(turn: RunTurn, seconds: float | None = None) -> Pause:
    """Return a pause of so many seconds, which the deadline ends."""
    times = (seconds, find_time_left(turn))
    return Pause(min((time for time in times if time is not None), default=None))


def spread(seconds: float) -> float:
    """Return about so many seconds, so that those who wait don't all come at once."""
    return seconds * random.uniform(0.7, 1.3)


def make_terms(
    db: Transaction,
    buying: Buying,
    session: PredictSession,
    call: StoredCall,
    provider: Provider,
) -> CallTerms:
    """Return by what a call is judged: the catalogue that its session has now."""
    model = buying.loaded.get(db, session.model_id, session.price_list_id)
    catalogue = model.ensemble.catalogue
    idx = catalogue.feature_idxs[call.features[0]]
    billing = provider.billing or billing_of(catalogue, idx)
    return CallTerms(provider, catalogue, call.features, call.price, billing)


@dataclass(frozen=True, slots=True)
class CallResult:
    """A call that was sent, with the reply to its last attempt."""

    order: CallOrder
    reply: Reply
    attempts: int


def settle(db: Transaction, buying: Buying, result: CallResult, at: Moment) -> Step:
    """Charge what a call has cost, take what it answered, and decide what is next.

    A second time it changes nothing. The charge is written whatever became of the
    session meanwhile, since the provider has its money.
    """
    session_id, call_id = result.order.call.session_id, result.order.call.id
    assert session_id is not None, "a test is settled elsewhere"
    opened = lock_open(db, SessionCall(session_id, buying.loaded, at))
    turn = None
    if opened is not None and opened.run is not None:
        turn = RunTurn(db, buying, at, opened, opened.run)
    # The lock of the session covers its calls.
    call = calls.get_locked(db, call_id) if turn is None else turn.made[call_id]
    is_late = call.state == "in_doubt" and call.reason == LATE
    if call.state != "sent" and not is_late:
        return None
    session = sessions.get(db, session_id) if opened is None else opened.session
    terms = make_terms(db, buying, session, call, result.order.provider)
    verdict = judge(terms, result.reply, result.attempts)
    note_behaviour(db, call.provider, verdict, at.now)
    if is_late:
        settle_late(db, call, verdict, SessionCall(session_id, buying.loaded, at))
        return None
    if turn is None:
        settle_erased(db, call, verdict, at)
        free_erased(db, session_id)
        return None
    apply_verdict(turn, call, verdict)
    return take_turn(turn) if turn.run.holder == buying.holder else None


def free_erased(db: Transaction, session_id: str) -> None:
    """Free a run that was erased, once none of its calls is on its way.

    Until then somebody has to take over what a dead buyer has left.
    """
    if not calls.list_features_on_the_way(db, session_id):
        runs.change(db, session_id, **runs.FREE)


def end(turn: RunTurn) -> None:
    """Close the session for its reason, and write the receipt.

    Calls that are still on their way count as spent, until they have answered.
    """
    state = close(turn)
    if state is not turn.state:
        turn.change(state)
    for call in list_on_the_way(turn):
        late = Verdict("in_doubt", call.price, "charge", LATE)
        apply_verdict(turn, call, late if call.state == "sent" else cut_off(call))
    now, session_id = turn.at.now, turn.run.session_id
    receipt, digest = receipts.write_receipt(turn.db, turn.opened, turn.run)
    runs.change(
        turn.db,
        session_id,
        state="ended",
        ended_at=now,
        receipt=receipt,
        digest=digest,
        **runs.FREE,
    )
    if turn.run.webhook is not None:
        deliveries.insert(turn.db, session_id, now)


def close(turn: RunTurn) -> State:
    """Return the session ended: by its deadline, or for its reason at its pace."""
    if is_out_of_time(turn):
        return stop(turn.state, "out_of_time")
    if turn.run.terms is None or turn.state.is_ended:
        return finish(turn.state)
    ensemble = turn.opened.model.ensemble
    paced = replace(turn.state, pace=make_pace(turn))
    ended = finish(expect_calls(ensemble, paced, list_awaited(turn)))
    return replace(ended, pace=None, held=turn.state.held)
