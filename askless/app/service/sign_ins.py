"""Sign in with a key: a browser gets a random cookie, the database its digest."""

import secrets
from datetime import datetime, timedelta

from askless.app.errors import UnknownKeyError
from askless.app.records import StoredKey
from askless.app.service.keys import digest_of
from askless.app.store import keys, sign_ins
from askless.app.store.database.transactions import Transaction

LASTS = timedelta(hours=12)


def sign_in(db: Transaction, key_id: str, now: datetime) -> str:
    """Sign a browser in and return its cookie; remove expired sign-ins.

    Raises UnknownKeyError if the key was revoked meanwhile.
    """
    if keys.get_locked(db, key_id).revoked_at is not None:
        raise UnknownKeyError
    sign_ins.remove_before(db, now)
    cookie = secrets.token_urlsafe(32)
    sign_ins.insert(db, digest_of(cookie), key_id, now, now + LASTS)
    return cookie


def find_signed_in_key(db: Transaction, cookie: str, now: datetime) -> StoredKey:
    """Return the key signed in with a cookie; raise UnknownKeyError if none is."""
    key_id = sign_ins.find_key(db, digest_of(cookie), now)
    key = None if key_id is None else keys.identify(db, key_id)
    if key is None:
        raise UnknownKeyError
    return key


def sign_out(db: Transaction, cookie: str) -> None:
    """Sign a browser out; a second time changes nothing."""
    sign_ins.remove(db, digest_of(cookie))
