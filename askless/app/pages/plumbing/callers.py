"""Identify a page's caller by cookie, and check forms for forgery."""

import re
import secrets
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from hmac import new as new_hmac
from typing import Annotated, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from fastapi import Depends, Request
from starlette.datastructures import FormData
from starlette.responses import Response

from askless.app.errors import ConflictError, UnknownKeyError
from askless.app.http.plumbing.auth import ANYBODY, PAGE_CALLER, READING, Guard
from askless.app.http.plumbing.deps import read_db
from askless.app.pages.plumbing.environment import TOKEN
from askless.app.records import Caller, StoredAnswer, StoredKey
from askless.app.service import keys, retries, sign_ins
from askless.app.store.database.transactions import Transaction

COOKIE = "askless_ui"
PATH = "/ui"
LABEL = b"askless form"
# A table may have a thousand columns, and each has several fields.
MAX_FIELDS = 20_000
FOREIGN = "The token in the form is not the one that this browser was given."
FORM_NUMBER = re.compile("[0-9a-f]{32}")
Made = TypeVar("Made")


def get_or_make_cookie(request: Request) -> str:
    """Return the cookie of the browser, or a new one for it."""
    cookie = request.cookies.get(COOKIE) or request.scope.get(COOKIE)
    if cookie is None:
        cookie = request.scope[COOKIE] = secrets.token_urlsafe(32)
    return str(cookie)


def set_cookie(
    request: Request, response: Response, cookie: str, max_age: int | None = None
) -> None:
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=max_age,
        path=PATH,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def form_token(cookie: str) -> str:
    """Return the token of the forms of a browser; other sites can't know it."""
    return new_hmac(cookie.encode(), LABEL, sha256).hexdigest()


async def check_form(request: Request) -> AsyncIterator[None]:
    """Parse a form and refuse one of another site; close its files at the end."""
    if request.method in READING:
        yield
        return
    limit = request.app.state.settings.max_body_bytes
    form = await request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=limit)
    try:
        require_token(form, request.cookies.get(COOKIE, ""))
        yield
    finally:
        await form.close()


def require_token(form: FormData, cookie: str) -> None:
    """Raise ConflictError for a form without the token of its browser."""
    sent = form.get(TOKEN)
    is_text = isinstance(sent, str) and cookie != ""
    if not is_text or not compare_digest(
        str(sent).encode(), form_token(cookie).encode()
    ):
        raise ConflictError("foreign-form", FOREIGN)


async def get_typed_fields(request: Request) -> FormData:
    """Return the fields of a form that `check_form` has parsed."""
    return await request.form()


class SignInError(Exception):
    """The page needs someone who has signed in."""


async def identify_caller(request: Request) -> None:
    """Identify a page's caller; raise SignInError if a key is required."""
    guard: Guard = request.app.state.guard
    cookie = request.cookies.get(COOKIE)
    caller = None
    if cookie is not None:
        caller = await find_caller(guard, request.app.state.engine, cookie)
    if caller is None and guard.must_ask:
        raise SignInError
    if caller is not None:
        guard.count_request(caller)
        request.scope["log_fields"]["key"] = caller.key_id
    request.scope[PAGE_CALLER] = caller or ANYBODY


async def find_caller(guard: Guard, engine: sa.Engine, cookie: str) -> Caller | None:
    """Return the caller of a cookie; None: unknown."""
    name = cookie_name(cookie)
    now = datetime.now(UTC)

    def read() -> StoredKey:
        with read_db(engine, None) as db:
            return sign_ins.find_signed_in_key(db, cookie, now)

    try:
        return keys.caller_of(await guard.recheck(name, read), guard.limits, now)
    except UnknownKeyError:
        guard.cached_keys.pop(name, None)
        return None


def cookie_name(cookie: str) -> bytes:
    """Return the name under which the caller of a cookie is cached."""
    return sha256(b"cookie " + cookie.encode()).digest()


def sign_in_address(request: Request) -> str:
    """Return the address to sign in at, which leads back here."""
    path = request.url.path if request.method in READING else PATH
    query = request.url.query if request.method in READING else ""
    back = f"{path}?{query}" if query else path
    return f"{PATH}/sign-in?next={quote(back, safe='')}"


Typed = Annotated[FormData, Depends(get_typed_fields)]


def make_once(
    db: Transaction, number: str, now: datetime, make: Callable[[], Made]
) -> Made:
    """Return what a form makes; raise ReplayedError if the form was sent before.

    The stored answer has no body: what was made may be a secret.
    """
    if not FORM_NUMBER.fullmatch(number):
        # Unknown ids are refused before foreign forms; the error takes back the rest.
        make()
        raise ConflictError("foreign-form", FOREIGN)
    name = f"form {number}"
    digest = sha256(name.encode()).hexdigest()
    # Claimed first: there may be no room for the second of two.
    retries.claim_request(db, name, digest)
    made = make()
    retries.store_answer(db, StoredAnswer(name, digest, 303, {}, b"", now, None))
    return made
