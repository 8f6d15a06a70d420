"""Answers: taken and charged, all of a request or none."""

from collections.abc import Sequence
from dataclasses import replace

from app.documents.http.sessions import AnswersRequest
from app.service.sessions.expiry import is_due
from app.service.sessions.opened import (
    OpenSession,
    SessionCall,
    lock_open,
    require_version,
    save,
    save_ahead,
)
from app.service.sessions.requests import check_answers
from app.store.database.transactions import Transaction
from core.errors import ClosedError, CoreError
from core.session import machine
from core.session.state import Charge


def answer(
    db: Transaction, call: SessionCall, wanted: AnswersRequest
) -> tuple[OpenSession, int]:
    """Take answers, all or none, in list order; also return what they charged.

    Answers that a session has already change nothing, a closed one included, so that
    a caller whose connection broke may simply send them again.
    """
    done = answer_ahead(db, call, wanted)
    if done is not None:
        return done
    opened = lock_open(db, call)
    if opened is None:
        raise ClosedError("the session takes no more answers")
    after = take_new(opened, wanted)
    if after is opened:
        return opened, 0
    require_version(opened.session, call.versions)
    charges = new_charges(opened, after)
    return save(db, after, call.at.now, charges), sum(one.amount for one in charges)


def answer_ahead(
    db: Transaction, call: SessionCall, wanted: AnswersRequest
) -> tuple[OpenSession, int] | None:
    """Answer from the state in memory, and save where it is the present one still.

    Nothing is read, and no other writer waits for what is computed. None, and nothing
    is done, where the state is not here, where another answer came in between, or where
    these are not to be taken: why not, the row says.
    """
    opened = find_kept(call)
    if opened is None:
        return None
    try:
        after = take_new(opened, wanted)
    except CoreError:
        return None
    if after is opened:
        return None
    charges = new_charges(opened, after)
    saved = save_ahead(db, after, call.at.now, charges)
    if saved is None:
        return None
    return saved, sum(one.amount for one in charges)


def find_kept(call: SessionCall) -> OpenSession | None:
    """Return a session as memory has it; None where more is to be known of it."""
    kept = call.loaded.states.find(call.id)
    if kept is None:
        return None
    session, state, texts = kept
    model = call.loaded.find(session.model_id)
    is_meant = call.versions is None or session.version in call.versions
    has_own_prices = session.price_list_id is not None
    if model is None or not is_meant or has_own_prices or is_due(session, call.at):
        return None
    return OpenSession(session, model, state, texts, None, call.loaded.states)


def new_charges(before: OpenSession, after: OpenSession) -> Sequence[Charge]:
    return after.state.charges[len(before.state.charges) :]


def take_new(opened: OpenSession, request: AnswersRequest) -> OpenSession:
    """Take all answers of a request that a session has not yet.

    Returns the session itself where it has them all; refuses what is wrong with them.
    """
    ensemble, before = opened.model.ensemble, opened.state
    features = ensemble.catalogue.features
    answers, texts = check_answers(ensemble.catalogue, before, request.answers)
    state = machine.observe(ensemble, before, answers, is_insistent=request.insist)
    # A category that training did not see has its text beside the state: a new answer
    # replaces it, also one whose code is the same.
    replaced = [one for one in answers if one.value is not None]
    replaced += state.history[len(before.history) :]
    names = {features[one.feature_idx].name for one in replaced} - texts.keys()
    kept = {name: text for name, text in opened.texts.items() if name not in names}
    if state is before and kept | texts == opened.texts:
        return opened
    return replace(opened, state=state, texts=kept | texts)
