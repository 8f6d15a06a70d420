"""Add the protocol to the application.

Requests predict rows at once, as jobs on tables do; nothing is bought.
"""

from typing import Any

from anyio import CapacityLimiter
from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from askless.app.doors.inference import inferring, metadata
from askless.app.http.plumbing.layers.translating import Translation

# The protocol's status for a request that can't be understood.
BAD_REQUEST = 400
INVALID = 422
MAX_TOLD = 20


def problem_to_error(
    document: dict[str, Any], status: int, headers: Headers
) -> Response:
    """Return a problem as the protocol's error, with the first broken rules."""
    del headers
    rules = [
        f"{entry['field']}: {entry['rule']}" for entry in document.get("errors", ())
    ]
    more = [f"and {len(rules) - MAX_TOLD} more"] if len(rules) > MAX_TOLD else []
    text = "; ".join(rules[:MAX_TOLD] + more)
    text = text or document.get("detail") or document["title"]
    return JSONResponse({"error": text}, BAD_REQUEST if status == INVALID else status)


TRANSLATION = Translation("/v2", problem_to_error)


# Requests that are played at once; the kernels leave the interpreter to others.
MAX_PLAYED = 4


def add_to(app: FastAPI) -> None:
    """Add the routes below `/v2`, and the form of their errors."""
    app.state.inference_places = CapacityLimiter(MAX_PLAYED)
    app.state.translations.append(TRANSLATION)
    for router in (metadata.health, metadata.router, inferring.router):
        app.include_router(router)
