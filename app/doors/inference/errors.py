"""The protocol's error: one text in an object of JSON."""

from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from app.http.plumbing.translating import Translation

# The protocol's status for a request that can't be understood.
BAD_REQUEST = 400
INVALID = 422


def translate(document: dict[str, Any], status: int, headers: Headers) -> Response:
    """Return a problem as the protocol's error, with every broken rule."""
    del headers
    rules = [f"{one['field']}: {one['rule']}" for one in document.get("errors", ())]
    text = "; ".join(rules) or document.get("detail") or document["title"]
    return JSONResponse({"error": text}, BAD_REQUEST if status == INVALID else status)


TRANSLATION = Translation("/v2", translate)
