"""Keys: the list, a new one with its secret shown once, and revoking."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from askless.app.documents.http.keys import MAX_DAYS, KeyRequest
from askless.app.documents.shape import read_shape
from askless.app.errors import ReplayedError
from askless.app.http.plumbing.auth import Called, needs, require_scope
from askless.app.http.plumbing.deps import After, Changes, Now, ReadDb
from askless.app.pages.plumbing.callers import Typed, make_once
from askless.app.pages.plumbing.frame import field_errors, redirect, render
from askless.app.pages.plumbing.inputs import field_text
from askless.app.records import Caller, Role, StoredKey
from askless.app.service import keys as service
from askless.core.errors import RefusedError

router = APIRouter(prefix="/ui/keys", include_in_schema=False)
ADDRESS = "/ui/keys"
WRITE = "keys:write"
PAGE_SIZE = 50
#: what a key of each scope may do
SCOPES = {
    "datasets:read": "See tables",
    "datasets:write": "Upload and delete tables",
    "train:read": "See trainings and their specs",
    "train:write": "Train, and cancel trainings",
    "models:read": "See models, their plans and monitors",
    "models:write": "Import and delete models, choose champions",
    "predict:read": "See cases",
    "predict:write": "Start cases and answer them",
    "ledger:read": "See what was charged",
    "ledger:write": "Take charges back",
    "providers:read": "See providers and the calls to them",
    "providers:write": "Change providers and test them, which costs",
    "keys:read": "See keys",
    "keys:write": "Make and revoke keys",
}
#: the roles that the form offers
DUTIES: dict[Role, str] = {
    "clinician": "starts cases and answers them",
    "analyst": "uploads tables, trains and compares models",
    "auditor": "sees cases, charges and keys, and changes nothing",
    "integration": "a program that plays cases and reads what they cost",
}
#: what a key of a scope can hardly do without
NEEDS = {
    "predict:read": ("models:read",),
    "predict:write": ("models:read", "predict:read"),
    "train:write": ("train:read", "datasets:read"),
    **{f"{noun}:write": (f"{noun}:read",) for noun in ("datasets", "models")},
    **{f"{noun}:write": (f"{noun}:read",) for noun in ("ledger", "providers", "keys")},
}
LIMITS = {
    "requests_per_minute": "Requests a minute",
    "trainings": "Trainings that have not ended",
    "sessions": "Sessions that are not closed",
    "streams": "Event streams open in a process",
    "dataset_bytes": "Bytes of all its tables",
    "rows": "Rows of a table",
    "columns": "Columns of a table",
    "rounds": "Rounds of a training",
}
NOTICES = {
    "revoked": "The key is revoked. Within seconds nobody can use it any more.",
    "sent": "That form was sent before, so no second key was made. The first one's "
    "secret is not shown again: if it is lost, revoke the key and make another.",
}


@router.get("", dependencies=[needs("keys")])
def show_keys(
    request: Request, db: ReadDb, caller: Called, now: Now, after: After = None
) -> HTMLResponse:
    page = service.page(db, PAGE_SIZE, after)
    return render(
        request,
        "keys.html",
        rows=[
            (key, service.describe_validity(key, now), provider_of(key))
            for key in page.items
        ],
        next=page.next and f"{ADDRESS}?after={page.next}",
        all_scopes=service.SCOPES,
        may_write=WRITE in caller.scopes,
        notice=NOTICES.get(request.query_params.get("done", "")),
    )


def provider_of(key: StoredKey) -> str | None:
    """Return a person's identity provider; None for a key with a secret."""
    if key.subject is None:
        return None
    provider = urlsplit(key.subject.split()[0])
    # A record system has a name of ours, and no host.
    return provider.netloc or provider.path


@router.get("/new", dependencies=[needs("keys")])
def show_new_key(request: Request, caller: Called) -> HTMLResponse:
    """Show the form of a new key; a random number makes sending it twice harmless."""
    require_scope(caller, WRITE)
    return show_form(request, caller, secrets.token_hex(16))


def show_form(
    request: Request, caller: Caller, number: str, status: int = 200, **more: Any
) -> HTMLResponse:
    """Show the form of a new key, with no more rights than the caller's own."""
    limits = [
        (f"limits.{name}", words, getattr(caller.limits, name))
        for name, words in LIMITS.items()
    ]
    return render(
        request,
        "key_new.html",
        status,
        number=number,
        scopes=[
            (scope, SCOPES[scope]) for scope in service.SCOPES if scope in caller.scopes
        ],
        needs=NEEDS,
        roles=[
            (role, f"{role.title()}: {duty}")
            for role, duty in DUTIES.items()
            if caller.scopes >= frozenset(service.ROLES[role])
        ],
        limits=limits,
        max_days=MAX_DAYS,
        **{"chosen": [], "is_limited": False, **more},
    )


@router.post("", dependencies=[needs("keys")])
async def create_key(
    request: Request, form: Typed, changes: Changes, caller: Called, now: Now
) -> Response:
    """Make a key, and show its secret in this response only."""
    number = field_text(form, "number")
    try:
        wish = read_key_request(form, now)
        return await changes(
            lambda db: make_once(
                db,
                number,
                now,
                lambda: service.create_delegated_key(db, caller, wish, now),
            ),
            lambda made: render(
                request,
                "key_made.html",
                201,
                made=made,
                words=LIMITS,
                lacks=list_missing_scopes(made.key.scopes),
            ),
        )
    except ReplayedError:
        return redirect(f"{ADDRESS}?done=sent")
    except RefusedError as error:
        more = {
            "typed": form,
            "errors": {
                # One of several scopes stands in the same group of boxes.
                "scopes" if field.startswith("scopes") else field: rule
                for field, rule in field_errors(error).items()
            },
            "chosen": form.getlist("scopes"),
            "is_limited": any(field_text(form, f"limits.{limit}") for limit in LIMITS),
        }
        return show_form(request, caller, number, 422, **more)


def read_key_request(form: FormData, now: datetime) -> service.Wish:
    """Read the requested key from a form; RefusedError names the form's fields."""
    texts = {name: field_text(form, f"limits.{name}") for name in LIMITS}
    of_role = {str(role): scopes for role, scopes in service.ROLES.items()}
    chosen = of_role.get(field_text(form, "role"), ())
    raw = {
        "name": field_text(form, "name"),
        "scopes": list(dict.fromkeys((*chosen, *form.getlist("scopes")))),
        "limits": {
            name: parse_whole_number(text) for name, text in texts.items() if text
        },
        "days": parse_whole_number(field_text(form, "days")),
    }
    body = read_shape(KeyRequest, raw, "")
    expires_at = None if body.days is None else now + timedelta(days=body.days)
    limits = {str(name): most for name, most in body.limits.items()}
    return service.Wish(body.name, tuple(body.scopes), limits, expires_at)


def list_missing_scopes(scopes: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs: a scope of the key, and a scope that it needs but the key lacks."""
    return [
        (scope, needed)
        for scope in scopes
        for needed in NEEDS.get(scope, ())
        if needed not in scopes
    ]


def parse_whole_number(text: str) -> int | str | None:
    """Return a whole number, None for an empty field, or other text, to be refused."""
    is_whole = text.isascii() and text.isdigit() and len(text) < 20
    return int(text) if is_whole else text or None


@router.get("/{id}/revoke", dependencies=[needs("keys")])
def show_revocation(
    request: Request, id: str, db: ReadDb, caller: Called, now: Now
) -> HTMLResponse:
    require_scope(caller, WRITE)
    key: StoredKey = service.get(db, id)
    return render(
        request,
        "key_revoke.html",
        key=key,
        validity=service.describe_validity(key, now),
        is_own=key.id == caller.key_id,
    )


@router.post("/{id}/revoke", dependencies=[needs("keys")])
async def revoke_key(id: str, form: Typed, changes: Changes, now: Now) -> Response:
    del form
    return await changes(
        lambda db: service.revoke_delegated_key(db, changes.caller, id, now),
        lambda _: redirect(f"{ADDRESS}?done=revoked"),
    )
