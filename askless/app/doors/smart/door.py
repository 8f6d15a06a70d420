"""The launch by a record system: sign in there, take its results, open a session."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import httpx2
import sqlalchemy as sa
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from askless.app.documents.http.sessions import PredictRequest
from askless.app.documents.shape import read_shape
from askless.app.doors.records.fetching import FetchError, fetch_json, trust_store
from askless.app.doors.records.observations import (
    effective_time,
    list_resources,
    map_codes,
    read_record,
    to_seconds,
)
from askless.app.doors.sign_in.auth_servers import AuthServer, FlowError, Registration
from askless.app.doors.sign_in.entering import (
    REVOKED,
    Entitled,
    add_failure_page,
    find_caller,
    name_of,
    open_page,
)
from askless.app.doors.sign_in.flows import Finished, Flow
from askless.app.errors import ConflictError, NotFoundError, UnknownKeyError
from askless.app.http.plumbing.deps import change_db, make_moment, read_db
from askless.app.records import Caller
from askless.app.service import keys, models
from askless.app.service import sessions as service
from askless.app.service.keys import MAX_NAME, ROLES
from askless.app.service.people import Person
from askless.app.settings.doors import SmartServer
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import RefusedError

Json = dict[str, Any]
SPAN = timedelta(days=1)
CLOCKS = timedelta(minutes=5)
MOST_PAGES = 10
GRANTED = re.compile(r"(?:patient|user|system)/(\w+|\*)\.(read|\*|c?r?u?d?s?)(?:\?.*)?")
# A moment in FHIR is a whole day where it has no time.
DAY = len("2026-01-31")
# A day ends so long after it began in UTC, and begins so long before.
WEST_S, EAST_S = 36 * 3600, 14 * 3600


class Records:
    """A record system's FHIR, read with the rights of the person who launched us."""

    def __init__(self, base: str, token: str, scope: str) -> None:
        self.base = base
        self.host = urlsplit(base).netloc
        self.origin = f"{urlsplit(base).scheme}://{self.host}"
        self.headers = {
            "Accept": "application/fhir+json",
            # A token that HTTP can't carry is changed here and refused there.
            "Authorization": f"Bearer {token}".encode("ascii", "replace").decode(),
        }
        self.scopes = scope.split()

    def may(self, right: str, kind: str) -> bool:
        """Return whether the record system grants to read (r) or search (s) a kind.

        Scopes are those of version 2 or 1: `patient/Patient.rs`, `patient/*.read`.
        """
        granted = [GRANTED.fullmatch(scope) for scope in self.scopes]
        rights = [scope[2] for scope in granted if scope and scope[1] in (kind, "*")]
        return any(
            permitted in ("read", "*") or right in permitted for permitted in rights
        )

    async def fetch_results(
        self, patient: str, catalogue: Catalogue, now: datetime
    ) -> Json:
        """Return the patient and their Observations of the last day.

        What was not granted is not asked for. Raises FlowError.
        """
        results: Json = {}
        async with httpx2.AsyncClient(
            headers=self.headers, verify=trust_store()
        ) as client:
            if self.may("r", "Patient"):
                url = f"{self.base}/Patient/{patient}"
                results["patient"] = await self.fetch(client, url)
            codes = [f"{system}|{code}" for system, code in map_codes(catalogue)]
            if codes and self.may("s", "Observation"):
                query = {"patient": patient, "code": ",".join(codes), "_count": "200"}
                query |= {
                    "date": f"ge{now - SPAN:%Y-%m-%dT%H:%M:%SZ}",
                    "_sort": "-date",
                }
                url = str(httpx2.URL(f"{self.base}/Observation", params=query))
                entries = [
                    {"resource": resource}
                    for page in await self.fetch_pages(client, url)
                    for resource in list_resources(page)
                    if is_recent(resource, now)
                ]
                results["observations"] = {"resourceType": "Bundle", "entry": entries}
        return results

    async def fetch_pages(self, client: httpx2.AsyncClient, url: str) -> list[Json]:
        """Return a Bundle and those that follow it."""
        pages: list[Json] = []
        following: str | None = url
        while following is not None and len(pages) < MOST_PAGES:
            pages.append(await self.fetch(client, following))
            following = next(self.list_following(pages[-1]), None)
        return pages

    def list_following(self, page: Json) -> Iterator[str]:
        """Yield the address of the next page, if it is of the same record system."""
        links = page.get("link")
        for link in links if isinstance(links, list) else []:
            if isinstance(link, dict) and link.get("relation") == "next":
                url = str(link.get("url"))
                # Its token is for nobody else.
                if url.startswith(f"{self.origin}/"):
                    yield url

    async def fetch(self, client: httpx2.AsyncClient, url: str) -> Json:
        """Return a resource; raise FlowError if there is none."""
        try:
            return await fetch_json(client, url)
        except FetchError:
            words = f"{self.host} did not give the patient's results."
            raise FlowError(502, f"{words} Please launch again.") from None


def is_recent(resource: Json, now: datetime) -> bool:
    """Return whether a result is of the last day; record systems may give others.

    A result dated by day may be from any time zone. A result of the future is refused,
    except within the difference of clocks.
    """
    at = effective_time(resource)
    since, latest = (now - SPAN).timestamp(), (now + CLOCKS).timestamp()
    if len(at) == DAY:
        return since <= to_seconds(at) + WEST_S and to_seconds(at) - EAST_S <= latest
    return len(at) > DAY and since <= to_seconds(at) <= latest


router = APIRouter(prefix="/ui/smart/{server}", include_in_schema=False)
# Version 2 of the scopes; `launch`: the patient whom the record shows.
SCOPE = "launch openid fhirUser patient/Patient.r patient/Observation.rs"
# Of dots alone an id would name another address of the record system.
PATIENT = re.compile(r"(?!\.+$)[A-Za-z0-9.-]{1,64}")
UNKNOWN = "Only a record system that this service knows can launch it."
NO_PATIENT = "The record system named no patient. Please open one, and launch again."
NO_MODEL = "There is no model {} here. Whoever set up the launch can name another."


class Ehr(NamedTuple):
    """A record system of the settings, and how people sign in there."""

    name: str
    setting: SmartServer
    #: the address of its FHIR
    base: str
    flow: Flow


def add_to(app: FastAPI) -> None:
    """Let the record systems of the settings launch us."""
    settings = app.state.settings
    app.state.ehrs = {
        name: make_ehr(name, ehr, settings.site)
        for name, ehr in settings.smart_servers.items()
    }
    add_failure_page(app)
    app.include_router(router)


def make_ehr(name: str, setting: SmartServer, site: str) -> Ehr:
    """Return a record system, to whose own address browsers come back.

    No record system can then receive what another one gave us.
    """
    base = setting.fhir.rstrip("/")
    registration = Registration(
        metadata_url=f"{base}/.well-known/smart-configuration",
        client_id=setting.client_id,
        client_secret=setting.client_secret,
        scope=SCOPE,
        callback=f"{site}/ui/smart/{name}/callback",
    )
    return Ehr(name, setting, base, Flow(AuthServer(f"smart-{name}", registration)))


def find_ehr(request: Request, name: str) -> Ehr:
    ehrs: dict[str, Ehr] = request.app.state.ehrs
    if name not in ehrs:
        raise FlowError(403, UNKNOWN)
    return ehrs[name]


@router.get("/launch/{model}")
async def launch(
    server: str, model: str, request: Request, iss: str = "", launch: str = ""
) -> Response:
    """Send the browser on to the record system that opened this page."""
    ehr = find_ehr(request, server)
    if len(model) > MAX_NAME:
        raise FlowError(404, NO_MODEL.format(f"{model[:MAX_NAME]}…"))
    if iss.rstrip("/") != ehr.base or not launch:
        raise FlowError(403, UNKNOWN)
    return await ehr.flow.begin(request, {"model": model}, aud=iss, launch=launch)


@router.get("/callback")
async def finish_launch(server: str, request: Request) -> Response:
    """Sign in whom the record system knows; open a session with what it knows."""
    ehr = find_ehr(request, server)
    done = await ehr.flow.finish(request)
    caller = await find_caller(request, make_entitled(ehr, done))
    address = await open_session(request, ehr, done, caller)
    return await open_page(request, caller, address)


def make_entitled(ehr: Ehr, done: Finished) -> Entitled:
    """Return who launched us, with the role of their record system.

    They are known by its name of ours, and not by whom it calls the issuer: so nobody
    there is anybody of another provider.
    """
    claims, setting = done.claims, ehr.setting
    name = name_of(claims) or str(claims.get("fhirUser", ""))
    person = Person(f"smart:{ehr.name}", str(claims["sub"]), name, ROLES[setting.role])
    return Entitled(setting.tenant, person)


async def open_session(
    request: Request, ehr: Ehr, done: Finished, caller: Caller
) -> str:
    """Start a session with the patient's results; return its page's address."""
    patient = done.token.get("patient")
    if not isinstance(patient, str) or not PATIENT.fullmatch(patient):
        raise FlowError(422, NO_PATIENT)
    state, name = request.app.state, done.kept.get("model", "")
    catalogue = await run_in_threadpool(find_catalogue, request, caller, name)
    scope = done.token.get("scope")
    granted = scope if isinstance(scope, str) else SCOPE
    records = Records(ehr.base, str(done.token.get("access_token")), granted)
    now = state.clock()
    results = await records.fetch_results(patient, catalogue, now)
    record = read_record(results, catalogue, now, patient)
    order = {
        "model": name,
        "budget": ehr.setting.budget,
        "known": {feature: result.value for feature, result in record.known.items()},
        "client_ref": f"Patient/{patient}",
    }
    address = await run_in_threadpool(start_session, request, caller, order)
    unread = urlencode([("unread", name) for name in record.left_out])
    return f"{address}?{unread}" if unread else address


def find_catalogue(request: Request, caller: Caller, name: str) -> Catalogue:
    """Return a model's catalogue; raise FlowError if there is no such model."""
    state = request.app.state
    try:
        with read_db(state.engine, caller.tenant_id) as db:
            return models.load(db, state.loaded, name).ensemble.catalogue
    except NotFoundError:
        raise FlowError(404, NO_MODEL.format(name)) from None


def start_session(request: Request, caller: Caller, order: Json) -> str:
    state = request.app.state
    engine: sa.Engine = state.engine
    try:
        body = read_shape(PredictRequest, order, "")
        with change_db(engine, caller) as db:
            # While the results were fetched.
            keys.require_valid(db, caller)
            opened = service.start(db, state.loaded, body, make_moment(request))
    except UnknownKeyError:
        raise FlowError(403, REVOKED) from None
    # The person's limits, or a budget that this model does not allow.
    except (ConflictError, RefusedError) as error:
        raise FlowError(422, str(error)) from None
    return f"/ui/sessions/{opened.session.id}"
