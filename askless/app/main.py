"""Build the application: routes, layers, handlers of errors, and its start and end."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

from anyio import CapacityLimiter
from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from askless.app import logs
from askless.app.http import (
    calls,
    challenges,
    datasets,
    jobs,
    keys,
    learning,
    ledger,
    models,
    operations,
    providers,
    runs,
    sessions,
    trainings,
)
from askless.app.http.plumbing import contract
from askless.app.http.plumbing.auth import Guard, needs
from askless.app.http.plumbing.deps import MAX_WRITERS
from askless.app.http.plumbing.layers.below import ProxyPath
from askless.app.http.plumbing.layers.edge import Edge
from askless.app.http.plumbing.layers.errors import HANDLERS
from askless.app.http.plumbing.layers.gate import Gate
from askless.app.http.plumbing.layers.methods import HeadAsGet
from askless.app.http.plumbing.layers.metrics import Metrics
from askless.app.http.plumbing.layers.translating import TranslatedProblems
from askless.app.pages.plumbing import site
from askless.app.pages.plumbing.errors import ProblemPages
from askless.app.service.jobs.table_jobs import preload_checks
from askless.app.service.loaded import LoadedModels
from askless.app.service.models import preload_check
from askless.app.settings.home import list_local_folders
from askless.app.settings.settings import DoorName, Settings
from askless.app.store.blobs import Blobs
from askless.app.store.database.engine import create_engine
from askless.app.uploads.parsing import make_reader
from askless.core.warm import warm_up

DESCRIPTION = """Predict from few features. A session asks for one feature at a time,
each with its price, predicts after every answer, and never charges more than its
budget. Errors are problem documents (RFC 9457); their types are under
[/problems](/problems)."""


# Routes with the first half of the scope that they need; the method gives the other.
# An address is looked for from the first to the last; answers come the oftenest.
SCOPED = (
    (sessions, "predict"),
    (runs, "predict"),
    (datasets, "datasets"),
    (trainings, "train"),
    (models, "models"),
    (challenges, "models"),
    (jobs, "predict"),
    (learning, "train"),
    (ledger, "ledger"),
    (providers, "providers"),
    (calls, "providers"),
    (keys, "keys"),
)
# Those that tell nothing of a tenant.
OPEN = (operations,)
# Modules of doors, whose `add_to` adds one to the application. A door that no setting
# opens is not imported, and needs no package.
DOORS: dict[DoorName, str] = {
    "inference": "askless.app.doors.inference.door",
    "mcp": "askless.app.doors.mcp.door",
    "fhir": "askless.app.doors.fhir.door",
    "cds": "askless.app.doors.cds.door",
}


def cors_middleware(origins: list[str]) -> dict[str, Any]:
    """Return the CORS rules for pages of some origins."""
    return {
        "allow_origins": origins,
        "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
        "allow_headers": [
            *("Authorization", "Content-Type", "Idempotency-Key", "If-Match"),
            *("Last-Event-ID", "X-Request-ID"),
            *("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"),
        ],
        "expose_headers": [
            *("ETag", "Location", "Retry-After", "Idempotent-Replayed"),
            "X-Request-ID",
        ],
    }


class Askless(FastAPI):
    """FastAPI with our outermost layer and with all of its document."""

    def build_middleware_stack(self) -> ASGIApp:
        """Put our layers around FastAPI's own; a request meets `ProblemPages` first.

        The errors of a door have its own form, for browsers too.
        """
        settings: Settings = self.state.settings
        edge = Edge(
            Gate(
                HeadAsGet(super().build_middleware_stack()),
                settings.list_own_hosts(is_local=self.state.is_local),
                settings.own_origins,
                is_local=self.state.is_local,
            ),
            self.state.metrics.count_request,
            settings.max_body_bytes,
            settings.max_upload_bytes,
        )
        translated = TranslatedProblems(edge, self.state.translations)
        pages = ProblemPages(translated, self)
        return ProxyPath(pages, settings.path) if settings.path else pages

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            contract.complete_document(
                super().openapi(),
                [
                    kind
                    for routes, _ in SCOPED
                    for kind in getattr(routes, "DOCUMENTED", ())
                ],
                {tag: noun for routes, noun in SCOPED for tag in routes.router.tags},
            )
        assert self.openapi_schema is not None
        return self.openapi_schema


def telemetry_options(settings: Settings) -> TelemetryConfig:
    """Return the options of OpenTelemetry, off unless the settings turn it on.

    Never logs: they carry messages of exceptions, which may repeat a feature's value.
    """
    return {
        "tracing": settings.telemetry,
        "metrics": settings.telemetry,
        "auto_configure": settings.telemetry,
        "logs": False,
        # Probes are too many; the addresses of signing in hold codes and launches.
        "exclude": lambda scope: (
            scope.get("path") in operations.PROBES
            or str(scope.get("path")).startswith(("/ui/sign-in/", "/ui/smart/"))
        ),
    }


def list_doors(settings: Settings) -> list[str]:
    """Return the modules of the doors that settings open; signing in comes first."""
    opened = [DOORS[name] for name in settings.doors]
    if settings.smart_servers:
        opened.insert(0, "askless.app.doors.smart.door")
    if settings.oidc_issuer is not None:
        opened.insert(0, "askless.app.doors.oidc.door")
    return opened


def create_app(settings: Settings, *, is_local: bool = False) -> FastAPI:
    """Make the application; `is_local`: it is served on loopback alone."""
    preload_checks()
    preload_check()
    app = Askless(
        title="Askless",
        description=DESCRIPTION,
        version=version("askless"),
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        exception_handlers=HANDLERS | site.HANDLERS,
        telemetry=telemetry_options(settings),
        servers=[{"url": settings.path or "/"}],
    )
    state = app.state
    state.settings = settings
    state.is_local = is_local
    state.clock = partial(datetime.now, UTC)
    state.guard = Guard(settings.limits, settings.must_ask(is_local=is_local))
    state.loaded = LoadedModels()
    state.metrics = Metrics()
    state.is_warm = threading.Event()
    # At the end first readiness goes, then streams. Until when the disk counts as full.
    state.draining = state.stopping = False
    state.full_until = 0.0
    # Which checks of readiness failed at the last probe.
    state.failing = ""
    state.folders = list_local_folders(settings)
    # Doors add the forms of their errors, and where else people may sign in.
    state.translations, state.sign_in_ways, state.people = [], [], None
    for routes, noun in SCOPED:
        app.include_router(routes.router, dependencies=[needs(noun)])
    for routes in OPEN:
        app.include_router(routes.router)
    for address in list_doors(settings):
        import_module(address).add_to(app)
    if settings.origins:
        app.add_middleware(CORSMiddleware, **cors_middleware(settings.origins))
    site.add_pages(app)
    return app


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the engine and the uploads at the start, and close them at the end."""
    state = app.state
    settings = state.settings
    state.engine = create_engine(settings.url, settings.database_connections)
    state.blobs = Blobs(state.settings.blobs_url)
    # Each of their threads has a connection of its own for as long as it changes.
    state.changers = CapacityLimiter(MAX_WRITERS)
    state.reader = make_reader(state.settings)
    state.reading_places = CapacityLimiter(state.settings.max_parsers)
    state.model_place = CapacityLimiter(1)
    warming = threading.Thread(target=load_kernels, args=(state.is_warm,), daemon=True)
    warming.start()
    try:
        yield
    finally:
        state.engine.dispose()


# Several applications may start in a process: the first one warms the kernels.
WARMING = threading.Lock()


def load_kernels(is_warm: threading.Event) -> None:
    """Compile the kernels, or load them, before a request has to wait for it."""
    try:
        with WARMING:
            warm_up(many_rows=False)
    except RuntimeError:
        # A process that ends lets nobody start threads; then nobody waits for kernels.
        if threading.main_thread().is_alive():
            raise
        return
    is_warm.set()
    logs.log("kernels.warm")
