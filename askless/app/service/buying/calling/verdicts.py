"""Judge what came of a call: what it costs, and what it says of the case."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from askless.app.documents.buying.providers import Provider
from askless.app.records import CallState, StoredCall
from askless.app.service.buying.calling.reading import (
    ReadAnswer,
    read_answer,
    read_body,
)
from askless.app.service.buying.calling.sending import Reply
from askless.core.catalogue.catalogue import Billing, Catalogue

ChargeKind = Literal["charge", "miss"]
EMPTY, CACHE, UNREADABLE, IN_DOUBT = "empty", "cache", "unreadable", "no answer in time"
# Of a call that was still on its way when its run ended.
LATE = "the run did not wait for it"
NOT_SENT = "never sent"
MAX_REASON = 200
REASONS = {
    "not_connected": "could not be reached",
    "refused_address": "its address may not be called",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of a call; `amount` in micro-units."""

    state: CallState
    amount: int
    kind: ChargeKind
    #: in a word, or the rules that values broke; None: all is well
    reason: str | None
    #: None: it says nothing about the case
    answer: ReadAnswer | None = None
    status: int | None = None
    latency_ms: int | None = None
    attempts: int = 0
    #: how long the provider asks to be left alone
    retry_after_s: float | None = None
    #: whether the provider answered as it should, empty or not
    is_answered: bool = True


@dataclass(frozen=True, slots=True)
class CallTerms:
    """By what a call is judged: its provider, price, billing and features."""

    provider: Provider
    catalogue: Catalogue
    names: tuple[str, ...]
    price: int
    billing: Billing


def judge(terms: CallTerms, reply: Reply, attempts: int) -> Verdict:
    """Return what the last attempt of a call came to.

    An answer that came is billed, also where nothing of it can be used; what failed
    costs nothing unless the provider charges failures; what was sent and not answered
    is in doubt, and counts as spent.
    """
    verdict = judge_reply(terms, reply)
    return replace(
        verdict,
        status=reply.status,
        latency_ms=reply.latency_ms,
        attempts=attempts,
        retry_after_s=reply.retry_after_s,
    )


def judge_reply(terms: CallTerms, reply: Reply) -> Verdict:
    if not reply.was_sent:
        reason = REASONS[reply.failure or "not_connected"]
        return Verdict("released", 0, "miss", reason, is_answered=False)
    if reply.failure == "no_answer":
        return Verdict("in_doubt", terms.price, "charge", IN_DOUBT, is_answered=False)
    assert reply.status is not None, "it was answered"
    if reply.status >= 400:
        return fail(terms, f"answered {reply.status}")
    if reply.status >= 300 or reply.status < 200:
        # It came, and nobody has said that it is free.
        return replace(miss(terms, f"answered {reply.status}"), is_answered=False)
    try:
        document = read_body(reply.body) if reply.failure is None else None
    except ValueError:
        document = None
        reply = replace(reply, failure="unreadable")
    if reply.failure is not None:
        return replace(miss(terms, UNREADABLE), is_answered=False)
    return judge_answer(terms, document)


def judge_answer(terms: CallTerms, document: Any) -> Verdict:
    """Return the verdict on an answer that could be read."""
    answer = read_answer(terms.provider, terms.catalogue, terms.names, document)
    if answer.is_empty:
        return replace(miss(terms, EMPTY), answer=answer)
    broken = "; ".join(f"{name}: {rule}" for name, rule in answer.refusals.items())
    reason = broken[:MAX_REASON] or None
    return Verdict("settled", terms.price, "charge", reason, answer)


def cut_off(call: StoredCall) -> Verdict:
    """Return the verdict on a call that is not sent again after a crash."""
    if call.state == "reserved":
        return Verdict("released", 0, "miss", NOT_SENT)
    return Verdict("in_doubt", call.price, "charge", IN_DOUBT)


def miss(terms: CallTerms, reason: str) -> Verdict:
    """Return the verdict on an answer without a value: it costs where calls do."""
    amount = terms.price if terms.billing == "per_call" else 0
    return Verdict("missed", amount, "miss", reason)


def fail(terms: CallTerms, reason: str) -> Verdict:
    """Return the verdict on a call that was refused or has failed."""
    if terms.provider.charges_failures:
        return Verdict("missed", terms.price, "miss", reason, is_answered=False)
    return Verdict("released", 0, "miss", reason, is_answered=False)


def should_repeat(provider: Provider, reply: Reply, attempts: int) -> bool:
    """Return whether a call is sent again at once, with the same idempotency key.

    What may have arrived is sent again only where the provider tells repetitions apart;
    what it has refused (4xx) is not.
    """
    if attempts >= provider.attempts or reply.failure == "refused_address":
        return False
    if not reply.was_sent:
        return True
    has_failed = reply.failure == "no_answer" or (reply.status or 0) >= 500
    return has_failed and provider.idempotency_header is not None


def keep_doubt(reply: Reply) -> Reply:
    """Return the last reply to a call of which an earlier attempt was not answered.

    A failure says nothing of that attempt, which may be billed: it is in doubt. Only an
    answer to the same key tells what has become of both.
    """
    has_failed = not reply.was_sent or (reply.status or 0) >= 400
    return replace(reply, failure="no_answer") if has_failed else reply


def write_cached(answer: ReadAnswer) -> dict[str, Any]:
    return {
        "values": answer.values,
        "texts": answer.texts,
        "refusals": answer.refusals,
    }


def read_cached(kept: dict[str, Any]) -> ReadAnswer:
    return ReadAnswer(kept["values"], kept["texts"], kept["refusals"])
