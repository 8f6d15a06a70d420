"""Routes of CDS Hooks: discovery, the two hooks of each model, and feedback."""

import re
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, Request

from askless.app.doors.cds.bodies import UUID, FeedbackRequest, HookRequest
from askless.app.doors.cds.calls import HookContext, answer, take_feedback
from askless.app.doors.cds.clients import ClientGuard, base_of, enter
from askless.app.doors.records.observations import map_codes
from askless.app.doors.records.patients import tells_of_patient
from askless.app.errors import NotFoundError
from askless.app.http.plumbing.deps import (
    At,
    Db,
    Loaded,
    OurSettings,
    ReadDb,
    require_distinct,
)
from askless.app.records import ModelHead
from askless.app.service import models
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.code_systems import SYSTEMS
from askless.core.errors import Refusal, RefusedError

Json = dict[str, Any]
LOINC = SYSTEMS["loinc"]
HOOKS = ("patient-view", "order-select")
# Names of models that may stand in an address as they are.
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
MOST_MODELS = 200
NEWEST = "&_sort=-date"
# Panels of LOINC by what they hold: a blood pressure is a component more often than an
# Observation of its own, and a search by code does not find components.
BLOOD_PRESSURE = (LOINC, "85354-9")
PANELS = {BLOOD_PRESSURE: {(LOINC, "8480-6"), (LOINC, "8462-4")}}
TakesJson = Depends(require_distinct)
router = APIRouter(prefix="/cds-services", include_in_schema=False)


def add_to(app: FastAPI) -> None:
    """Add the door to an application."""
    app.state.cds_guard = ClientGuard(app.state.settings.cds_clients)
    app.include_router(router, dependencies=[Depends(enter)])


async def get_base(request: Request) -> str:
    return base_of(request)


Base = Annotated[str, Depends(get_base)]


@router.get("")
def discover(db: ReadDb, loaded: Loaded) -> Json:
    """List the services: two for each model that knows codes of Observations."""
    services: list[Json] = []
    for head in list_names(db):
        name = head.name if PLAIN.fullmatch(head.name) else head.id
        catalogue = models.find(db, loaded, name).ensemble.catalogue
        if map_codes(catalogue):
            services += (
                describe_service(name, head.name, hook, catalogue) for hook in HOOKS
            )
    return {"services": services}


def list_names(db: Transaction, most: int = MOST_MODELS) -> list[ModelHead]:
    """Return the newest version of each name; many versions of one hide no other."""
    heads: dict[str, ModelHead] = {}
    after: str | None = None
    while True:
        page = models.page(db, most, after)
        for head in page.items:
            heads.setdefault(head.name, head)
        after = page.next
        if after is None or len(heads) >= most:
            return [*heads.values()][:most]


def describe_service(name: str, title: str, hook: str, catalogue: Catalogue) -> Json:
    """Describe the service of a model at a hook, as discovery lists it.

    Its `prefetch` names the data of the patient that clients send with each call.
    """
    codes = map_codes(catalogue)
    panels = {panel for panel, parts in PANELS.items() if not parts.isdisjoint(codes)}
    tokens = ",".join(map(write_search_token, [*codes, *sorted(panels - codes.keys())]))
    patient = "{{context.patientId}}"
    prefetch = {"observations": f"Observation?patient={patient}&code={tokens}{NEWEST}"}
    if any(tells_of_patient(code) for code in codes.values()):
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


def split(service: str) -> tuple[str, str]:
    """Return the model and the hook of a service's id."""
    name, _, hook = service.rpartition(".")
    if not name or hook not in HOOKS:
        raise NotFoundError("service")
    return name, hook


@router.post("/{service}", dependencies=[TakesJson])
def call_service(
    service: str,
    body: HookRequest,
    db: Db,
    loaded: Loaded,
    settings: OurSettings,
    at: At,
    base: Base,
) -> Json:
    """Prepare a session with what is known, and say on cards what it says."""
    name, hook = split(service)
    if body.hook != hook:
        raise RefusedError([Refusal("hook", f"must be {hook}")])
    using = HookContext(loaded, settings, at, base)
    return {"cards": answer(db, using, name, body)}


@router.post("/{service}/feedback", dependencies=[TakesJson])
def feedback(
    service: str,
    body: FeedbackRequest,
    db: Db,
    loaded: Loaded,
    settings: OurSettings,
    at: At,
    base: Base,
) -> Json:
    """Write into the cases what became of their cards."""
    name, _ = split(service)
    for place, feedback_item in enumerate(body.feedback):
        if not UUID.fullmatch(feedback_item.card.lower()):
            raise RefusedError([Refusal(f"feedback[{place}].card", "must be a UUID")])
    take_feedback(db, HookContext(loaded, settings, at, base), name, body)
    return {}
