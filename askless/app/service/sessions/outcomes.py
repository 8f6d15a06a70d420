"""Record the true label of a case, and correct it."""

from datetime import datetime

from askless.app.documents.http import outcomes as bodies
from askless.app.errors import NotFoundError
from askless.app.service.sessions.opened import OpenSession, SessionCall, lock_open
from askless.app.store import outcomes, sessions
from askless.app.store.database.transactions import Transaction
from askless.app.store.outcomes import StoredOutcome
from askless.core.errors import ClosedError, Refusal, RefusedError
from askless.core.session import machine


def store_outcome(
    db: Transaction, call: SessionCall, label: str
) -> bodies.SessionOutcome:
    """Record the true label of a session's case, or correct it.

    It is stored with what the session predicts now. The same label again changes
    nothing. Closed sessions accept it, erased ones don't. Raises ClosedError for an
    erased session, RefusedError for an unknown label.
    """
    opened = lock_open(db, call)
    if opened is None:
        raise ClosedError("the session was erased")
    before = outcomes.find(db, call.id)
    outcome = make_outcome(opened, label, call.at.now)
    if before is None or (before.label, before.version) != (label, outcome.version):
        outcomes.insert_or_replace(db, outcome)
    else:
        # The time of the first record stays.
        outcome = before
    return show(opened, outcome)


def get(db: Transaction, call: SessionCall) -> bodies.SessionOutcome:
    """Return the outcome that was recorded for a session."""
    session = sessions.get(db, call.id)
    outcome = outcomes.find(db, call.id)
    if outcome is None:
        raise NotFoundError("outcome")
    model = call.loaded.get(db, session.model_id)
    labels = [label.label for label in model.ensemble.classes]
    return body_of(outcome, labels)


def make_outcome(opened: OpenSession, label: str, now: datetime) -> StoredOutcome:
    """Build the outcome of a true label, with what the session predicts now."""
    ensemble = opened.model.ensemble
    labels = [class_label.label for class_label in ensemble.classes]
    if label not in labels:
        rule = f"must be one of the model's classes: {', '.join(labels)}"
        raise RefusedError([Refusal("label", rule)])
    forecast = machine.forecast(ensemble, opened.state)
    return StoredOutcome(
        session_id=opened.session.id,
        label=label,
        predicted=labels[forecast.label],
        chances=forecast.probabilities,
        version=opened.session.version,
        at=now,
    )


def show(opened: OpenSession, outcome: StoredOutcome) -> bodies.SessionOutcome:
    return body_of(outcome, [label.label for label in opened.model.ensemble.classes])


def body_of(outcome: StoredOutcome, labels: list[str]) -> bodies.SessionOutcome:
    probability = outcome.chances[labels.index(outcome.label)]
    return bodies.SessionOutcome.of(outcome, probability=probability)
