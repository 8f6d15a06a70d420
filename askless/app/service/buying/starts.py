"""Start a run, pause it, let it go on, or hand its session to a person."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from askless.app.documents.buying.providers import host_and_port
from askless.app.documents.http.sessions import PredictRequest
from askless.app.documents.http.terms import SessionChange
from askless.app.errors import ConflictError
from askless.app.records import Moment, RunState, StoredRun
from askless.app.service import sessions as service
from askless.app.service.buying.offers import (
    Filler,
    charge_as,
    check_filled,
    list_fillers,
    list_used,
    offer_name,
    open_fillers,
)
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.opened import (
    OpenSession,
    SessionCall,
    lock_open,
    require_version,
    save,
)
from askless.app.settings.hosts import is_listed
from askless.app.store.buying import runs
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import ClosedError, Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import list_revealed
from askless.core.session.machine import take_purchase
from askless.core.session.state import Answer, Purchase

HOST_RULE = "must be a host that the operator names (ASKLESS_PROVIDER_HOSTS)"


class RunStart(NamedTuple):
    """A request to start a run, and the hosts that may be called."""

    request: PredictRequest
    hosts: Sequence[str]


def start(
    db: Transaction, loaded: LoadedModels, wish: RunStart, at: Moment
) -> OpenSession:
    """Open a session that the buyer carries out.

    Its prices are those of the providers. Before anything is bought, a feature that
    costs something and that no provider fills is refused by name. A provider is left
    out if the case lacks one of its keys.
    """
    request, terms = wish.request, wish.request.run
    check_terms(wish)
    fillers: dict[str, list[Filler]] = {}

    def reprice(ensemble: Ensemble) -> Catalogue:
        catalogue = ensemble.catalogue
        fillers.update(list_fillers(open_fillers(db).values(), catalogue))
        for offer in fillers.keys() - list_used(ensemble.is_used, catalogue):
            del fillers[offer]
        refusals = check_filled(catalogue, ensemble.is_used, request.known, fillers)
        if refusals:
            raise RefusedError(refusals)
        firsts = [first_usable(listed, request) for listed in fillers.values()]
        return charge_as(catalogue, catalogue, firsts, {})

    opened = service.start(db, loaded, request, at, reprice)
    left_out = {
        filler.name: f"key {name} is missing"
        for listed in fillers.values()
        for filler in listed
        for name in filler.provider.request.keys
        if name not in request.keys
    }
    run = StoredRun(
        session_id=opened.session.id,
        state="buying",
        keys=dict(request.keys),
        webhook=request.webhook.model_dump() if request.webhook else None,
        left_out=left_out,
        created_at=at.now,
        terms=terms.model_dump() if terms and terms.weighs_time else None,
    )
    runs.insert(db, run)
    opened = give_up_unfilled(db, opened, fillers, left_out, at)
    return replace(opened, run=run)


def first_usable(listed: Sequence[Filler], request: PredictRequest) -> Filler:
    """Return the cheapest provider of an offer that has all its keys, or the first."""
    keys = request.keys.keys()
    usable = (filler for filler in listed if keys >= {*filler.provider.request.keys})
    return next(usable, listed[0])


def give_up_unfilled(
    db: Transaction,
    opened: OpenSession,
    fillers: dict[str, list[Filler]],
    left_out: dict[str, str],
    at: Moment,
) -> OpenSession:
    """Answer `unknown` for features that no provider can fill for this case."""
    ensemble, state = opened.model.ensemble, opened.state
    catalogue = ensemble.catalogue
    for idx, outcome in enumerate(opened.state.outcomes):
        is_open = outcome is None and state.outcomes[idx] is None
        listed = fillers.get(offer_name(catalogue, idx), [])
        if not is_open or not ensemble.is_used[idx]:
            continue
        if any(filler.name not in left_out for filler in listed):
            continue
        revealed = list_revealed(catalogue, state, idx)
        answers = tuple(Answer(feature_idx, "unknown") for feature_idx in revealed)
        state = take_purchase(ensemble, state, Purchase(idx, 0, "miss", answers))
    if state is opened.state:
        return opened
    return save(db, replace(opened, state=state), at.now)


def check_terms(wish: RunStart) -> None:
    """Refuse prices, which the providers and the model say, and a host not listed."""
    if wish.request.prices is not None:
        rule = "must be left out of a run: providers say what they charge"
        raise RefusedError([Refusal("prices", rule)])
    webhook = wish.request.webhook
    if webhook is not None and not is_listed(host_and_port(webhook.url), wish.hosts):
        raise RefusedError([Refusal("webhook.url", HOST_RULE)])


def change(db: Transaction, call: SessionCall, request: SessionChange) -> OpenSession:
    """Change the run of a session, its terms, or both."""
    changed = request.model_fields_set
    if "run" not in changed:
        return service.change_terms(db, call, request)
    opened = change_run(db, call, request.run or "released")
    if changed == {"run"}:
        return opened
    return service.change_terms(db, call._replace(versions=None), request)


def change_run(db: Transaction, call: SessionCall, state: RunState) -> OpenSession:
    """Pause a run, let it go on, or hand its session to a person (`released`).

    A call that is on its way is settled all the same. Raises ClosedError for a session
    that is over, ConflictError for one that never was a run.
    """
    opened = lock_open(db, call)
    run = runs.find_locked(db, call.id)
    if opened is None or opened.session.state == "closed":
        raise ClosedError("the session is closed")
    if run is None or run.state == "ended":
        raise ConflictError("conflict", "The session is no run.")
    if run.state == state:
        return opened
    require_version(opened.session, call.versions)
    # A buyer with a call on its way goes on holding the run.
    runs.change(db, call.id, state=state)
    # Its next version shows others that it has changed.
    return save(db, replace(opened, run=replace(run, state=state)), call.at.now)
