"""Answers: taken and charged, all of a request or none."""

from collections.abc import Sequence
from dataclasses import replace

from app.documents.http.sessions import AnswersRequest
from app.documents.state import Texts
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
from core.session.state import Answer, Charge


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


def take_new(opened: OpenSession, wanted: AnswersRequest) -> OpenSession:
    """Take at once all answers that a session has not, with the texts of categories.

    Returns the session itself where it has them all; refuses what is wrong with them.
    """
    ensemble = opened.model.ensemble
    checked, texts = check_answers(ensemble.catalogue, opened.state, wanted.answers)
    taken = [one for one in checked if not is_same(opened, one, texts)]
    if not taken:
        return opened
    names = {ensemble.catalogue.features[one.feature_idx].name for one in taken}
    kept = {name: text for name, text in opened.texts.items() if name not in names}
    state = machine.observe(ensemble, opened.state, taken, is_insistent=wanted.insist)
    return replace(opened, state=state, texts=kept | texts)


def is_same(opened: OpenSession, given: Answer, texts: Texts) -> bool:
    """Whether a session has this very answer already."""
    state, feature_idx = opened.state, given.feature_idx
    has = state.outcomes[feature_idx]
    if has != given.outcome and (has, given.outcome) != ("known", "value"):
        return False
    if given.value is None:
        return True
    name = opened.model.ensemble.catalogue.features[feature_idx].name
    is_same_text = opened.texts.get(name) == texts.get(name)
    return given.value == state.values[feature_idx] and is_same_text
