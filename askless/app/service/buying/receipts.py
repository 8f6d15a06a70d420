"""Write the receipt of a session."""

import json
from collections.abc import Sequence
from typing import Any

from askless.app.documents.buying.receipts import (
    Bought,
    NotBought,
    Receipt,
    digest_receipt,
)
from askless.app.documents.http import sessions as bodies
from askless.app.documents.http.ledger import SessionEntry
from askless.app.records import StoredCall, StoredRun
from askless.app.service.buying.offers import list_offers, list_used
from askless.app.service.sessions.opened import (
    OpenSession,
    SessionCall,
    find_open,
)
from askless.app.service.sessions.views import value_of
from askless.app.store import ledger, models
from askless.app.store.buying import calls
from askless.app.store.database.transactions import Transaction
from askless.app.words.stops import describe_stop, to_sentence
from askless.app.words.wording import money, percent
from askless.core.catalogue.prices import price_feature
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.answers import compute_paid
from askless.core.session.state import State
from askless.core.session.steps import compute_prospect, reported_class

# A call in doubt is an order, whose value may come from a person.
HAVE_VALUES = ("settled", "in_doubt")
Values = dict[str, bool | int | float | str | None]


def write_receipt(
    db: Transaction, opened: OpenSession, run: StoredRun | None
) -> tuple[str, str]:
    """Return the receipt of a session as JSON text, and its hash."""
    receipt = make_receipt(db, opened, run)
    text = json.dumps(receipt.model_dump(mode="json"), ensure_ascii=False)
    return text, receipt.hash


def read_receipt(db: Transaction, call: SessionCall) -> str:
    """Return the receipt of a session as JSON text, stored at the end of its run.

    Raises ClosedError if the session was erased.
    """
    opened = find_open(db, call)
    if opened.run is not None and opened.run.receipt is not None:
        return opened.run.receipt
    return write_receipt(db, opened, opened.run)[0]


def show_receipt(db: Transaction, call: SessionCall) -> Receipt:
    """Return the receipt of a session as it is now."""
    opened = find_open(db, call)
    return make_receipt(db, opened, opened.run)


def make_receipt(
    db: Transaction, opened: OpenSession, run: StoredRun | None
) -> Receipt:
    """Build a receipt from a session, its calls and its rows of the ledger."""
    session, state, ensemble = opened.session, opened.state, opened.model.ensemble
    forecast = machine.forecast(ensemble, state)
    class_idx = reported_class(forecast.probabilities)
    classes, catalogue = ensemble.classes, ensemble.catalogue
    made = [] if run is None else calls.list_of_session(db, session.id)
    head = models.get_deleted_too(db, session.model_id)
    entries = ledger.list_of_session(db, session.id)
    left_out = {} if run is None else run.left_out
    receipt = Receipt(
        session=session.id,
        model=bodies.ModelRef(id=session.model_id, name=opened.model.name),
        version=head.version,
        started_at=session.created_at,
        ended_at=session.updated_at if session.state == "closed" else None,
        state=session.state,
        stop_reason=state.stop_reason,
        stop_words=to_sentence(describe_stop(ensemble, state)) or None,
        budget=bodies.Budget.of(session),
        label=classes[forecast.label].label,
        display=classes[forecast.label].display,
        classes=[
            bodies.ClassProbability(
                label=label.label, display=label.display, probability=chance
            )
            for label, chance in zip(classes, forecast.probabilities, strict=True)
        ],
        chance_of=classes[class_idx].label,
        known={
            catalogue.features[idx].name: show_value(opened, idx) for idx in state.known
        },
        bought=[
            *(show_call(opened, call, class_idx) for call in made),
            *list_answered(opened, made),
        ],
        not_bought=list_not_bought(opened, made),
        left_out=left_out,
        ledger=[SessionEntry.of(entry) for entry in entries],
    )
    digest = digest_receipt(receipt.model_dump(mode="json"))
    return receipt.model_copy(update={"hash": digest})


def show_value(opened: OpenSession, idx: int) -> Any:
    feature = opened.model.ensemble.catalogue.features[idx]
    return value_of(feature, opened.state.values[idx], opened.texts)


def show_call(opened: OpenSession, call: StoredCall, class_idx: int) -> Bought:
    """Return what a receipt says of a call."""
    idxs = [
        opened.model.ensemble.catalogue.feature_idxs[name] for name in call.features
    ]
    has_values = call.state in HAVE_VALUES
    return Bought(
        number=call.number,
        provider=call.provider,
        features=list(call.features),
        state=call.state,
        price=call.price,
        charged=call.charged,
        values=show_values(opened, idxs) if has_values else {},
        outcomes=show_outcomes(opened, idxs) if has_values else {},
        reason=call.reason,
        before=None if call.before is None else call.before[class_idx],
        after=None if call.after is None else call.after[class_idx],
        latency_ms=call.latency_ms,
        at=call.ended_at,
    )


def show_values(opened: OpenSession, idxs: Sequence[int]) -> Values:
    features = opened.model.ensemble.catalogue.features
    return {features[idx].name: show_value(opened, idx) for idx in idxs}


def show_outcomes(opened: OpenSession, idxs: Sequence[int]) -> dict[str, Any]:
    features, outcomes = opened.model.ensemble.catalogue.features, opened.state.outcomes
    return {features[idx].name: outcomes[idx] for idx in idxs if outcomes[idx]}


def list_answered(opened: OpenSession, made: Sequence[StoredCall]) -> list[Bought]:
    """Return what people answered and what no provider was left for, in order.

    A call that brought nothing does not stand for the answer of a person after it.
    """
    features = opened.model.ensemble.catalogue.features
    called = {name for call in made for name in call.features}
    bought = {
        name for call in made if call.state in HAVE_VALUES for name in call.features
    }
    charged = {
        charge.feature_idx: charge.amount
        for charge in opened.state.charges
        if charge.provider is None
    }
    idxs = dict.fromkeys(answer.feature_idx for answer in opened.state.history)
    answered = [
        idx
        for idx in idxs
        if (
            opened.state.outcomes[idx] in ("value", "ordered")
            and features[idx].name not in bought
        )
        or (
            opened.state.outcomes[idx] == "unavailable"
            and features[idx].name not in called
        )
    ]
    return [
        Bought(
            number=len(made) + place,
            provider=None,
            features=[features[idx].name],
            state="settled",
            price=charged.get(idx, 0),
            charged=charged.get(idx, 0),
            values=show_values(opened, [idx]),
            outcomes=show_outcomes(opened, [idx]),
            reason=None,
            before=None,
            after=None,
            latency_ms=None,
            at=None,
        )
        for place, idx in enumerate(answered, 1)
    ]


def list_not_bought(opened: OpenSession, made: Sequence[StoredCall]) -> list[NotBought]:
    """Return the offers that the model reads and that brought no value, with why."""
    ensemble, outcomes = opened.model.ensemble, opened.state.outcomes
    catalogue = ensemble.catalogue
    used, items = list_used(ensemble.is_used, catalogue), []
    for name, idxs in list_offers(catalogue).items():
        is_settled = any(outcomes[idx] not in (None, "unknown") for idx in idxs)
        if name not in used or is_settled:
            continue
        names = [catalogue.features[idx].name for idx in idxs]
        failed = [call for call in made if {*call.features} & {*names}]
        price, why = explain_not_bought(opened.model, opened.state, idxs, failed)
        items.append(NotBought(features=names, price=price, why=why))
    return sorted(items, key=lambda item: item.price)


def explain_not_bought(
    model: Model, state: State, idxs: Sequence[int], failed: Sequence[StoredCall]
) -> tuple[int, str]:
    """Return the price of an offer in micro-units, and why it was not bought."""
    ensemble = model.ensemble
    catalogue = ensemble.catalogue
    price = price_feature(catalogue, compute_paid(catalogue, state), idxs[0])
    if failed:
        tried = "; ".join(f"{call.provider}: {call.reason}" for call in failed)
        return price, f"no provider was left ({tried})"
    if state.outcomes[idxs[0]] == "unknown":
        return price, "no provider was left for this case"
    shown = money(price, catalogue.cost_unit)
    if state.remaining is not None and price > state.remaining:
        left = money(state.remaining, catalogue.cost_unit)
        return price, f"would cost {shown}, and {left} was left"
    return price, f"would cost {shown}; {say_effect(model, state, idxs)}"


def say_effect(model: Model, state: State, idxs: Sequence[int]) -> str:
    """Return how far an answer could still move the prediction."""
    ensemble = model.ensemble
    prospects = [compute_prospect(ensemble, state, idx) for idx in idxs]
    moved = [prospect for prospect in prospects if prospect is not None]
    if not moved:
        return "its answer would not have changed the prediction"
    low, high = min(p.low for p in moved), max(p.high for p in moved)
    name = ensemble.classes[moved[0].class_idx].display
    span = (
        f"the chance of {name} would have been from {percent(low)} to {percent(high)}"
    )
    if all(prospect.keeps_label for prospect in moved):
        return f"{span}, and the decision the same"
    return f"{span}, which was not worth the price"
