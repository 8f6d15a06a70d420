"""Sessions: start, answer and charge, stop, erase.

Every change reads a locked row, lets `core.session.machine` find the next state, and
writes charges, ledger and state in the caller's transaction: all of it or nothing.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from app.documents.bodies import predictions as bodies
from app.documents.bodies.terms import TermsRequest
from app.documents.state import Texts, write_state
from app.errors import ConflictError
from app.records import Moment, PredictSession, SessionState
from app.service import limits
from app.service.loaded import KeptStates, LoadedModels
from app.service.predictions.charging import enter, find_refusal
from app.service.predictions.choice import choose
from app.service.predictions.expiry import expire, expired_row, is_due, see
from app.service.predictions.refits import RefitStanding, stand
from app.service.predictions.requests import check_answers, check_known
from app.service.predictions.terms import change_state, check_wish
from app.service.predictions.views import erased_view, view_of
from app.store import retries, sessions
from app.store.transactions import Transaction
from core.errors import ClosedError
from core.model.model import Model
from core.session import machine
from core.session.policies import check_policy
from core.session.state import Answer, Charge, State, StopRule
from core.session.steps import remember


class SessionCall(NamedTuple):
    """A request about one session: which one, and when."""

    id: str
    loaded: LoadedModels
    at: Moment
    #: of which the session must have one to be changed; None: any
    versions: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session with its parsed model and state."""

    session: PredictSession
    model: Model
    state: State
    texts: Texts
    standing: RefitStanding | None
    kept: KeptStates

    @property
    def view(self) -> bodies.Session:
        return view_of(self.session, self.model, self.state, self.texts, self.standing)


def start(
    db: Transaction,
    loaded: LoadedModels,
    wanted: bodies.PredictRequest,
    max_refits: int,
    at: Moment,
) -> OpenSession:
    """Open a session; nothing is charged yet."""
    now = at.now
    choice = choose(db, loaded, wanted, max_refits, now)
    limits.check_session(db, at)
    model = loaded.get(db, *choice)
    catalogue = model.ensemble.catalogue
    known, texts = check_known(catalogue, wanted.known)
    if wanted.policy is not None:
        check_policy(wanted.policy, model.ensemble, "policy")
    seed = (
        secrets.randbelow(bodies.MAX_SEED + 1) if wanted.seed is None else wanted.seed
    )
    asked = wanted.budget, seed, known, wanted.policy, wanted.stop.to(StopRule)
    aim = check_wish(wanted.aim, model.ensemble, wanted.policy)
    state = machine.start(model.ensemble, *asked, coverage=wanted.coverage, aim=aim)
    state = remember(model.ensemble, state)
    session = PredictSession(
        id=sessions.make_id(),
        model_id=choice.model_id,
        state=row_state(state),
        version=1,
        budget_limit=wanted.budget,
        spent=0,
        unit=catalogue.cost_unit,
        document=write_state(state, catalogue, texts),
        created_at=now,
        updated_at=now,
        price_list_id=choice.price_list_id,
        client_ref=wanted.client_ref,
    )
    sessions.insert(db, session)
    return remain(
        OpenSession(session, model, state, texts, stand_of(db, session), loaded.states)
    )


def remain(opened: OpenSession) -> OpenSession:
    """Keep the state that was written, for the next answer."""
    opened.kept.keep(opened.session, opened.state, opened.texts)
    return opened


def get(db: Transaction, call: SessionCall) -> bodies.Session:
    """Return a session; one that was idle too long is seen as expired."""
    session = sessions.get(db, call.id)
    opened = open_session(db, session, call)
    if opened is None:
        return erased_view(session, call.loaded.get(db, session.model_id).name)
    return opened.view


def answer(
    db: Transaction, call: SessionCall, answers: Sequence[bodies.GivenAnswer]
) -> tuple[OpenSession, int]:
    """Take answers, all or none, in list order; also return what they charged.

    Answers that a session has already change nothing, a closed one included, so that
    a caller whose connection broke may simply send them again.
    """
    opened = lock_open(db, call)
    if opened is None:
        raise ClosedError("the session takes no more answers")
    catalogue = opened.model.ensemble.catalogue
    after = take_new(opened, *check_answers(catalogue, opened.state, answers))
    if after is opened:
        return opened, 0
    require_version(opened.session, call.versions)
    charges = after.state.charges[len(opened.state.charges) :]
    saved = save(db, after, call.at.now, charges)
    return saved, sum(charge.amount for charge in charges)


def change_terms(
    db: Transaction, call: SessionCall, wanted: TermsRequest
) -> bodies.Session:
    """Change the budget of a session, never below what is spent, or its aim."""
    opened = lock_open(db, call)
    if opened is None:
        raise ClosedError("the session was erased")
    state = change_state(opened.model.ensemble, opened.state, wanted)
    if state is opened.state:
        return opened.view
    require_version(opened.session, call.versions)
    if state.budget != opened.state.budget:
        sessions.set_budget(db, call.id, state.budget)
    return save(db, replace(opened, state=state), call.at.now).view


def stop(db: Transaction, call: SessionCall) -> bodies.Session:
    """End a session on request; results that are still to come are waited for."""
    opened = lock_open(db, call)
    if opened is None:
        return get(db, call)
    state = machine.stop(opened.state)
    if state is opened.state:
        return opened.view
    require_version(opened.session, call.versions)
    return save(db, replace(opened, state=state), call.at.now).view


def erase(db: Transaction, call: SessionCall) -> None:
    """Close a session and erase what its answers said; the amounts stay."""
    session = sessions.get_locked(db, call.id)
    if session.document is not None or session.client_ref is not None:
        seen = see(session, call.at)
        require_version(seen, call.versions)
        sessions.erase(db, seen, call.at.now)
        call.loaded.states.forget(call.id)
        retries.remove_of_session(db, call.id)


def lock_open(db: Transaction, call: SessionCall) -> OpenSession | None:
    """Lock and parse a session; one that is due to expire is stored as expired."""
    session = sessions.get_locked(db, call.id)
    if session.document is not None and call.loaded.load(db, session.model_id):
        session = sessions.get_locked(db, call.id)
    opened = open_session(db, session, call)
    if opened is not None and opened.session is not session:
        # Already under another version, or two: as everybody sees it.
        return store(db, opened)
    return opened


def open_session(
    db: Transaction, session: PredictSession, call: SessionCall
) -> OpenSession | None:
    """Parse a session, expired where it is due; None if its answers were erased."""
    if session.document is None:
        return None
    model = call.loaded.get(db, session.model_id, session.price_list_id)
    state, texts = call.loaded.states.read(session, model.ensemble.catalogue)
    while is_due(session, call.at):
        state = expire(model.ensemble.catalogue, session, state)
        session = expired_row(session, row_state(state), call.at)
    standing = stand_of(db, session)
    return OpenSession(session, model, state, texts, standing, call.loaded.states)


def stand_of(db: Transaction, session: PredictSession) -> RefitStanding | None:
    """Say how the training at a session's prices stands; None: they are the model's."""
    if session.price_list_id is None:
        return None
    return stand(db, session.model_id, session.price_list_id)


def row_state(state: State) -> SessionState:
    if machine.is_closed(state):
        return "closed"
    has_question = state.next_feature_idx is not None
    return "open" if has_question or not state.pending else "waiting"


def require_version(session: PredictSession, versions: frozenset[int] | None) -> None:
    if versions is not None and session.version not in versions:
        detail = f"The session is at version {session.version}."
        raise ConflictError("version-mismatch", detail)


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


def take_new(
    opened: OpenSession, answers: Sequence[Answer], texts: Texts
) -> OpenSession:
    """Take at once all answers that a session has not, with the texts of categories.

    Returns the session itself where it has them all.
    """
    answers = [one for one in answers if not is_same(opened, one, texts)]
    if not answers:
        return opened
    ensemble = opened.model.ensemble
    names = {ensemble.catalogue.features[given.feature_idx].name for given in answers}
    kept = {name: text for name, text in opened.texts.items() if name not in names}
    state = machine.observe(ensemble, opened.state, answers)
    return replace(opened, state=state, texts=kept | texts)


def save(
    db: Transaction, opened: OpenSession, now: datetime, charges: Sequence[Charge] = ()
) -> OpenSession:
    """Store what a session has come to as its next version, and charge."""
    before = opened.session
    made = replace(
        before,
        state=row_state(opened.state),
        version=before.version + 1,
        updated_at=now,
    )
    return store(db, replace(opened, session=made), charges)


def store(
    db: Transaction, opened: OpenSession, charges: Sequence[Charge] = ()
) -> OpenSession:
    """Store a session, and charge; the database decides whether."""
    ensemble = opened.model.ensemble
    catalogue = ensemble.catalogue
    opened = replace(opened, state=remember(ensemble, opened.state))
    document = write_state(opened.state, catalogue, opened.texts)
    made = replace(opened.session, document=document)
    saved = sessions.save(db, made, sum(charge.amount for charge in charges))
    if saved is None:
        raise find_refusal(db, opened.session, catalogue, charges)
    enter(db, saved, catalogue, charges)
    return remain(replace(opened, session=saved))
