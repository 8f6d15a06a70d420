"""Complete a sign-in: find or make the person's key, or show why not."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from askless.app.doors.sign_in.auth_servers import AWAY, FlowError
from askless.app.doors.sign_in.flows import forget
from askless.app.errors import UnknownKeyError
from askless.app.http.plumbing.auth import Guard, note_use
from askless.app.http.plumbing.deps import changing, reading
from askless.app.pages.accounts.sign_in import end_sign_in, keep_sign_in
from askless.app.pages.plumbing.callers import COOKIE, set_cookie
from askless.app.pages.plumbing.frame import render, see_other
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
    """Return what claims call a person; "" if they don't."""
    named = [claims[name] for name in NAMES if isinstance(claims.get(name), str)]
    return named[0] if named else ""


def find_key(engine: sa.Engine, entitled: Entitled) -> StoredKey:
    """Return the key of a person; one who comes for the first time gets it now.

    Raises UnknownKeyError if it was revoked.
    """
    with reading(engine, None) as db:
        tenant_id = keys.find_tenant(db, entitled.tenant)
    key = None
    if tenant_id is not None:
        with reading(engine, tenant_id) as db:
            key = people.find_key(db, entitled.person)
    if key is None:
        return renew_key(engine, entitled)
    note_use(engine, key)
    return key


def renew_key(engine: sa.Engine, entitled: Entitled) -> StoredKey:
    """Return a person's key with the rights that they have now; make what is missing.

    Raises UnknownKeyError if it was revoked.
    """
    now = datetime.now(UTC)
    with changing(engine, None) as db:
        tenant_id = keys.get_or_create_tenant(db, entitled.tenant, now)
    nobody = Caller(tenant_id, None, frozenset(), Limits())
    with changing(engine, nobody) as db:
        return people.let_in(db, entitled.person, now)


async def let_in(request: Request, entitled: Entitled) -> Caller:
    """Return the caller that a person is, with the rights that they have now.

    Raises FlowError if they may not come in.
    """
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
        cookie = await run_in_threadpool(keep_sign_in, engine, caller)
    except UnknownKeyError:
        raise FlowError(403, REVOKED) from None
    done = see_other(address)
    set_cookie(request, done, cookie, int(sign_ins.LASTS.total_seconds()))
    forget(request, done)
    return done


def show_failures(app: FastAPI) -> None:
    """Have a page for what goes wrong when somebody signs in elsewhere."""
    app.add_exception_handler(FlowError, show_failure)


async def show_failure(request: Request, error: Exception) -> Response:
    """Show why a sign-in failed, with the ways to try again.

    Whom a provider knows and we don't may leave there, to come as somebody else.
    """
    assert isinstance(error, FlowError)
    here, ways = request.url.path, request.app.state.sign_in_ways
    leave = [way for way in ways if here.startswith(way.address)]
    more = {"leave": leave if error.status == 403 else [], "said": error.words}
    page = render(request, "sign_in.html", error.status, next="/ui", **more)
    # Reloaded, the page may go on where a server was away.
    if error.status != AWAY:
        forget(request, page)
    return page
