"""Stored models. A deleted model keeps its row, but no name leads to it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from zlib import crc32

import sqlalchemy as sa

from askless.app.errors import NotFoundError
from askless.app.records import ModelHead
from askless.app.store.database.rows import StoredRows
from askless.app.store.database.tables import keys, models, trainings
from askless.app.store.database.tenancy import execute, is_own, tenant_of
from askless.app.store.database.transactions import Transaction
from askless.core.errors import find_nearest


@dataclass(frozen=True, slots=True)
class StoredModel(ModelHead):
    """A stored, versioned model; `document` is its MODEL.json."""

    document: str


IS_PRESENT = models.c.deleted_at.is_(None)
# With deleted models, since their sessions stay.
ALL = StoredRows("model", "mdl", models, StoredModel)
WHOLE = StoredRows("model", "mdl", models, StoredModel, IS_PRESENT)
HEADS = StoredRows("model", "mdl", models, ModelHead, IS_PRESENT)
get_deleted_too = ALL.get
page = HEADS.page
KEPT = sa.select(models.c.id).where(
    models.c.id == sa.bindparam("key"), IS_PRESENT, is_own(models)
)
LOCKED, SHARED = KEPT.with_for_update(), KEPT.with_for_update(read=True)
# One transaction at a time gives a name its next version.
VERSION_LOCK = 830_412
MOST_VERSIONS = 50
CHAMPION = "champion"
# Names among which one is sought that is spelt like a wrong one.
MOST_NAMES = 1000


def insert(
    db: Transaction,
    name: str,
    document: str,
    now: datetime,
    training_id: str | None = None,
) -> StoredModel:
    """Store a model as the next version of its name."""
    lock_name(db, name)
    is_of_name = sa.and_(models.c.name == name, is_own(models))
    highest = execute(db, sa.select(sa.func.max(models.c.version)).where(is_of_name))
    model = StoredModel(
        id=ALL.make_id(),
        name=name,
        version=1 + (highest.scalar() or 0),
        training_id=training_id,
        is_champion=False,
        learnt_from=None,
        document=document,
        created_at=now,
    )
    ALL.insert(db, model)
    return model


def insert_learnt(
    db: Transaction, learnt_from: str, document: str, now: datetime
) -> StoredModel:
    """Store what a model has become by learning, as the next version of its name."""
    model = insert(db, map_names(db, {learnt_from})[learnt_from], document, now)
    ALL.change(db, model.id, learnt_from=learnt_from)
    return replace(model, learnt_from=learnt_from)


def lock_name(db: Transaction, name: str) -> None:
    """Lock a name's versions and champion until the transaction ends."""
    if db.dialect == "postgresql":
        # Advisory locks are numbered by signed 32-bit integers. SQLite needs none,
        # since it has one writer at a time.
        owned_name = f"{tenant_of(db)} {name}".encode()
        keys = {"one": VERSION_LOCK, "other": crc32(owned_name) - 2**31}
        db.execute(sa.text("SELECT pg_advisory_xact_lock(:one, :other)"), keys)


def find_by_name(db: Transaction, name: str) -> ModelHead | None:
    """Return the model that a bare name means: the champion, else the newest."""
    order = models.c.is_champion.desc(), models.c.version.desc()
    query = HEADS.query.where(models.c.name == name)
    return HEADS.first(db, query.order_by(*order).limit(1))


def list_versions(db: Transaction, name: str) -> list[ModelHead]:
    """Return the models of a name, newest first."""
    query = HEADS.query.where(models.c.name == name)
    rows = execute(db, query.order_by(models.c.version.desc()).limit(MOST_VERSIONS))
    return [HEADS.read(row) for row in rows]


def find_champion(db: Transaction, name: str) -> ModelHead | None:
    is_match = sa.and_(models.c.name == name, models.c.is_champion)
    return HEADS.first(db, HEADS.query.where(is_match))


def crown(db: Transaction, name: str, model_id: str | None) -> None:
    """Make a model the champion of its locked name, or with None no model."""
    is_other = sa.and_(models.c.name == name, models.c.is_champion, is_own(models))
    execute(db, models.update().where(is_other).values(is_champion=False))
    if model_id is not None:
        ALL.change(db, model_id, is_champion=True)


def find_version(db: Transaction, name: str, version: int) -> ModelHead | None:
    is_match = sa.and_(models.c.name == name, models.c.version == version)
    return HEADS.first(db, HEADS.query.where(is_match))


def find_head(db: Transaction, key: str) -> ModelHead | None:
    """Find a model by id, by `name@version`, or by the name that means it now."""
    # A version first, so that no model's name can hide it.
    return find_by_key(db, key) or find_by_name(db, key)


def get_newest_head(db: Transaction, key: str) -> ModelHead:
    """Return a model as `get_head` does, but for a bare name the newest version."""
    # A version first, as in `find_head`.
    head = find_by_key(db, key) or next(iter(list_versions(db, key)), None)
    return head or get_head(db, key)


def find_by_key(db: Transaction, key: str) -> ModelHead | None:
    """Find a model by what names no other one: its id, or its name with a version."""
    return HEADS.find(db, key) or find_by_version(db, key)


def find_newer(db: Transaction, model_id: str) -> ModelHead | None:
    """Return the newest version of a model's name, if it is newer than the model."""
    name, version = map_titles(db, [model_id])[model_id]
    newest = next(iter(list_versions(db, name)), None)
    return newest if newest is not None and newest.version > version else None


def find_by_version(db: Transaction, key: str) -> ModelHead | None:
    """Find a model by `name@version` or `name@champion`; names may contain @."""
    name, _, version = key.rpartition("@")
    if version == CHAMPION:
        return find_champion(db, name)
    is_number = version.isascii() and version.isdigit() and len(version) < 10
    return find_version(db, name, int(version)) if is_number else None


def get_head(db: Transaction, key: str) -> ModelHead:
    """Return a model found by `find_head`; else raise NotFoundError with a hint."""
    head = find_head(db, key)
    if head is not None:
        return head
    query = sa.select(models.c.name).where(is_own(models), IS_PRESENT).distinct()
    known = [row.name for row in execute(db, query.limit(MOST_NAMES))]
    raise NotFoundError("model", key, find_nearest(key, known))


def get(db: Transaction, key: str) -> StoredModel:
    """Return a model with its document, found as by `get_head`."""
    return WHOLE.get(db, get_head(db, key).id)


def lock(db: Transaction, model_id: str, *, is_shared: bool = False) -> bool:
    """Lock a model against deletion or use; return False if there is none."""
    query = SHARED if is_shared else LOCKED
    return execute(db, query, {"key": model_id}).first() is not None


def map_names(db: Transaction, model_ids: set[str]) -> dict[str, str]:
    """Return the names of models by id, deleted ones too."""
    query = sa.select(models.c.id, models.c.name).where(
        models.c.id.in_(model_ids), is_own(models)
    )
    return {row.id: row.name for row in execute(db, query)}


def find_maker_name(db: Transaction, training_id: str) -> str | None:
    """Return the name of the key that started a training."""
    query = sa.select(keys.c.name).where(
        trainings.c.id == sa.bindparam("key"),
        keys.c.id == trainings.c.key_id,
        is_own(trainings),
    )
    key_name: str | None = execute(db, query, {"key": training_id}).scalar()
    return key_name


def delete(db: Transaction, model_id: str, now: datetime) -> None:
    """Mark a locked model as deleted."""
    ALL.change(db, model_id, deleted_at=now, is_champion=False)


def map_titles(db: Transaction, ids: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return name and version of models by id, deleted ones too."""
    query = sa.select(models.c.id, models.c.name, models.c.version)
    rows = execute(db, query.where(is_own(models), models.c.id.in_(sorted(set(ids)))))
    return {row.id: (row.name, row.version) for row in rows}


def list_related_ids(
    db: Transaction, head: ModelHead, *, is_by_name: bool
) -> list[str]:
    """Return ids, deleted ones too, of the models whose cases are a model's."""
    is_kin = models.c.id == head.id
    if is_by_name:
        is_kin = models.c.name == head.name
    query = sa.select(models.c.id).where(is_own(models), is_kin)
    return sorted(execute(db, query).scalars())
