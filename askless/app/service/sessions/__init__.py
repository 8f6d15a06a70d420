"""Start, change, stop and erase sessions."""

import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from askless.app.documents.http import sessions as bodies
from askless.app.documents.http.sessions import PredictRequest
from askless.app.documents.http.terms import TermsRequest
from askless.app.documents.session.state import write_state
from askless.app.records import ModelHead, Moment, PredictSession
from askless.app.service import limits
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.expiry import apply_expiry
from askless.app.service.sessions.opened import (
    ErasedSession,
    OpenSession,
    SessionCall,
    find,
    lock_open,
    require_version,
    row_state,
    save,
)
from askless.app.service.sessions.prices import store_prices
from askless.app.service.sessions.requests import check_known
from askless.app.service.sessions.terms import change_state, requested_aim
from askless.app.store import models, retries, sessions
from askless.app.store.buying import calls, providers, runs
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import ClosedError, Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.policies import check_policy
from askless.core.session.state import StopRule
from askless.core.session.steps import add_step_chances

#: makes the catalogue at the prices of a run's providers
Reprice = Callable[[Ensemble], Catalogue]


class ChosenModel(NamedTuple):
    """A model locked against deletion, and its price list; None: its own prices."""

    model_id: str
    price_list_id: str | None


def choose_model(
    db: Transaction,
    loaded: LoadedModels,
    request: PredictRequest,
    now: datetime,
    reprice: Reprice | None = None,
) -> ChosenModel:
    """Find the model of a new session, and store the requested price list.

    `reprice` returns the catalogue at the prices of a run's providers.
    """
    head = lock_model(db, loaded, request.model)
    own = ensemble = loaded.get(db, head.id).ensemble
    if request.prices is not None:
        ensemble = own.at_prices(request.prices.build("prices"), "prices")
    repriced = ensemble.catalogue if reprice is None else reprice(ensemble)
    if request.prices is None and repriced == own.catalogue:
        return ChosenModel(head.id, None)
    return ChosenModel(head.id, store_prices(db, head.id, repriced, now).id)


def lock_model(db: Transaction, loaded: LoadedModels, key: str) -> ModelHead:
    """Find a model by id, name or version, and lock it against deletion.

    Look it up again if it had to be parsed first, or was deleted just now. Raises
    NotFoundError if there is none.
    """
    while True:
        head = models.get_head(db, key)
        # `load` returns True if it parsed the model, and then the transaction has
        # ended.
        if not loaded.load(db, head.id) and models.lock(db, head.id, is_shared=True):
            return head


def start(
    db: Transaction,
    loaded: LoadedModels,
    request: bodies.PredictRequest,
    at: Moment,
    reprice: Reprice | None = None,
) -> OpenSession:
    """Open a session, with `reprice` that of a run; nothing is charged yet.

    Raises NotFoundError for an unknown model, RefusedError for a broken rule, and
    LimitError if the key has too many sessions.
    """
    now = at.now
    if request.run and reprice is None:
        rule = "must be false here: a run is started by POST /predict, or decide"
        raise RefusedError([Refusal("run", rule)])
    choice = choose_model(db, loaded, request, now, reprice)
    limits.check_session(db, at)
    model = loaded.get(db, *choice)
    catalogue = model.ensemble.catalogue
    known, texts = check_known(catalogue, request)
    if request.policy is not None:
        check_policy(request.policy, model.ensemble, "policy")
    seed = (
        secrets.randbelow(bodies.MAX_SEED + 1) if request.seed is None else request.seed
    )
    aim = requested_aim(request.aim, model.ensemble, request.policy)
    asked = request.budget, seed, known, request.policy, request.stop.to(StopRule)
    more = 0, request.coverage, aim, request.explore
    state = add_step_chances(
        model.ensemble, machine.start(model.ensemble, *asked, *more)
    )
    session = PredictSession(
        id=sessions.make_id(),
        model_id=choice.model_id,
        state=row_state(state),
        version=1,
        budget_limit=request.budget,
        spent=0,
        unit=catalogue.cost_unit,
        document=write_state(state, catalogue, texts),
        created_at=now,
        updated_at=now,
        price_list_id=choice.price_list_id,
        client_ref=request.client_ref,
        is_run=reprice is not None,
    )
    sessions.insert(db, session)
    return OpenSession(session, model, state, texts)


def get(db: Transaction, call: SessionCall) -> bodies.Session:
    """Return a session's body; show it as expired if it was idle for too long."""
    return find(db, call).view


def change_terms(
    db: Transaction, call: SessionCall, request: TermsRequest
) -> OpenSession:
    """Change the budget of a session, never below what is spent, or its aim.

    If it has these terms already, nothing changes, whatever its version. Raises
    ClosedError if it was erased, ConflictError if it is at another version.
    """
    opened = lock_open(db, call)
    if opened is None:
        raise ClosedError("the session was erased")
    state = change_state(opened.model.ensemble, opened.state, request)
    if state is opened.state:
        return opened
    require_version(opened.session, call.versions)
    if state.budget != opened.state.budget:
        sessions.set_budget(db, call.id, state.budget)
    return save(db, replace(opened, state=state), call.at.now)


def stop(db: Transaction, call: SessionCall) -> OpenSession | ErasedSession:
    """End a session on request; pending results may still come in."""
    opened = lock_open(db, call)
    if opened is None:
        return find(db, call)
    state = machine.stop(opened.state)
    if state is opened.state:
        return opened
    require_version(opened.session, call.versions)
    if opened.run is not None and opened.run.state in ("paused", "released"):
        # The buyer ends the run: it writes the receipt.
        runs.change(db, call.id, state="buying")
    return save(db, replace(opened, state=state), call.at.now)


def erase(db: Transaction, call: SessionCall) -> None:
    """Close a session and erase its answers; the amounts stay in the ledger."""
    session = sessions.get_locked(db, call.id)
    # A session that has neither was erased before.
    if session.document is not None or session.client_ref is not None:
        current = apply_expiry(session, call.at)
        require_version(current, call.versions)
        erase_case(db, current, call.at.now)


def erase_case(db: Transaction, session: PredictSession, now: datetime) -> None:
    """Erase what is stored of a locked session's case, everywhere."""
    sessions.erase(db, session, now)
    retries.remove_of_session(db, session.id)
    if session.is_run:
        runs.erase(db, session.id, now)
        calls.erase(db, session.id)
        providers.forget_session(db, session.id)


SOME = 200


def erase_old(db: Transaction, at: Moment, least_age: timedelta) -> int:
    """Erase the tenant's sessions closed for longer than `least_age`; return how many.

    They are read oldest first, `SOME` at a time; an expired one was closed then.
    """
    before, after, n_erased = at.now - least_age, None, 0
    while True:
        batch = sessions.lock_unchanged(db, before, after, SOME)
        for session in batch:
            current = apply_expiry(session, at)
            if current.state == "closed" and current.updated_at < before:
                erase_case(db, current, at.now)
                n_erased += 1
        if len(batch) < SOME:
            return n_erased
        after = batch[-1]
