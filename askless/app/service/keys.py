"""Make, look up and revoke keys; only their digests are stored."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from askless.app.errors import ForbiddenError, UnknownKeyError
from askless.app.records import Caller, Limits, Role, StoredKey
from askless.app.store import keys, sign_ins
from askless.app.store.database.transactions import Transaction
from askless.core.errors import Refusal, RefusedError

page, get, find, find_tenant = keys.page, keys.get, keys.find, keys.find_tenant
retentions, all_tenants = keys.list_retentions, keys.list_tenants
set_retention = keys.set_retention
NOUNS = ("datasets", "train", "models", "predict", "ledger", "providers", "keys")
SCOPES = tuple(f"{noun}:{right}" for noun in NOUNS for right in ("read", "write"))
READS = tuple(f"{noun}:read" for noun in NOUNS)
#: the scopes of people and programs as they mostly are
ROLES: dict[Role, tuple[str, ...]] = {
    "clinician": ("models:read", "predict:read", "predict:write"),
    "analyst": (*READS[:-1], "datasets:write", "train:write", "models:write"),
    "auditor": (
        *("models:read", "predict:read", "ledger:read", "providers:read"),
        "keys:read",
    ),
    "integration": ("models:read", "predict:read", "predict:write", "ledger:read"),
    "admin": SCOPES,
}
LIMITS = tuple(limit.name for limit in fields(Limits))
MARK = "askl"
MAX_NAME = 200
NAME_RULE = f"must have 1 to {MAX_NAME} characters that can be printed"


@dataclass(frozen=True)
class Wish:
    """A request for a new key: name, scopes, limits, expiry."""

    name: str
    scopes: tuple[str, ...] = SCOPES
    limits: Mapping[str, int] = field(default_factory=dict)
    expires_at: datetime | None = None


class MadeKey(NamedTuple):
    """A new key with its secret, which is shown only once."""

    key: StoredKey
    token: str


def create(db: Transaction, request: Wish, now: datetime) -> MadeKey:
    """Make a key of the transaction's tenant; raise RefusedError."""
    refusals = list(check_request(request, now))
    if refusals:
        raise RefusedError(refusals)
    secret = secrets.token_urlsafe(32)
    key = StoredKey(
        id=keys.make_id(),
        name=request.name.strip(),
        digest=hash_secret(secret),
        scopes=tuple(scope for scope in SCOPES if scope in request.scopes),
        limits=dict(request.limits),
        created_at=now,
        expires_at=request.expires_at,
    )
    keys.insert(db, key)
    return MadeKey(key, f"{MARK}_{key.id.partition('_')[2]}_{secret}")


def is_name(text: str) -> bool:
    return 0 < len(text) <= MAX_NAME and text.isprintable()


def check_request(request: Wish, now: datetime) -> list[Refusal]:
    refusals = []
    if not is_name(request.name.strip()):
        refusals.append(Refusal("name", NAME_RULE))
    if not request.scopes or not set(request.scopes) <= set(SCOPES):
        refusals.append(Refusal("scopes", "must be some of " + ", ".join(SCOPES)))
    if not set(request.limits) <= set(LIMITS):
        refusals.append(Refusal("limits", "must be some of " + ", ".join(LIMITS)))
    if any(most < 1 for most in request.limits.values()):
        refusals.append(Refusal("limits", "must be at least 1"))
    if request.expires_at is not None and request.expires_at <= now:
        refusals.append(Refusal("expires_at", "must be in the future"))
    return refusals


def create_delegated_key(
    db: Transaction, caller: Caller, request: Wish, now: datetime
) -> MadeKey:
    """Make a key with no more rights than its maker's; else raise ForbiddenError.

    It gets the maker's limits and expiry, or lower and earlier ones.
    """
    refuse_wider_scopes(caller, request.scopes)
    if caller.key_id is not None:
        maker = keys.get(db, caller.key_id)
        # A caller is cached for some seconds, but the new key would last.
        if maker.revoked_at is not None:
            raise UnknownKeyError
        request = limit_request(request, maker, caller.limits)
    return create(db, request, now)


def limit_request(request: Wish, maker: StoredKey, most: Limits) -> Wish:
    """Return a request with the limits and expiry that its maker may grant.

    `most` are the maker's limits. A limit that neither names stays unset: the settings
    hold for both.
    """
    limits = dict(request.limits)
    for name in (limit for limit in LIMITS if limit in limits or limit in maker.limits):
        own = getattr(most, name)
        if own is not None:
            limits[name] = min(own, limits.get(name, own))
    ends = [end for end in (request.expires_at, maker.expires_at) if end is not None]
    return replace(request, limits=limits, expires_at=min(ends, default=None))


def get_or_create_tenant(db: Transaction, tenant: str, now: datetime) -> str:
    """Return the id of a tenant by name, created if absent; RefusedError."""
    if not is_name(tenant):
        raise RefusedError([Refusal("--tenant", NAME_RULE)])
    tenant_id = keys.find_tenant(db, tenant)
    if tenant_id is None:
        new_id = f"ten_{secrets.token_hex(12)}"
        tenant_id = keys.insert_tenant(db, new_id, tenant, now)
    return tenant_id


def revoke(db: Transaction, key_id: str, now: datetime) -> StoredKey:
    """End a key's validity; a second time changes nothing."""
    key = keys.get_locked(db, key_id)
    if key.revoked_at is None:
        keys.change(db, key_id, revoked_at=now)
        # Restored, a person signs in anew.
        sign_ins.remove_of(db, key_id)
    return keys.get(db, key_id)


def require_valid(db: Transaction, caller: Caller) -> None:
    """Raise UnknownKeyError if a caller's key was revoked; lock it if not."""
    key = None if caller.key_id is None else keys.get_locked(db, caller.key_id)
    if key is not None and key.revoked_at is not None:
        raise UnknownKeyError


def restore(db: Transaction, key_id: str) -> StoredKey:
    """Restore a person's revoked key; raise RefusedError for other keys."""
    key = keys.get_locked(db, key_id)
    if key.subject is None:
        rule = "must be a person's; a key with a secret is made anew"
        raise RefusedError([Refusal("KEY", rule)])
    keys.change(db, key_id, revoked_at=None)
    return keys.get(db, key_id)


def revoke_delegated_key(
    db: Transaction, caller: Caller, key_id: str, now: datetime
) -> StoredKey:
    """Revoke a key that the caller could have made; else raise ForbiddenError."""
    refuse_wider_scopes(caller, keys.get(db, key_id).scopes)
    return revoke(db, key_id, now)


def refuse_wider_scopes(caller: Caller, scopes: Iterable[str]) -> None:
    """Raise ForbiddenError for the first scope that the caller does not have."""
    for scope in scopes:
        # `create` refuses unknown scopes, with the list of known ones.
        if scope in SCOPES and scope not in caller.scopes:
            raise ForbiddenError(scope)


def make_first_key(db: Transaction, now: datetime) -> MadeKey | None:
    """Make the first key of a database; None if it ever had one."""
    return create(db, Wish("bootstrap"), now) if keys.mark_bootstrapped(db) else None


def identify_key(db: Transaction, token: str) -> StoredKey:
    """Return the key of a token; raise UnknownKeyError if there is none."""
    mark, _, rest = token.partition("_")
    number, _, secret = rest.partition("_")
    if mark != MARK or not number.isalnum() or not number.isascii():
        raise UnknownKeyError
    # A longer number than any is cut, so that the query stays small.
    key = keys.find_key_of_any_tenant(db, f"{keys.ROWS.prefix}_{number[:32]}")
    if key is None or not compare_digest(key.digest, hash_secret(secret)):
        raise UnknownKeyError
    return key


def caller_of(key: StoredKey, defaults: Limits, now: datetime) -> Caller:
    """Return the caller of a key; raise UnknownKeyError if it is no longer valid."""
    has_ended = key.expires_at is not None and key.expires_at <= now
    if has_ended or key.revoked_at is not None:
        raise UnknownKeyError
    most = {name: key.limits.get(name, getattr(defaults, name)) for name in LIMITS}
    return Caller(key.tenant_id, key.id, frozenset(key.scopes), Limits(**most))


def describe_validity(key: StoredKey, now: datetime) -> str:
    """Return in words whether a key is valid, and until when."""
    if key.revoked_at is not None:
        return f"revoked on {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is None:
        return "yes"
    word = "until" if key.expires_at > now else "expired on"
    return f"{word} {key.expires_at:%Y-%m-%d}"


def record_use(db: Transaction, key_id: str, now: datetime) -> None:
    keys.record_last_use(db, key_id, now)


def hash_secret(secret: str) -> str:
    """Return the SHA-256 of a secret; random secrets need no slow hash."""
    return sha256(secret.encode()).hexdigest()
