"""People who sign in where others know them: each has a key, which has no secret.

So what a person does is limited, recorded and revoked as what a program does.
"""

import secrets
from datetime import datetime
from typing import NamedTuple

from askless.app.errors import UnknownKeyError
from askless.app.records import StoredKey
from askless.app.service.keys import MAX_NAME, SCOPES, hash_secret
from askless.app.store import keys
from askless.app.store.database.transactions import Transaction
from askless.core.errors import Refusal, RefusedError

MAX_SUBJECT = 600


class Person(NamedTuple):
    """A person as an identity provider knows them, with their rights here."""

    #: the provider's address, or our name of a record system
    provider: str
    #: the provider's name for the person, which never changes
    sub: str
    #: what people call them
    name: str
    scopes: tuple[str, ...]

    @property
    def subject(self) -> str:
        return f"{self.provider} {self.sub}"


def find_key(db: Transaction, person: Person) -> StoredKey | None:
    """Return a person's key within the transaction's tenant; None: they have none.

    Raises UnknownKeyError if it was revoked, and RefusedError as `renew_key_of` does.
    """
    require_subject(person)
    key = keys.find_person_key(db, person.subject)
    if key is not None and key.revoked_at is not None:
        raise UnknownKeyError
    return key


def renew_key_of(db: Transaction, person: Person, now: datetime) -> StoredKey:
    """Return a person's key with the name and rights that they have now.

    A new person gets a key. Raises UnknownKeyError if it was revoked,
    and RefusedError for a name that no provider may give.
    """
    new_key = make_key(person, now)
    key = keys.insert_person(db, new_key)
    if key.revoked_at is not None:
        raise UnknownKeyError
    keys.change(db, key.id, name=new_key.name, scopes=new_key.scopes, last_used_at=now)
    return keys.get(db, key.id)


def require_subject(person: Person) -> None:
    """Refuse a name that no provider may give, or that no database takes."""
    is_printable = person.sub.isprintable() and person.sub.strip() == person.sub
    if not person.sub or not is_printable or len(person.subject) > MAX_SUBJECT:
        rule = f"must be printable, with its provider at most {MAX_SUBJECT} characters"
        raise RefusedError([Refusal("sub", rule)])


def make_key(person: Person, now: datetime) -> StoredKey:
    """Return a key that no secret opens."""
    require_subject(person)
    shown = "".join(
        character if character.isprintable() else " " for character in person.name
    ).strip()
    return StoredKey(
        id=keys.make_id(),
        name=(shown or person.sub)[:MAX_NAME],
        # Nobody has a secret with this digest.
        digest=hash_secret(secrets.token_urlsafe(32)),
        scopes=tuple(scope for scope in SCOPES if scope in person.scopes),
        limits={},
        created_at=now,
        subject=person.subject,
    )
