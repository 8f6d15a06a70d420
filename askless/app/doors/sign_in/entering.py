"""Complete a sign-in: find or make the person's key, or show why not."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from askless.app.doors.sign_in.auth_servers import AWAY, FlowError
from askless.app.doors.sign_in.flows import remove_state_cookie
from askless.app.errors import UnknownKeyError
from askless.app.http.plumbing.auth import Guard, record_use
from askless.app.http.plumbing.deps import change_db, read_db
from askless.app.pages.accounts.sign_in import end_sign_in, store_sign_in
from askless.app.pages.plumbing.callers import COOKIE, set_cookie
from askless.app.pages.plumbing.frame import redirect, render
from askless.app.records import Caller, Limits, StoredKey
from askless.app.service import keys, people, sign_ins
from askless.core.errors import RefusedError

REVOKED = "Your access was revoked. Whoever runs this service can restore it."


# The claims that may hold a person's name, the best first.
NAMES = ("name", "preferred_username", "email")


class Entitled(NamedTuple):
    """A person, and the tenant they belong to."""

    tenant: str
    person: people.Person


def name_of(claims: dict[str, Any]) -> str:
    """Return a person's name in claims; "" if there is none."""
    named = [claims[name] for name in NAMES if isinstance(claims.get(name), str)]
    return named[0] if named else ""


def find_key(engine: sa.Engine, entitled: Entitled) -> StoredKey:
    """Return or make a person's key; raise UnknownKeyError if it was revoked."""
    with read_db(engine, None) as db:
        tenant_id = keys.find_tenant(db, entitled.tenant)
    key = None
    if tenant_id is not None:
        with read_db(engine, tenant_id) as db:
            key = people.find_key(db, entitled.person)
    if key is None:
        return renew_key(engine, entitled)
    record_use(engine, key)
    return key


def renew_key(engine: sa.Engine, entitled: Entitled) -> StoredKey:
    """Update or make a person's key; raise UnknownKeyError if it was revoked."""
    now = datetime.now(UTC)
    with change_db(engine, None) as db:
        tenant_id = keys.get_or_create_tenant(db, entitled.tenant, now)
    nobody = Caller(tenant_id, None, frozenset(), Limits())
    with change_db(engine, nobody) as db:
        return people.renew_key_of(db, entitled.person, now)


async def find_caller(request: Request, entitled: Entitled) -> Caller:
    """Return a person as a caller; raise FlowError if they may not come in."""
    state = request.app.state
    guard: Guard = state.guard
    try:
        key = await run_in_threadpool(renew_key, state.engine, entitled)
    except UnknownKeyError:
        raise FlowError(403, REVOKED) from None
    except RefusedError as error:
        raise FlowError(502, str(error)) from None
    return keys.caller_of(key, guard.limits, datetime.now(UTC))


async def open_page(request: Request, caller: Caller, address: str) -> Response:
    """Sign a browser in, and open a page; who was signed in is so no more."""
    engine = request.app.state.engine
    if COOKIE in request.cookies:
        await end_sign_in(request, request.cookies[COOKIE])
    try:
        cookie = await run_in_threadpool(store_sign_in, engine, caller)
    except UnknownKeyError:
        raise FlowError(403, REVOKED) from None
    done = redirect(address)
    set_cookie(request, done, cookie, int(sign_ins.LASTS.total_seconds()))
    remove_state_cookie(request, done)
    return done


def add_failure_page(app: FastAPI) -> None:
    """Have a page for what goes wrong when somebody signs in elsewhere."""
    app.add_exception_handler(FlowError, show_failure)


async def show_failure(request: Request, error: Exception) -> Response:
    """Show why a sign-in failed, with the ways to try again.

    A person whom we don't know can sign out at the provider and try another account.
    """
    assert isinstance(error, FlowError)
    path, ways = request.url.path, request.app.state.sign_in_ways
    leave = [way for way in ways if path.startswith(way.address)]
    more = {"leave": leave if error.status == 403 else [], "said": error.words}
    page = render(request, "sign_in.html", error.status, next="/ui", **more)
    # Reloaded, the page may go on where a server was away.
    if error.status != AWAY:
        remove_state_cookie(request, page)
    return page
