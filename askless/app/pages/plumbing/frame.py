"""Render the pages of the site, with their context and headers."""

import re
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from askless.app.http.plumbing.auth import PAGE_CALLER
from askless.app.pages.plumbing.callers import (
    COOKIE,
    PATH,
    form_token,
    get_or_make_cookie,
    set_cookie,
)
from askless.app.pages.plumbing.environment import load_environment
from askless.core.errors import RefusedError

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    # With `no-referrer` browsers call the origin of our own forms `null`.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
# Characters of a name that can't be in a file's name.
UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
#: Name, address and required scope of the main pages; callers see those that they may
#: open.
NAVIGATION = (
    ("Home", "/ui", ""),
    ("Models", "/ui/models", "models:read"),
    ("Sessions", "/ui/sessions", "predict:read"),
    ("Data", "/ui/datasets", "datasets:read"),
    ("Train", "/ui/train", "train:read"),
    ("Ledger", "/ui/ledger", "ledger:read"),
    ("Providers", "/ui/providers", "providers:read"),
    ("Keys", "/ui/keys", "keys:read"),
)


def render(
    request: Request, template: str, status: int = 200, **context: Any
) -> HTMLResponse:
    """Return a page; templates always have `errors` (rules by field) and `typed`."""
    is_ours = request.url.path.startswith(PATH)
    cookie = get_or_make_cookie(request) if is_ours else ""
    caller, settings = request.scope.get(PAGE_CALLER), request.app.state.settings
    known: dict[str, Any] = {
        "errors": {},
        "typed": {},
        "caller": caller,
        "is_signed_in": caller is not None and caller.key_id is not None,
        # On pages of a model its own note stands in place of the demo's.
        "is_demo_note": settings.demo and not settings.note,
        "note": settings.page_note,
        "must_ask": request.app.state.guard.must_ask,
        "ways": request.app.state.sign_in_ways,
        "navigation": list_main_pages(request),
        "pages": request.app.state.page_addresses,
        "form_token": form_token(cookie),
        "request_id": request.scope.get("request_id"),
    }
    text = load_environment().get_template(template).render(known | context)
    response = HTMLResponse(text, status, HEADERS)
    if is_ours and request.cookies.get(COOKIE) != cookie:
        set_cookie(request, response, cookie)
    return response


def list_main_pages(request: Request) -> list[tuple[str, str, bool]]:
    """Return the name and address of each main page, and whether it is open now."""
    path, caller = request.url.path, request.scope.get(PAGE_CALLER)
    return [
        (name, address, path == address or is_page_below(path, address))
        for name, address, scope in NAVIGATION
        if address in request.app.state.page_addresses
        and (caller is None or not scope or scope in caller.scopes)
    ]


def is_page_below(path: str, address: str) -> bool:
    return address != PATH and path.startswith(address + "/")


def redirect(address: str) -> RedirectResponse:
    """Redirect after a form, so that a reload does not send it again."""
    return RedirectResponse(address, 303, {"Cache-Control": "no-store"})


def download_headers(name: str) -> dict[str, str]:
    """Return the headers of a download that no cache may keep."""
    plain = UNSAFE_CHARACTERS.sub("-", name)[-100:].lstrip(".-")
    disposition = f'attachment; filename="{plain}"'
    return {"Content-Disposition": disposition, "Cache-Control": "no-store"}


def download(name: str, text: str, media_type: str = "application/json") -> Response:
    return Response(text, headers=download_headers(name), media_type=media_type)


def field_errors(error: RefusedError) -> Mapping[str, str]:
    """Return the first broken rule of each field."""
    rules: dict[str, str] = {}
    for refusal in error.refusals:
        rules.setdefault(refusal.field, refusal.told)
    return rules
