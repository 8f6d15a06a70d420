"""Take and charge the answers of a request: all of them or none."""

from dataclasses import replace

from askless.app.documents.http.sessions import AnswersRequest
from askless.app.errors import ConflictError
from askless.app.service.sessions.opened import (
    OpenSession,
    SessionCall,
    lock_open,
    require_version,
    save,
)
from askless.app.service.sessions.requests import check_answers
from askless.app.store.buying import calls
from askless.app.store.database.transactions import Transaction
from askless.core.errors import ClosedError
from askless.core.session import machine


def answer(
    db: Transaction, call: SessionCall, request: AnswersRequest
) -> tuple[OpenSession, int]:
    """Take answers, all or none, in list order; also return what they charged.

    Answers that a session has already change nothing, a closed one included, so that
    a caller whose connection broke may simply send them again. Raises ClosedError if
    the session was erased.
    """
    opened = lock_open(db, call)
    if opened is None:
        raise ClosedError("the session takes no more answers")
    refuse_bought(db, opened, request)
    after = take_new_answers(opened, request)
    if after is opened:
        return opened, 0
    require_version(opened.session, call.versions)
    charges = after.state.charges[len(opened.state.charges) :]
    return save(db, after, call.at.now, charges), sum(
        charge.amount for charge in charges
    )


def refuse_bought(
    db: Transaction, opened: OpenSession, request: AnswersRequest
) -> None:
    """Raise ConflictError for what a run is buying just now: it would be paid twice."""
    bought = calls.list_features_on_the_way(db, opened.session.id) if opened.run else ()
    for given in request.answers:
        if given.feature in bought:
            detail = f"{given.feature} is being bought just now: wait for its answer."
            raise ConflictError("being-bought", detail)


def take_new_answers(opened: OpenSession, request: AnswersRequest) -> OpenSession:
    """Take a request's new answers; return the session itself if none is new."""
    ensemble, before = opened.model.ensemble, opened.state
    features = ensemble.catalogue.features
    answers, texts = check_answers(ensemble.catalogue, before, request)
    state = machine.observe(ensemble, before, answers, is_insistent=request.insist)
    # A category that training did not see has its text beside the state: a new answer
    # replaces it, also one whose code is the same.
    replaced = [given for given in answers if given.value is not None]
    replaced += state.history[len(before.history) :]
    names = {features[given.feature_idx].name for given in replaced} - texts.keys()
    kept = {name: text for name, text in opened.texts.items() if name not in names}
    if state is before and kept | texts == opened.texts:
        return opened
    return replace(opened, state=state, texts=kept | texts)
