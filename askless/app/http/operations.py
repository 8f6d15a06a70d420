"""Routes for operators: liveness, readiness, metrics."""

from hmac import compare_digest
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import State

from askless.app.documents.shape import Answer
from askless.app.errors import UnknownKeyError
from askless.app.http.plumbing.deps import At, LogFields, read_db
from askless.app.http.plumbing.layers.edge import UNLOGGED
from askless.app.http.plumbing.layers.errors import problem_response
from askless.app.http.plumbing.layers.metrics import Metrics
from askless.app.http.plumbing.readiness import check_serving
from askless.app.logs import LOGGER
from askless.app.records import Moment
from askless.app.service import operations as service

router = APIRouter(tags=["operations"])
# Paths that machines request again and again.
PROBES = frozenset(("/livez", "/readyz", "/metrics"))

scraper = HTTPBearer(
    scheme_name="scrape_token",
    description="`ASKLESS_SCRAPE_TOKEN`, where keys are asked for.",
    auto_error=False,
)
Sent = Annotated[HTTPAuthorizationCredentials | None, Depends(scraper)]


class Alive(Answer):
    status: Literal["alive"] = Field(examples=["alive"])


Check = Literal["ok", "failing"]


class Ready(Answer):
    status: Literal["ready"] = Field(examples=["ready"])
    checks: dict[str, Check] = Field(
        examples=[{"database": "ok", "migrations": "ok", "space": "ok"}]
    )
    workers: int = Field(
        examples=[1], description="Workers alive; without one no training goes on."
    )


@router.get("/livez", operation_id="check_alive", summary="Whether the process runs")
async def check_alive() -> Alive:
    return Alive(status="alive")


@router.get(
    "/readyz",
    operation_id="check_ready",
    summary="Whether requests will be answered",
    response_model=Ready,
)
def check_ready(request: Request, fields: LogFields) -> Ready | Response:
    """Answer 503 while requests should go to another process, or to none."""
    state = request.app.state
    results = check_serving(state)
    checks: dict[str, Check] = {
        name: "ok" if is_right else "failing" for name, is_right in results.items()
    }
    failing = ", ".join(name for name, is_right in results.items() if not is_right)
    was_failing, state.failing = state.failing, failing
    if not failing:
        return Ready(status="ready", checks=checks, workers=count_workers(state))
    # A starting process is probed every second: log only changes.
    fields["failing"], fields[UNLOGGED] = failing, failing == was_failing
    return problem_response(
        request.scope, "unavailable", f"Not ready: {failing}.", checks=checks
    )


async def require_scrape_token(request: Request, credentials: Sent) -> None:
    """Require the scrape token where keys are required: tenants share figures."""
    state = request.app.state
    if not state.guard.must_ask:
        return
    token, sent = state.settings.scrape_token, credentials and credentials.credentials
    if not token or not sent or not compare_digest(token.encode(), sent.encode()):
        raise UnknownKeyError


def count_workers(state: State) -> int:
    with read_db(state.engine, None) as db:
        return service.count_workers(db, state.settings.heartbeat_timeout_s)


@router.get(
    "/metrics",
    operation_id="read_metrics",
    summary="Figures for Prometheus",
    response_class=PlainTextResponse,
    dependencies=[Depends(require_scrape_token)],
)
def read_metrics(request: Request, at: At) -> Response:
    """Return this process's counts and the installation's load, for Prometheus."""
    state = request.app.state
    figures: Metrics = state.metrics
    if figures.is_load_due():
        figures.set_load(count_load(state, at))
    return Response(generate_latest(figures.registry), media_type=CONTENT_TYPE_LATEST)


def count_load(state: State, at: Moment) -> service.Load | None:
    """Count the load in the database; None if that can't be reached."""
    try:
        with read_db(state.engine, None) as db:
            return service.count_load(db, state.settings.heartbeat_timeout_s, at)
    except SQLAlchemyError:
        LOGGER.exception("metrics.failed")
        return None
