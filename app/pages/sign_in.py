"""Signing in with a key, and out."""

import math
import re
import time
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from app.errors import UnknownKeyError
from app.http.auth import Bucket, Guard, keep
from app.http.deps import Engine, changing
from app.pages.callers import COOKIE, PATH, Typed, cookie_name, set_cookie
from app.pages.frame import render, see_other
from app.records import Caller
from app.service import sign_ins

router = APIRouter(prefix="/ui", include_in_schema=False)
OUR_PATH = re.compile(r"/ui(?:[/?][!-\[\]-~]*)?")
WRONG_KEYS_A_MINUTE = 10
WRONG = "must be a key that is valid: it begins with askl_"
TOO_OFTEN = "was wrong too often; wait a minute"


def our_path(text: object) -> str:
    """Return where to go on to: only to a page of ours."""
    is_ours = isinstance(text, str) and OUR_PATH.fullmatch(text) and ".." not in text
    return str(text) if is_ours else PATH


@router.get("/sign-in")
async def show(request: Request) -> Response:
    asked = our_path(request.query_params.get("next"))
    return render(request, "sign_in.html", next=asked)


@router.post("/sign-in")
async def enter(request: Request, form: Typed, engine: Engine) -> Response:
    """Take a key; the browser gets a cookie that pages alone know it by."""
    guard: Guard = request.app.state.guard
    asked, token = our_path(form.get("next")), str(form.get("key", "")).strip()
    wait_s = wait_of(guard, request)
    if wait_s:
        return again(request, asked, TOO_OFTEN, 429, wait_s)
    try:
        caller = await guard.admit(lambda: engine, token)
    except UnknownKeyError:
        count_wrong(guard, request)
        return again(request, asked, WRONG, 401)
    cookie = await run_in_threadpool(keep_sign_in, engine, caller)
    response = see_other(asked)
    set_cookie(request, response, cookie, int(sign_ins.LASTS.total_seconds()))
    return response


@router.post("/sign-out")
async def leave(request: Request, form: Typed, engine: Engine) -> Response:
    del form
    cookie = request.cookies[COOKIE]
    await run_in_threadpool(forget, engine, cookie)
    request.app.state.guard.seen.pop(cookie_name(cookie), None)
    response = see_other(f"{PATH}/sign-in")
    response.delete_cookie(COOKIE, path=PATH)
    return response


def again(
    request: Request, asked: str, rule: str, status: int, wait_s: float = 0.0
) -> Response:
    """Show the form again; never the key that was typed."""
    headers: dict[str, Any] = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if wait_s:
        headers["Retry-After"] = str(math.ceil(wait_s))
    errors = {"key": rule}
    response = render(request, "sign_in.html", status, next=asked, errors=errors)
    response.headers.update(headers)
    return response


def bucket_of(guard: Guard, request: Request) -> Bucket:
    """Return what wrong keys of an address are counted in."""
    name = f"sign-in {request.client.host if request.client else ''}"
    now = time.monotonic()
    bucket = guard.buckets.get(name) or Bucket(float(WRONG_KEYS_A_MINUTE), now)
    keep(guard.buckets, name, bucket)
    return bucket


def wait_of(guard: Guard, request: Request) -> float:
    """Return the seconds that an address has to wait, after many wrong keys."""
    with guard.lock:
        bucket = bucket_of(guard, request)
        left = bucket.left + (time.monotonic() - bucket.at) * WRONG_KEYS_A_MINUTE / 60
    return max(0.0, (1 - left) * 60 / WRONG_KEYS_A_MINUTE)


def count_wrong(guard: Guard, request: Request) -> None:
    with guard.lock:
        bucket_of(guard, request).take(WRONG_KEYS_A_MINUTE, time.monotonic())


def keep_sign_in(engine: Any, caller: Caller) -> str:
    assert caller.key_id is not None
    with changing(engine, caller) as db:
        return sign_ins.enter(db, caller.key_id, datetime.now(UTC))


def forget(engine: Any, cookie: str) -> None:
    with changing(engine, None) as db:
        sign_ins.leave(db, cookie)
