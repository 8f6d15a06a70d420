"""Routes for operators."""

from typing import Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import Field

from app.documents.shape import Answer
from app.http.deps import Engine
from app.http.errors import problem
from app.service import operations as service

router = APIRouter(tags=["operations"])


class Alive(Answer):
    status: Literal["alive"] = Field(examples=["alive"])


class Ready(Answer):
    status: Literal["ready"] = Field(examples=["ready"])
    checks: dict[str, Literal["ok", "failing"]] = Field(
        examples=[{"database": "ok", "migrations": "ok", "kernels": "ok"}]
    )


@router.head("/livez", include_in_schema=False)
@router.get("/livez", operation_id="check_alive", summary="Whether the process runs")
async def livez() -> Alive:
    return Alive(status="alive")


@router.head("/readyz", include_in_schema=False, response_model=None)
@router.get(
    "/readyz",
    operation_id="check_ready",
    summary="Whether requests will be answered",
    response_model=Ready,
)
def readyz(request: Request, engine: Engine) -> Ready | Response:
    """Answer 503 until database, migrations and compiled kernels are there."""
    is_warm = request.app.state.is_warm.is_set()
    found = service.readiness(engine, is_warm=is_warm)
    checks: dict[str, Literal["ok", "failing"]] = {
        name: "ok" if is_right else "failing" for name, is_right in found.items()
    }
    if all(found.values()):
        return Ready(status="ready", checks=checks)
    failing = ", ".join(name for name, is_right in found.items() if not is_right)
    detail = f"Not ready: {failing}."
    return problem(request.scope, "unavailable", detail, checks=checks)


@router.get(
    "/metrics",
    operation_id="read_metrics",
    summary="Figures for Prometheus",
    response_class=PlainTextResponse,
)
def metrics(request: Request) -> Response:
    text = generate_latest(request.app.state.metrics.registry)
    return Response(text, media_type=CONTENT_TYPE_LATEST)
