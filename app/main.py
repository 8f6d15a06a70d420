"""Builds the application: routes, handlers of errors, and what its life needs."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from app import logs
from app.http import (
    contract,
    datasets,
    ledger,
    models,
    operations,
    pages,
    predictions,
    trainings,
)
from app.http.edge import Edge
from app.http.errors import HANDLERS
from app.http.metrics import Metrics
from app.service.loaded import LoadedModels
from app.settings import Settings
from app.store.blobs import Blobs
from app.store.engine import create_engine
from core.warm import warm_up

DESCRIPTION = """Predict from few features. A session asks for one feature at a time,
each with its price, predicts after every answer, and never charges more than its
budget. Errors are problem documents (RFC 9457); their types are under
[/problems](/problems)."""


class Askless(FastAPI):
    """FastAPI with our outermost layer and with all of its document."""

    def build_middleware_stack(self) -> ASGIApp:
        settings: Settings = self.state.settings
        return Edge(
            super().build_middleware_stack(),
            self.state.metrics.add,
            settings.max_body_bytes,
            settings.max_upload_bytes,
        )

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            contract.complete(super().openapi(), trainings.DOCUMENTED)
        assert self.openapi_schema is not None
        return self.openapi_schema


def create_app(settings: Settings) -> FastAPI:
    app = Askless(
        title="Askless",
        description=DESCRIPTION,
        version=version("askless"),
        docs_url=None,
        redoc_url=None,
        lifespan=live,
        exception_handlers=HANDLERS,
    )
    state = app.state
    state.settings = settings
    state.loaded = LoadedModels()
    state.metrics = Metrics()
    state.is_warm = threading.Event()
    state.stopping = False
    nouns = (datasets, trainings, models, predictions, ledger, operations, pages)
    for noun in nouns:
        app.include_router(noun.router)
    pages.mount_assets(app)
    return app


@asynccontextmanager
async def live(app: FastAPI) -> AsyncIterator[None]:
    """Hold engine and uploads while the application serves."""
    state = app.state
    state.engine = create_engine(state.settings.url)
    state.blobs = Blobs(state.settings.blobs_url)
    warming = threading.Thread(target=make_ready, args=(state.is_warm,), daemon=True)
    warming.start()
    try:
        yield
    finally:
        state.engine.dispose()


def make_ready(is_warm: threading.Event) -> None:
    """Compile the kernels, or load them, before a request has to wait for it."""
    warm_up()
    is_warm.set()
    logs.log("kernels.warm")
