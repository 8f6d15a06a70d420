"""Take the outcome of a call into its session, the ledger and its own row."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from askless.app.records import LedgerEntry, Moment, StoredCall
from askless.app.service.buying.calling.reading import digest_request
from askless.app.service.buying.calling.verdicts import Verdict, write_cached
from askless.app.service.buying.offers import offer_name
from askless.app.service.buying.turns import RunTurn, list_usable, outcome_of
from askless.app.service.sessions.opened import OpenSession
from askless.app.store import ledger, sessions
from askless.app.store.buying import calls, providers
from askless.app.store.database.transactions import Transaction
from askless.core.session.answers import book_purchase
from askless.core.session.machine import take_purchase
from askless.core.session.state import Answer, Charge, Purchase, State
from askless.core.session.steps import find_chances

# After so many failures in a row a provider cools down, each time twice as long.
FAILURES = 3
COOLING_S = 30.0
MOST_DOUBLINGS = 6
MOST_COOLING_S = 24 * 3600.0
COOLING_STATUSES = (402, 429)
ASKED_TO_WAIT_S = 60.0


def apply_verdict(turn: RunTurn, call: StoredCall, verdict: Verdict) -> None:
    """Take the outcome of a call into its session, the ledger and its own row."""
    db, ensemble = turn.db, turn.opened.model.ensemble
    before = find_chances(ensemble, turn.state)
    idxs = tuple(ensemble.catalogue.feature_idxs[name] for name in call.features)
    ended = replace(call, state=verdict.state, reason=verdict.reason)
    turn.made[call.id] = ended
    state = replace(turn.state, held=turn.state.held - call.price)
    purchase = Purchase(idxs[0], verdict.amount, verdict.kind, (), call.provider)
    charged = book_purchase(ensemble.catalogue, state, purchase)
    answers = list_answers(turn, call, verdict, idxs, charged)
    purchase = replace(purchase, answers=answers)
    if verdict.answer is not None and verdict.answer.texts:
        texts = turn.opened.texts | verdict.answer.texts
        turn.opened = replace(turn.opened, texts=texts)
    turn.change(take_purchase(ensemble, state, purchase), call.price)
    after = find_chances(ensemble, turn.state)
    finish_call(db, call, verdict, turn.at.now, (before, after))
    keep_answer(turn, call, verdict)


def list_answers(
    turn: RunTurn,
    call: StoredCall,
    verdict: Verdict,
    idxs: tuple[int, ...],
    charged: State,
) -> tuple[Answer, ...]:
    """Return what a call says of its features; nothing while another provider is left.

    `charged` is the state after the charge, which says what another one may cost. What
    came and can't be read is unknown: it is kept out of the prediction.
    """
    if verdict.state == "in_doubt":
        return tuple(Answer(idx, "ordered") for idx in idxs)
    if verdict.state == "settled":
        return answers_of(turn.opened, verdict, idxs)
    offer = offer_name(turn.opened.model.ensemble.catalogue, idxs[0])
    if list_usable(turn, offer, charged):
        return ()
    outcome = outcome_of(turn.made.values(), call.features)
    return tuple(Answer(idx, outcome) for idx in idxs)


def answers_of(
    opened: OpenSession, verdict: Verdict, idxs: tuple[int, ...]
) -> tuple[Answer, ...]:
    """Return what an answer says of each feature, an empty one too."""
    if verdict.answer is None:
        return tuple(Answer(idx, "unknown") for idx in idxs)
    features = opened.model.ensemble.catalogue.features
    values, refused = verdict.answer.values, verdict.answer.refusals
    return tuple(answer_for(idx, features[idx].name, values, refused) for idx in idxs)


def answer_for(
    idx: int, name: str, values: Mapping[str, float | None], refused: Mapping[str, str]
) -> Answer:
    if name in refused:
        return Answer(idx, "unknown")
    value = values.get(name)
    return Answer(idx, "unavailable" if value is None else "value", value)


def finish_call(
    db: Transaction,
    call: StoredCall,
    verdict: Verdict,
    now: datetime,
    chances: tuple[tuple[float, ...], tuple[float, ...]] | None,
) -> None:
    """Write the end of a call, and release what its provider's day held for it."""
    providers.settle(db, call.provider, call.day, call.price, verdict.amount)
    before, after = (None, None) if chances is None else map(list, chances)
    write_end(db, call, verdict, now, before=before, after=after)


def write_end(
    db: Transaction, call: StoredCall, verdict: Verdict, now: datetime, **more: object
) -> None:
    """Write what became of a call into its row."""
    calls.change(
        db,
        call.id,
        state=verdict.state,
        charged=verdict.amount,
        reason=verdict.reason,
        status=verdict.status,
        latency_ms=verdict.latency_ms,
        attempts=verdict.attempts,
        ended_at=now,
        **more,
    )


def keep_answer(turn: RunTurn, call: StoredCall, verdict: Verdict) -> None:
    """Keep a bought answer where its provider may be read again."""
    filler = turn.fillers.get(call.provider)
    # An answer from the cache was not sent, and keeps its age.
    if filler is None or verdict.answer is None or not verdict.attempts:
        return
    provider = filler.provider
    if provider.cache_s:
        catalogue = turn.opened.model.ensemble.catalogue
        idxs = [catalogue.feature_idxs[name] for name in call.features]
        features = [catalogue.features[idx] for idx in idxs]
        digest = digest_request(provider, turn.run.keys or {}, features)
        kept = write_cached(verdict.answer)
        session_id = turn.run.session_id
        now = turn.at.now
        providers.keep_answer(turn.db, call.provider, digest, session_id, kept, now)


def note_behaviour(db: Transaction, name: str, verdict: Verdict, now: datetime) -> None:
    """Let a provider cool down that asks for it, or that fails again and again."""
    if verdict.is_answered:
        providers.forget_failures(db, name)
        return
    stored = providers.find_locked(db, name)
    if stored is None:
        return
    failures = stored.failures + 1
    seconds = 0.0
    if verdict.status in COOLING_STATUSES:
        asked_s = verdict.retry_after_s
        seconds = ASKED_TO_WAIT_S if asked_s is None else asked_s
    elif failures >= FAILURES:
        seconds = verdict.retry_after_s or (
            COOLING_S * 2 ** min(failures - FAILURES, MOST_DOUBLINGS)
        )
    values: dict[str, object] = {"failures": failures}
    if seconds:
        until = now + timedelta(seconds=min(seconds, MOST_COOLING_S))
        values["cools_until"] = max(until, stored.cools_until or until)
    providers.change(db, stored.id, **values)


def settle_erased(
    db: Transaction, call: StoredCall, verdict: Verdict, at: Moment
) -> None:
    """Write the charge of a call whose session was erased meanwhile."""
    assert call.session_id is not None, "a test has none"
    charge = Charge(0, verdict.amount, verdict.kind, provider=call.provider)
    charge_erased(db, call.session_id, call.features[0], charge, call.price, at.now)
    finish_call(db, call, verdict, at.now, None)


def charge_erased(
    db: Transaction,
    session_id: str,
    feature: str,
    charge: Charge,
    released: int,
    now: datetime,
) -> None:
    """Write a late charge of a session that was erased; it has no catalogue."""
    erased = sessions.get_locked(db, session_id)
    changed = replace(erased, version=erased.version + 1, updated_at=now)
    saved = sessions.save(db, changed, charge.amount, released)
    assert saved is not None, "it was reserved"
    if charge.amount:
        entry = LedgerEntry(
            position=0,
            at=now,
            session_id=session_id,
            feature=feature,
            group=None,
            kind=charge.kind,
            amount=charge.amount,
            unit=erased.unit,
            provider=charge.provider,
        )
        ledger.append(db, entry)
