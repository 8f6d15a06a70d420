"""Signing in with a key, and out."""

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from askless.app.errors import UnknownKeyError
from askless.app.http.plumbing.auth import Guard
from askless.app.http.plumbing.deps import Engine, change_db
from askless.app.pages.plumbing.callers import (
    COOKIE,
    PATH,
    Typed,
    cookie_name,
    find_caller,
    set_cookie,
)
from askless.app.pages.plumbing.frame import redirect, render
from askless.app.records import Caller, StoredKey
from askless.app.service import sign_ins


class OtherSignIn(NamedTuple):
    """Another place to sign in at, which knows people better than by keys."""

    #: its host
    name: str
    #: the page of ours that sends a browser there; below it, `/out` to sign out there
    address: str


router = APIRouter(prefix="/ui", include_in_schema=False)
OUR_PATH = re.compile(r"/ui(?:[/?][!-\[\]-~]*)?")
# It may have to fit into a cookie.
MAX_PATH = 1000
WRONG = "must be a key that is valid: it begins with askl_"


def safe_return_path(text: object) -> str:
    """Return the page to open after signing in; only one of this site."""
    is_ours = isinstance(text, str) and OUR_PATH.fullmatch(text) and ".." not in text
    return str(text) if is_ours and len(str(text)) <= MAX_PATH else PATH


@router.get("/sign-in")
async def show_sign_in(request: Request) -> Response:
    asked = safe_return_path(request.query_params.get("next"))
    has_left = "signed_out" in request.query_params
    return render(request, "sign_in.html", next=asked, has_left=has_left)


@router.post("/sign-in")
async def sign_in(request: Request, form: Typed, engine: Engine) -> Response:
    """Check a key and set a cookie, which only pages accept."""
    guard: Guard = request.app.state.guard
    asked, token = safe_return_path(form.get("next")), str(form.get("key", "")).strip()
    try:
        caller = await guard.admit(lambda: engine, token)
    except UnknownKeyError:
        # Never show the typed key. A key is too long to be guessed.
        errors = {"key": WRONG}
        response = render(request, "sign_in.html", 401, next=asked, errors=errors)
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    cookie = await run_in_threadpool(store_sign_in, engine, caller)
    done = redirect(asked)
    set_cookie(request, done, cookie, int(sign_ins.LASTS.total_seconds()))
    return done


@router.post("/sign-out")
async def sign_out(request: Request, form: Typed, engine: Engine) -> Response:
    del form
    cookie = request.cookies[COOKIE]
    await find_caller(request.app.state.guard, engine, cookie)
    key = await end_sign_in(request, cookie)
    # A person may still be signed in at the provider.
    issuer = request.app.state.settings.oidc_issuer
    subject = "" if key is None or key.subject is None else key.subject
    is_elsewhere = issuer is not None and subject.startswith(f"{issuer} ")
    address = f"{PATH}/sign-in?signed_out=1" if is_elsewhere else f"{PATH}/sign-in"
    response = redirect(address)
    response.delete_cookie(COOKIE, path=PATH)
    return response


def store_sign_in(engine: Any, caller: Caller) -> str:
    assert caller.key_id is not None
    with change_db(engine, caller) as db:
        return sign_ins.sign_in(db, caller.key_id, datetime.now(UTC))


async def end_sign_in(request: Request, cookie: str) -> StoredKey | None:
    """Sign a browser out; return whose key it was, if this process knows it."""

    def end() -> None:
        with change_db(request.app.state.engine, None) as db:
            sign_ins.sign_out(db, cookie)

    await run_in_threadpool(end)
    guard: Guard = request.app.state.guard
    cached = guard.cached_keys.pop(cookie_name(cookie), None)
    return None if cached is None else cached.key
