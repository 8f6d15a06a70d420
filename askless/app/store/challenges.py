"""Challenges of champions, and what both models came to on each case."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime

import sqlalchemy as sa

from askless.app.records import Decision
from askless.app.store.database.rows import StoredRows
from askless.app.store.database.sql_types import Id, UtcDateTime
from askless.app.store.database.tables import (
    challenge_cases,
    keys,
    metadata,
    models,
    sessions,
    tenant_key,
    trainings,
)
from askless.app.store.database.tenancy import execute, is_own, owner_values
from askless.app.store.database.transactions import Transaction

challenges = sa.Table(
    "challenges",
    metadata,
    sa.Column("id", Id, primary_key=True),
    tenant_key(),
    # Who has begun it.
    sa.Column("key_id", Id),
    sa.Column("name", sa.String(200), nullable=False),
    # A model, and the training that makes the other one. They keep their rows.
    sa.Column("champion_id", Id, nullable=False),
    sa.Column("training_id", Id, nullable=False, unique=True),
    # The rule, as it was stated beforehand.
    sa.Column("alpha", sa.Float, nullable=False),
    sa.Column("margin", sa.Float, nullable=False),
    sa.Column("is_by_rule", sa.Boolean, nullable=False),
    # The cases in the new table became known from then on; NULL: at any time.
    sa.Column("cases_since", UtcDateTime),
    # Cases that began before may have been trained on.
    sa.Column("cut_at", UtcDateTime, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    # When the last case that was counted became known.
    sa.Column("counted_until", UtcDateTime, nullable=False),
    sa.Column("decision", sa.String(20)),
    sa.Column("decided_at", UtcDateTime),
    # A key; NULL: the rule, or a call without a key.
    sa.Column("decided_by", Id),
    sa.Column("was_by_rule", sa.Boolean),
    # After how many cases.
    sa.Column("n_decided", sa.Integer),
)
sa.Index(None, challenges.c.tenant_id, challenges.c.created_at)
IS_OPEN = challenges.c.decision.is_(None)
sa.Index(
    "uq_challenges_open",
    challenges.c.tenant_id,
    challenges.c.name,
    unique=True,
    sqlite_where=IS_OPEN,
    postgresql_where=IS_OPEN,
)


@dataclass(frozen=True, slots=True)
class StoredChallenge:
    """A champion, the training of its challenger, and the rule of promotion.

    The challenger is promoted once the lower bound of the champion's mean loss minus
    its own is above `margin` at the level `alpha`: by the rule itself, or by a person
    who may do so at any time.
    """

    id: str
    name: str
    champion_id: str
    training_id: str
    alpha: float
    margin: float
    is_by_rule: bool
    cut_at: datetime
    created_at: datetime
    counted_until: datetime
    decision: Decision | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    was_by_rule: bool | None = None
    n_decided: int | None = None
    cases_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredPlay:
    """Losses and spends of both models on a case; no spends where one is not known."""

    #: None once the case was erased
    session_id: str | None
    champion_loss: float
    challenger_loss: float
    champion_spent: int | None
    challenger_spent: int | None


ROWS = StoredRows("challenge", "chl", challenges, StoredChallenge)
make_id, insert, get_locked = ROWS.make_id, ROWS.insert, ROWS.get_locked
get, change = ROWS.get, ROWS.change
PLAYED = [challenge_cases.c[field.name] for field in fields(StoredPlay)]


def find_newest(db: Transaction, name: str) -> StoredChallenge | None:
    """Return the open challenge of a name, else the one that was begun last."""
    order = challenges.c.decision.is_(None).desc(), challenges.c.created_at.desc()
    query = ROWS.query.where(challenges.c.name == name)
    return ROWS.first(db, query.order_by(*order, challenges.c.id).limit(1))


def lock_open(db: Transaction, name: str) -> StoredChallenge | None:
    """Lock and return the open challenge of a name."""
    query = ROWS.query.where(challenges.c.name == name, IS_OPEN)
    return ROWS.first(db, query.with_for_update())


def find_begun_by(db: Transaction, training_id: str | None) -> StoredChallenge | None:
    """Return the challenge whose challenger a training makes."""
    return ROWS.first(db, ROWS.query.where(challenges.c.training_id == training_id))


def list_open_ids(db: Transaction) -> list[tuple[str, str]]:
    """Return the tenant and id of each open challenge, of all tenants."""
    query = sa.select(challenges.c.tenant_id, challenges.c.id).where(IS_OPEN)
    return [tuple(row) for row in db.execute(query.order_by(challenges.c.id))]


def end_challenge(
    db: Transaction,
    challenge: StoredChallenge,
    decision: Decision,
    now: datetime,
    *,
    rule_after: int | None = None,
) -> None:
    """Write how a locked challenge has ended.

    `rule_after` is the number of cases after which its rule has promoted the
    challenger; None: the caller has ended it.
    """
    was_by_rule = rule_after is not None
    key_id = None if was_by_rule or db.caller is None else db.caller.key_id
    n_decided = count_plays(db, challenge.id) if rule_after is None else rule_after
    ROWS.change(
        db,
        challenge.id,
        decision=decision,
        decided_at=now,
        decided_by=key_id,
        was_by_rule=was_by_rule,
        n_decided=n_decided,
    )


def list_plays(db: Transaction, challenge_id: str) -> list[StoredPlay]:
    """Return both models' losses and spends on each case, in the order counted."""
    query = sa.select(*PLAYED).where(
        is_own(challenge_cases), challenge_cases.c.challenge_id == challenge_id
    )
    rows = execute(db, query.order_by(challenge_cases.c.number))
    return [StoredPlay(*tuple(row)) for row in rows]


def count_plays(db: Transaction, challenge_id: str) -> int:
    query = sa.select(sa.func.count()).where(
        is_own(challenge_cases), challenge_cases.c.challenge_id == challenge_id
    )
    return execute(db, query).scalar() or 0


def add_plays(
    db: Transaction, challenge_id: str, first: int, played: Sequence[StoredPlay]
) -> None:
    """Store plays of a locked challenge, numbered from `first`."""
    owner = {"challenge_id": challenge_id} | owner_values(db, challenge_cases)
    rows = [
        asdict(play) | owner | {"number": number}
        for number, play in enumerate(played, first)
    ]
    if rows:
        db.execute(challenge_cases.insert(), rows)


def find_first_training(db: Transaction, training_id: str) -> str:
    """Return the training that a chain of refreshes, the last one given, began with."""
    before = sa.select(models.c.training_id).join_from(
        challenges, models, models.c.id == challenges.c.champion_id
    )
    last_id: str | None = training_id
    while last_id is not None:
        training_id = last_id
        is_last = challenges.c.training_id == training_id
        last_id = execute(
            db, before.where(is_own(challenges), is_own(models), is_last)
        ).scalar()
    return training_id


def select_new(
    db: Transaction, challenge: StoredChallenge, session_ids: Collection[str]
) -> set[str]:
    """Return the ids of sessions that began after the cut and are not counted yet."""
    counted = sa.exists().where(
        challenge_cases.c.challenge_id == challenge.id,
        challenge_cases.c.session_id == sessions.c.id,
        is_own(challenge_cases),
    )
    query = sa.select(sessions.c.id).where(
        is_own(sessions),
        sessions.c.id.in_(session_ids),
        sessions.c.created_at > challenge.cut_at,
        sa.not_(counted),
    )
    return {row.id for row in execute(db, query)}


def challenger_of(db: Transaction, challenge: StoredChallenge) -> str | None:
    """Return the id of the model that the challenge's training has made."""
    query = sa.select(trainings.c.model_id).where(
        is_own(trainings), trainings.c.id == challenge.training_id
    )
    model_id: str | None = execute(db, query).scalar()
    return model_id


def find_decider_name(db: Transaction, challenge: StoredChallenge) -> str | None:
    """Return the name of the key that has ended a challenge."""
    query = sa.select(keys.c.name).where(
        is_own(keys), keys.c.id == challenge.decided_by
    )
    name: str | None = execute(db, query).scalar()
    return name
