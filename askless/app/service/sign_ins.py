"""Sign in with a key: a browser gets a random cookie, the database its digest."""

import secrets
from datetime import datetime, timedelta

from askless.app.errors import UnknownKeyError
from askless.app.records import StoredKey
from askless.app.service.keys import hash_secret
from askless.app.store import keys, sign_ins
from askless.app.store.database.transactions import Transaction

LASTS = timedelta(hours=12)


def sign_in(db: Transaction, key_id: str, now: datetime) -> str:
    """Sign a browser in; return its cookie, or raise UnknownKeyError."""
    if keys.get_locked(db, key_id).revoked_at is not None:
        raise UnknownKeyError
    sign_ins.remove_before(db, now)
    cookie = secrets.token_urlsafe(32)
    sign_ins.insert(db, hash_secret(cookie), key_id, now, now + LASTS)
    return cookie


def find_signed_in_key(db: Transaction, cookie: str, now: datetime) -> StoredKey:
    """Return the key signed in with a cookie; raise UnknownKeyError if none is."""
    key_id = sign_ins.find_key(db, hash_secret(cookie), now)
    key = None if key_id is None else keys.find_key_of_any_tenant(db, key_id)
    if key is None:
        raise UnknownKeyError
    return key


def sign_out(db: Transaction, cookie: str) -> None:
    """Sign a browser out; a second time changes nothing."""
    sign_ins.remove(db, hash_secret(cookie))
