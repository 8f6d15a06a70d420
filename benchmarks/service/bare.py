"""The yardstick: an answer's statements by FastAPI and SQLAlchemy, and nothing else.

One SELECT, one conditional UPDATE and two INSERTs in one transaction, over tables of
its own. It computes nothing, and knows nothing of ours, so that it stays what it is.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

import sqlalchemy as sa
from fastapi import Depends, FastAPI, HTTPException, Request
from pydantic import BaseModel
from sqlalchemy import event
from sqlalchemy.orm import Session

metadata = sa.MetaData()
Id = sa.String(40)
sessions = sa.Table(
    "bare_sessions",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("budget_limit", sa.BigInteger),
    sa.Column("spent", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
)
Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
ledger = sa.Table(
    "bare_ledger",
    metadata,
    sa.Column("id", Number, primary_key=True),
    sa.Column("session_id", Id, sa.ForeignKey(sessions.c.id), nullable=False),
    sa.Column("feature", sa.String(200), nullable=False),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    sa.UniqueConstraint("session_id", "feature"),
)
answers = sa.Table(
    "bare_answers",
    metadata,
    sa.Column("id", Number, primary_key=True),
    sa.Column("session_id", Id, sa.ForeignKey(sessions.c.id), nullable=False),
    sa.Column("feature", sa.String(200), nullable=False),
    sa.Column("value", sa.JSON),
)


class GivenAnswer(BaseModel):
    feature: str
    outcome: str
    value: bool | int | float | str | None
    micros: int


class Answers(BaseModel):
    answers: list[GivenAnswer]


def create_engine(url: str) -> sa.Engine:
    """SQLite as SQLAlchemy's manual says it is to be used where writers meet."""
    if not url.startswith("sqlite"):
        return sa.create_engine(url)
    engine = sa.create_engine(url, connect_args={"timeout": 30})

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def get_db(request: Request) -> Iterator[Session]:
    with Session(request.app.state.engine) as db, db.begin():
        yield db


Db = Annotated[Session, Depends(get_db, scope="function")]


def open_session(db: Db) -> dict[str, Any]:
    made = f"bare_{uuid4().hex[:24]}"
    values = {"budget_limit": None, "spent": 0, "version": 1}
    now = datetime.now(UTC)
    db.execute(sessions.insert().values(id=made, updated_at=now, **values))
    return {"id": made}


def answer(id: str, body: Answers, db: Db) -> dict[str, Any]:
    given, now = body.answers[0], datetime.now(UTC)
    wanted = sa.select(sessions).where(sessions.c.id == id).with_for_update()
    row = db.execute(wanted).first()
    if row is None:
        raise HTTPException(404)
    spent = sessions.c.spent + given.micros
    fits = sa.or_(sessions.c.budget_limit.is_(None), spent <= sessions.c.budget_limit)
    version = sessions.c.version + 1
    charge = sessions.update().where(sessions.c.id == id, fits)
    charge = charge.values(spent=spent, version=version, updated_at=now)
    if db.execute(charge).rowcount != 1:
        raise HTTPException(409)
    key = {"session_id": id, "feature": given.feature}
    db.execute(ledger.insert().values(at=now, amount=given.micros, **key))
    db.execute(answers.insert().values(value=given.value, **key))
    return {"id": id, "version": row.version + 1, "spent": row.spent + given.micros}


def create_bare(url: str) -> FastAPI:
    @asynccontextmanager
    async def live(app: FastAPI) -> Any:
        app.state.engine = create_engine(url)
        metadata.create_all(app.state.engine)
        yield
        app.state.engine.dispose()

    app = FastAPI(lifespan=live)
    app.add_api_route("/predict", open_session, methods=["POST"], status_code=201)
    app.add_api_route("/predict/{id}/answers", answer, methods=["POST"])
    return app
