"""Turn exceptions into problem documents (RFC 9457), which echo no value."""

import errno
import logging
import sqlite3
import time
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from askless.app.documents.shape import path_text, rule_text
from askless.app.errors import (
    ConflictError,
    ForbiddenError,
    InProgressError,
    NotFoundError,
    NothingToComeError,
    ReplayedError,
    UnknownKeyError,
)
from askless.app.http.plumbing.layers.methods import allowed_methods
from askless.app.logs import LOGGER, list_grouped
from askless.app.problems import KINDS, problem_document
from askless.core.catalogue.prices import from_micros
from askless.core.errors import (
    ClosedError,
    OverBudgetError,
    RefusedError,
    UselessAnswerError,
)

MEDIA_TYPE = "application/problem+json"
# The last kind of a status is the most general one.
KIND_OF_STATUS = {described.status: kind for kind, described in KINDS.items()}
# Field and rule for a body that FastAPI can't parse at all.
MALFORMED = ("body", "must be well-formed, and encoded in UTF-8 where it is JSON")
MAX_SHOWN = 240
# The status of a request whose caller hung up before the answer.
GONE = 499
# Codes of PostgreSQL for a read-only transaction and one ended since it stood still,
# and of files without space.
PASSING = frozenset(("25006", "25P03"))
NO_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT, "53100"))
# How long a process is not ready after it found no space.
FULL_FOR_S = 30.0


class Problem(JSONResponse):
    media_type = MEDIA_TYPE


def problem_response(
    scope: Mapping[str, Any],
    kind: str,
    detail: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    status: int | None = None,
    **more: object,
) -> Problem:
    """Return the response of a problem; `more` are further fields of its document."""
    status = status or KINDS[kind].status
    body = problem_document(
        kind, detail, status, request_id=scope.get("request_id"), **more
    )
    return Problem(body, status, headers=None if headers is None else dict(headers))


def invalid_request_response(
    request: Request, errors: Iterable[tuple[str, str]]
) -> Problem:
    """Return the response 422 for pairs of a field and its broken rule."""
    listed = [{"field": printable_name(field), "rule": rule} for field, rule in errors]
    detail = "; ".join(
        f"{refusal['field']}: {refusal['rule']}" for refusal in listed[:3]
    )
    return problem_response(request.scope, "invalid-request", detail, errors=listed)


def on_refused(request: Request, error: RefusedError) -> Problem:
    return invalid_request_response(
        request, ((refusal.field, refusal.told) for refusal in error.refusals)
    )


def on_invalid(request: Request, error: RequestValidationError) -> Problem:
    return invalid_request_response(
        request, (field_and_rule(detail) for detail in error.errors())
    )


def on_over_budget(request: Request, error: OverBudgetError) -> Problem:
    return problem_response(
        request.scope,
        "over-budget",
        str(error),
        feature=error.feature,
        price=from_micros(error.price),
        remaining=from_micros(error.remaining),
    )


def on_useless(request: Request, error: UselessAnswerError) -> Problem:
    feature, price = error.feature, from_micros(error.price)
    detail = str(error)
    return problem_response(
        request.scope, "useless-answer", detail, feature=feature, price=price
    )


def on_wrong_method(request: Request) -> Response:
    """Answer 204 to OPTIONS, else 405, with the methods of the address."""
    headers = {"Allow": ", ".join(allowed_methods(request))}
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=headers)
    return problem_response(request.scope, "method-not-allowed", headers=headers)


def on_http(request: Request, error: HTTPException) -> Response:
    """Answer an HTTPException of the framework or of a route."""
    # The framework raises these for a body that it can't parse.
    if error.status_code in (400, 422):
        return invalid_request_response(request, [MALFORMED])
    if error.status_code == 405:
        return on_wrong_method(request)
    kind = KIND_OF_STATUS.get(error.status_code, "conflict")
    detail = None if error.status_code == 404 else str(error.detail)
    return problem_response(
        request.scope, kind, detail, headers=error.headers, status=error.status_code
    )


def on_unknown_key(request: Request, error: UnknownKeyError) -> Problem:
    del error
    headers = {"WWW-Authenticate": "Bearer"}
    return problem_response(request.scope, "unauthorized", headers=headers)


def on_replayed(request: Request, error: ReplayedError) -> Response:
    """Return a stored response unchanged, marked as replayed."""
    answer = error.answer
    fields = request.scope["log_fields"]
    fields["replayed"] = True
    fields.pop("charged", None)
    headers = answer.headers | {"Idempotent-Replayed": "true"}
    return Response(answer.body, answer.status, headers)


def on_unavailable(request: Request, error: Exception) -> Problem:
    """Answer 503: a retry may succeed; log the cause."""
    cause = getattr(error, "orig", None) or error
    if is_storage_full(cause):
        request.app.state.full_until = time.monotonic() + FULL_FOR_S
    cause_text = (str(cause).splitlines() or [""])[0][:MAX_SHOWN]
    log_failure(request, "http.unavailable", error, logging.WARNING, cause=cause_text)
    return problem_response(request.scope, "unavailable", headers={"Retry-After": "2"})


def is_storage_full(cause: object) -> bool:
    """Return whether a database or a folder has no space left."""
    codes = {getattr(cause, name, None) for name in ("errno", "sqlstate")}
    is_sqlite_full = getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return is_sqlite_full or not codes.isdisjoint(NO_SPACE)


def is_hang_up(error: Exception) -> bool:
    """Return whether nothing has failed, but that the caller is gone."""
    return all(isinstance(cause, ClientDisconnect) for cause in list_grouped(error))


def on_crash(request: Request, error: Exception) -> Response:
    if is_hang_up(error):
        return on_hang_up(request, error)
    log_failure(request, "http.crashed", error, logging.ERROR)
    return problem_response(request.scope, "internal")


def on_hang_up(request: Request, error: Exception) -> Response:
    """Answer 499: nobody is there to read it."""
    del request, error
    return Response(status_code=GONE)


def on_internal(request: Request, error: InternalError) -> Response:
    """Answer 503 for what may go well the next time, else 500."""
    may_pass = getattr(error.orig, "sqlstate", None) in PASSING
    return (on_unavailable if may_pass else on_crash)(request, error)


def on_file_error(request: Request, error: OSError) -> Response:
    return (on_unavailable if is_storage_full(error) else on_crash)(request, error)


def log_failure(
    request: Request, event: str, error: Exception, level: int, **more: str
) -> None:
    """Log why a request failed; add the exception's name to the request's line."""
    fields = {"request_id": request.scope.get("request_id"), **more}
    LOGGER.log(level, event, exc_info=error, extra={"fields": fields})
    request.scope.get("log_fields", {})["error"] = type(error).__qualname__


HANDLERS: dict[int | type[Exception], Any] = {
    RefusedError: on_refused,
    RequestValidationError: on_invalid,
    OverBudgetError: on_over_budget,
    UselessAnswerError: on_useless,
    ClosedError: lambda request, _: problem_response(request.scope, "session-closed"),
    UnknownKeyError: on_unknown_key,
    ForbiddenError: lambda request, error: problem_response(
        request.scope, "forbidden", str(error)
    ),
    NotFoundError: lambda request, error: problem_response(
        request.scope, "not-found", str(error)
    ),
    ConflictError: lambda request, error: problem_response(
        request.scope, error.kind, str(error)
    ),
    InProgressError: lambda request, error: problem_response(
        request.scope, error.kind, str(error), headers={"Retry-After": "1"}
    ),
    ReplayedError: on_replayed,
    NothingToComeError: lambda *_: Response(status_code=204),
    HTTPException: on_http,
    ClientDisconnect: on_hang_up,
    OperationalError: on_unavailable,
    InterfaceError: on_unavailable,
    InternalError: on_internal,
    OSError: on_file_error,
    PoolTimeoutError: on_unavailable,
    Exception: on_crash,
}


def field_and_rule(error: Mapping[str, Any]) -> tuple[str, str]:
    """Return the field and the broken rule of one of pydantic's errors."""
    kind = str(error["type"])
    if kind == "json_invalid":
        return MALFORMED
    return request_field(list(error["loc"])), rule_text(kind, error.get("ctx", {}))


def request_field(place: list[Any]) -> str:
    """Return the path of a field in the request, such as `answers[0].value`."""
    first, *rest = place or ["body"]
    parts = rest if first in ("body", "query", "path", "header") and rest else place
    shown = tuple(
        printable_name(part) if isinstance(part, str) else part for part in parts
    )
    return path_text(shown) or "body"


def printable_name(name: str) -> str:
    """Return a field's name if it is short and printable: callers choose keys."""
    is_shown = name.isprintable() and len(name) <= MAX_SHOWN
    return name if is_shown else "(a name that is not shown)"
