"""Routes for operators, and the figures they read."""

from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from pydantic import Field

from app.documents.shape import Answer
from app.http.deps import Engine
from app.http.errors import problem
from app.service import operations as service

router = APIRouter(tags=["operations"])

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)


class Alive(Answer):
    status: Literal["alive"] = Field(examples=["alive"])


class Ready(Answer):
    status: Literal["ready"] = Field(examples=["ready"])
    checks: dict[str, Literal["ok", "failing"]] = Field(
        examples=[{"database": "ok", "migrations": "ok", "kernels": "ok"}]
    )


class Metrics:
    """Figures of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter(
            "askless_requests", "Requests answered.", labels, registry=self.registry
        )
        self.seconds = Histogram(
            "askless_request_seconds",
            "Time to the end of the response; event streams included.",
            ("method", "route"),
            registry=self.registry,
            buckets=SECONDS,
        )
        self.charged = Counter(
            "askless_charged_units",
            "Charged in all sessions, whatever their units.",
            registry=self.registry,
        )

    def add(
        self, method: str, route: str, status: int, seconds: float, charged: float
    ) -> None:
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)
        self.charged.inc(charged)


@router.get("/livez", summary="Whether the process runs")
async def livez() -> Alive:
    return Alive(status="alive")


@router.get(
    "/readyz", summary="Whether requests will be answered", response_model=Ready
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


@router.get("/metrics", summary="Figures for Prometheus", response_class=Response)
def metrics(request: Request) -> Response:
    text = generate_latest(request.app.state.metrics.registry)
    return Response(text, media_type=CONTENT_TYPE_LATEST)
