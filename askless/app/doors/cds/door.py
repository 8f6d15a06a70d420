"""Routes of CDS Hooks: discovery, the two hooks of each model, and feedback."""

import heapq
import json
import re
import time
from hashlib import sha256
from threading import Lock
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from askless.app.doors.cds.bodies import UUID, FeedbackRequest, HookRequest
from askless.app.doors.cds.calls import HookContext, answer, store_feedback
from askless.app.doors.records.observations import map_codes
from askless.app.doors.records.patients import is_patient_feature
from askless.app.doors.sign_in.tokens import LEEWAY_S, Issuer, named_issuer
from askless.app.errors import ForbiddenError, NotFoundError, UnknownKeyError
from askless.app.http.plumbing.auth import CALLER, READING, authenticate
from askless.app.http.plumbing.deps import (
    At,
    Db,
    Loaded,
    OurSettings,
    ReadDb,
    read_db,
    require_distinct,
)
from askless.app.records import Caller, Limits
from askless.app.service import keys, models
from askless.app.settings.doors import CdsClient
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.code_systems import SYSTEMS
from askless.core.errors import Refusal, RefusedError


class Replays:
    """The tokens that this process has taken and that have not expired.

    At most `most` are remembered, each in some hundred bytes. Beyond that the one that
    expires first is forgotten, and could be used again until then.
    """

    def __init__(self, most: int = 100_000) -> None:
        self.most = most
        self.lock = Lock()
        self.used: set[bytes] = set()
        #: the same tokens by when they expire, in seconds since 1970
        self.by_expiry: list[tuple[float, bytes]] = []

    def use(self, issuer: str, jti: Any, expiry: float, now: float) -> bool:
        """Use a token; return whether it was not used before.

        A token is known by its issuer and its `jti`, which may be any JSON. `expiry` is
        the last moment at which it would be taken, a leeway included.
        """
        token = sha256(json.dumps([issuer, jti], sort_keys=True).encode()).digest()
        with self.lock:
            while self.by_expiry and self.by_expiry[0][0] < now:
                self.forget_first()
            if token in self.used:
                return False
            self.used.add(token)
            heapq.heappush(self.by_expiry, (expiry, token))
            if len(self.used) > self.most:
                self.forget_first()
        return True

    def forget_first(self) -> None:
        """Forget the token that expires first."""
        _, token = heapq.heappop(self.by_expiry)
        self.used.remove(token)


CLAIMS = ["iat", "jti"]
SCOPES = frozenset(("predict:read", "predict:write"))
KEY_START = "askl_"
bearer = HTTPBearer(auto_error=False)


class KnownClient(NamedTuple):
    """A client, and the tenant whose models it may ask."""

    tenant: str
    issuer: Issuer


class ClientGuard:
    """Checks the tokens of the clients that the settings name."""

    def __init__(self, clients: dict[str, CdsClient]) -> None:
        self.clients = {
            name: KnownClient(client.tenant, Issuer(name, client.jwks))
            for name, client in clients.items()
        }
        self.replays = Replays()

    async def verify(self, token: str, audience: str) -> str:
        """Return the name of the tenant of a token's client.

        Raises UnknownKeyError, also for a token that was used before, or HTTPException
        (503) as `Issuer.read` does.
        """
        name = named_issuer(token)
        client = self.clients.get(name)
        if client is None:
            raise UnknownKeyError
        claims = await client.issuer.read(token, audience, CLAIMS)
        expiry = float(claims["exp"]) + LEEWAY_S
        if not self.replays.use(name, claims["jti"], expiry, time.time()):
            raise UnknownKeyError
        return client.tenant


async def identify_caller(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> None:
    """Identify the caller by a client's token, or by a key as the API does."""
    state = request.app.state
    token = None if credentials is None else credentials.credentials
    if token is None or token.startswith(KEY_START):
        caller = await authenticate(request, credentials)
        kind = "read" if request.method in READING else "write"
        if f"predict:{kind}" not in caller.scopes:
            raise ForbiddenError(f"predict:{kind}")
    else:
        audience = f"{base_url(request)}{request.url.path}"
        tenant = await state.cds_guard.verify(token, audience)
        caller = await run_in_threadpool(find_caller, request, tenant)
    request.scope[CALLER] = caller


def find_caller(request: Request, tenant: str) -> Caller:
    state = request.app.state
    limits: Limits = state.settings.limits
    with read_db(state.engine, None) as db:
        tenant_id = keys.find_tenant(db, tenant)
    if tenant_id is None:
        raise UnknownKeyError
    return Caller(tenant_id, None, SCOPES, limits)


def base_url(request: Request) -> str:
    """Return the address of the service, as clients know it."""
    address: str = request.app.state.settings.address or str(request.base_url)
    return address.rstrip("/")


Json = dict[str, Any]
LOINC = SYSTEMS["loinc"]
HOOKS = ("patient-view", "order-select")
# Names of models that may stand in an address as they are.
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
NEWEST = "&_sort=-date"
# Panels of LOINC by what they hold: a blood pressure is a component more often than an
# Observation of its own, and a search by code does not find components.
BLOOD_PRESSURE = (LOINC, "85354-9")
PANELS = {BLOOD_PRESSURE: {(LOINC, "8480-6"), (LOINC, "8462-4")}}
TakesJson = Depends(require_distinct)
router = APIRouter(prefix="/cds-services", include_in_schema=False)


def add_to(app: FastAPI) -> None:
    app.state.cds_guard = ClientGuard(app.state.settings.cds_clients)
    app.include_router(router, dependencies=[Depends(identify_caller)])


async def get_context(
    request: Request, loaded: Loaded, settings: OurSettings, at: At
) -> HookContext:
    return HookContext(loaded, settings, at, base_url(request))


Using = Annotated[HookContext, Depends(get_context)]


@router.get("")
def list_services(db: ReadDb, loaded: Loaded) -> Json:
    """List the services: two for each model that knows codes of Observations."""
    services: list[Json] = []
    for head in models.list_newest(db):
        name = head.name if PLAIN.fullmatch(head.name) else head.id
        catalogue = models.load(db, loaded, name).ensemble.catalogue
        if map_codes(catalogue):
            services += (
                describe_service(name, head.name, hook, catalogue) for hook in HOOKS
            )
    return {"services": services}


def describe_service(name: str, title: str, hook: str, catalogue: Catalogue) -> Json:
    """Describe the service of a model at a hook, as discovery lists it.

    Its `prefetch` names the data of the patient that clients send with each call.
    """
    codes = map_codes(catalogue)
    panels = {panel for panel, parts in PANELS.items() if not parts.isdisjoint(codes)}
    tokens = ",".join(map(write_search_token, [*codes, *sorted(panels - codes.keys())]))
    patient = "{{context.patientId}}"
    prefetch = {"observations": f"Observation?patient={patient}&code={tokens}{NEWEST}"}
    if any(is_patient_feature(code) for code in codes.values()):
        prefetch["patient"] = f"Patient/{patient}"
    return {
        "hook": hook,
        "id": f"{name}.{hook}",
        "title": f"{title}: which test is worth its price",
        "description": "The chance so far, from what is known of the patient, and the "
        "next test that is worth its price.",
        "prefetch": prefetch,
    }


def write_search_token(coding: tuple[str, str]) -> str:
    """Return a code and its system as a token of a FHIR search, quoted for a URL."""
    parts = (re.sub(r"([\\,|$])", r"\\\1", text) for text in coding)
    return quote("|".join(parts), safe=":/|-._~$,")


def split_service_id(service: str) -> tuple[str, str]:
    """Return the model and the hook of a service's id."""
    name, _, hook = service.rpartition(".")
    if not name or hook not in HOOKS:
        raise NotFoundError("service")
    return name, hook


@router.post("/{service}", dependencies=[TakesJson])
def call_service(service: str, body: HookRequest, db: Db, using: Using) -> Json:
    """Prepare a session with what is known, and say on cards what it says."""
    name, hook = split_service_id(service)
    if body.hook != hook:
        raise RefusedError([Refusal("hook", f"must be {hook}")])
    return {"cards": answer(db, using, name, body)}


@router.post("/{service}/feedback", dependencies=[TakesJson])
def feedback(service: str, body: FeedbackRequest, db: Db, using: Using) -> Json:
    """Write into the cases what became of their cards."""
    name, _ = split_service_id(service)
    for place, feedback_item in enumerate(body.feedback):
        if not UUID.fullmatch(feedback_item.card.lower()):
            raise RefusedError([Refusal(f"feedback[{place}].card", "must be a UUID")])
    store_feedback(db, using, name, body)
    return {}
