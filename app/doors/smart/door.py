"""The launch by a record system: sign in there, take its results, open a session."""

import re
from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from app.documents.http.sessions import PredictRequest
from app.doors.entering import Entitled, let_in, open_page, show_failures
from app.doors.flows import AuthServer, Finished, Flow, FlowError, kept_of
from app.doors.observations import read_known
from app.doors.smart.results import Records
from app.errors import ConflictError, NotFoundError
from app.http.plumbing.deps import changing, moment_of, reading
from app.records import Caller
from app.service import models
from app.service import sessions as service
from app.service.keys import ROLES
from app.service.people import Person
from app.settings.doors import SmartServer
from core.errors import RefusedError
from core.table.catalogue import Catalogue

Json = dict[str, Any]
router = APIRouter(prefix="/ui/smart", include_in_schema=False)
# As registered with each record system.
CALLBACK = "/ui/smart/callback"
# Version 2 of the scopes; `launch`: the patient whom the record shows.
SCOPE = "launch openid fhirUser patient/Patient.r patient/Observation.rs"
# What people are called, as ID tokens have it.
NAMES = ("name", "preferred_username", "email", "fhirUser")
PATIENT = re.compile(r"[A-Za-z0-9.-]{1,64}")
UNKNOWN = "Only a record system that this service knows can launch it."
NO_PATIENT = "The record system named no patient. Please open one, and launch again."
NO_MODEL = "There is no model {} here. Whoever set up the launch can name another."


def add_to(app: FastAPI) -> None:
    """Let the record systems of the settings launch us."""
    settings = app.state.settings
    servers = {url.rstrip("/"): one for url, one in settings.smart_servers.items()}
    app.state.smart_servers = servers
    app.state.smart_flows = {url: make_flow(url, one) for url, one in servers.items()}
    show_failures(app)
    app.include_router(router)


def make_flow(base: str, server: SmartServer) -> Flow:
    url = f"{base}/.well-known/smart-configuration"
    return Flow("smart", AuthServer(url, server.client_id, server.client_secret, SCOPE))


def find_flow(request: Request, base: str) -> Flow:
    flows: dict[str, Flow] = request.app.state.smart_flows
    if base not in flows:
        raise FlowError(403, UNKNOWN)
    return flows[base]


@router.get("/launch/{model}")
async def launch(
    model: str, request: Request, iss: str = "", launch: str = ""
) -> Response:
    """Send the browser on to the record system that opened this page."""
    base = iss.rstrip("/")
    flow = find_flow(request, base if launch else "")
    callback = f"{request.app.state.settings.site}{CALLBACK}"
    kept = {"base": base, "model": model}
    return await flow.begin(request, callback, kept, aud=iss, launch=launch)


@router.get("/callback")
async def finish(request: Request) -> Response:
    """Sign in whom the record system knows; open a session with what it knows."""
    base = kept_of(request).get("base", "")
    done = await find_flow(request, base).finish(request)
    caller = await let_in(request, entitle(request, base, done))
    address = await open_session(request, base, done, caller)
    return await open_page(request, caller, address)


def entitle(request: Request, base: str, done: Finished) -> Entitled:
    """Return the person who launched us, with the role of their record system."""
    server: SmartServer = request.app.state.smart_servers[base]
    claims = done.claims
    named = [claims[one] for one in NAMES if isinstance(claims.get(one), str)]
    name = named[0] if named else ""
    person = Person(str(claims["iss"]), str(claims["sub"]), name, ROLES[server.role])
    return Entitled(server.tenant, person)


async def open_session(
    request: Request, base: str, done: Finished, caller: Caller
) -> str:
    """Start a session with the patient's results; return its page's address."""
    patient = done.token.get("patient")
    if not isinstance(patient, str) or not PATIENT.fullmatch(patient):
        raise FlowError(422, NO_PATIENT)
    state, name = request.app.state, done.kept.get("model", "")
    catalogue = await run_in_threadpool(find_catalogue, request, caller, name)
    scope = done.token.get("scope")
    granted = scope if isinstance(scope, str) else SCOPE
    records = Records(base, str(done.token.get("access_token")), granted)
    now = state.clock()
    found = await records.fetch_results(patient, catalogue, now)
    known = read_known(found, catalogue, now, patient)
    server: SmartServer = state.smart_servers[base]
    order = {
        "model": name,
        "budget": server.budget,
        "known": {feature: one.value for feature, one in known.items()},
        "client_ref": f"Patient/{patient}",
    }
    return await run_in_threadpool(start, request, caller, order)


def find_catalogue(request: Request, caller: Caller, name: str) -> Catalogue:
    """Return what a model asks; raise FlowError if there is no such model."""
    state = request.app.state
    try:
        with reading(state.engine, caller.tenant_id) as db:
            return models.find(db, state.loaded, name).ensemble.catalogue
    except NotFoundError:
        raise FlowError(404, NO_MODEL.format(name)) from None


def start(request: Request, caller: Caller, order: Json) -> str:
    state = request.app.state
    engine: sa.Engine = state.engine
    most = state.settings.max_refits
    try:
        body = PredictRequest.model_validate(order)
        with changing(engine, caller) as db:
            opened = service.start(db, state.loaded, body, most, moment_of(request))
    # The person's limits, or a budget that this model does not allow.
    except (ConflictError, RefusedError, ValueError) as error:
        raise FlowError(422, str(error)) from None
    return f"/ui/sessions/{opened.session.id}"
