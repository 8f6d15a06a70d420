"""The protocol's error: one text in an object of JSON."""

from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from askless.app.http.plumbing.layers.translating import Translation

# The protocol's status for a request that can't be understood.
BAD_REQUEST = 400
INVALID = 422
MAX_TOLD = 20


def translate(document: dict[str, Any], status: int, headers: Headers) -> Response:
    """Return a problem as the protocol's error, with the first broken rules."""
    del headers
    rules = [f"{one['field']}: {one['rule']}" for one in document.get("errors", ())]
    more = [f"and {len(rules) - MAX_TOLD} more"] if len(rules) > MAX_TOLD else []
    text = "; ".join(rules[:MAX_TOLD] + more)
    text = text or document.get("detail") or document["title"]
    return JSONResponse({"error": text}, BAD_REQUEST if status == INVALID else status)


TRANSLATION = Translation("/v2", translate)
