"""How long an answer takes over HTTP; a bare handler with the same statements beside.

Two servers in processes of their own, asked in turn by one caller over connections
that stay open. The bare one is FastAPI and SQLAlchemy with the same transaction and
the same statements, and computes nothing. SQLite, and PostgreSQL where
ASKLESS_TEST_POSTGRES_URL names a server. `python -m benchmarks.http_latency` writes
`benchmarks/results/http_latency.json`.
"""

import argparse
import json
import multiprocessing
import os
import platform
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import httpx
import numpy as np
import sqlalchemy as sa
import uvicorn
from fastapi import Depends, FastAPI, Request
from sqlalchemy.orm import Session

from app.documents.files import model_text
from app.main import create_app
from app.records import DEFAULT_TENANT
from app.settings import Settings
from app.store.engine import create_engine, transaction
from app.store.migrate import migrate
from app.store.tables import ledger, sessions
from app.terminal.demo import demo_training, load_demo
from core.work import end_of

RESULTS = Path(__file__).parent / "results" / "http_latency.json"
N_SESSIONS = 60
N_WARM = 3
CONTEXT = multiprocessing.get_context("spawn")


def get_db(request: Request) -> Iterator[Session]:
    with transaction(request.app.state.engine, DEFAULT_TENANT) as db:
        yield db


Db = Annotated[Session, Depends(get_db, scope="function")]


def bare_app(settings: Settings) -> FastAPI:
    """The statements of an answer, and nothing else."""
    app = FastAPI()
    app.state.engine = create_engine(settings.url)

    @app.post("/predict/{id}/answers")
    def answer(id: str, body: dict[str, Any], db: Db) -> dict[str, Any]:
        given = body["answers"][0]
        wanted = sa.select(sessions).where(sessions.c.id == id).with_for_update()
        row = db.execute(wanted).one()
        spent = sessions.c.spent + given["micros"]
        charge = sessions.update().where(
            sessions.c.id == id,
            sa.or_(sessions.c.budget_limit.is_(None), spent <= sessions.c.budget_limit),
        )
        db.execute(charge.values(spent=spent).returning(sessions.c.id)).one()
        now = datetime.now(UTC)
        db.execute(
            ledger.insert().values(
                at=now,
                session_id=id,
                feature=given["feature"],
                group=None,
                kind="charge",
                amount=given["micros"],
                unit=row.unit,
            )
        )
        save = sessions.update().where(sessions.c.id == id)
        version = sessions.c.version + 1
        values = {"document": row.document, "version": version, "updated_at": now}
        saved = db.execute(
            save.values(state="open", **values).returning(*sessions.c)
        ).one()
        return {"id": id, "version": saved.version, "spent": saved.spent / 1e6}

    return app


def local_app(settings: Settings) -> FastAPI:
    return create_app(settings, is_local=True)


Maker = Callable[[Settings], FastAPI]


def serve(make: Maker, listener: socket.socket, settings: Settings) -> None:
    quiet = {"log_config": None, "access_log": False, "server_header": False}
    uvicorn.Server(uvicorn.Config(make(settings), **quiet)).run([listener])


@contextmanager
def served(make: Maker, settings: Settings) -> Iterator[httpx.Client]:
    """Serve in a process of its own, ended afterwards."""
    # With the protocol named, asyncio switches off Nagle's algorithm on what it
    # accepts; without it every answer waits 40 ms for a delayed acknowledgement.
    kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    with socket.socket(*kind) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        process = CONTEXT.Process(target=serve, args=(make, listener, settings))
        process.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            with httpx.Client(base_url=address, timeout=60, trust_env=False) as caller:
                yield caller
        finally:
            process.terminate()
            process.join()


@contextmanager
def databases() -> Iterator[dict[str, Settings]]:
    """Migrated databases, one for each engine, gone afterwards."""
    given = os.environ.get("ASKLESS_TEST_POSTGRES_URL")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder)
        found = {"sqlite": Settings(home=home, database_url=None)}
        if given:
            server = sa.make_url(Settings(database_url=given).url)
            name = f"askless_bench_{uuid4().hex[:8]}"
            administer(server, f"CREATE DATABASE {name}")
            stack.callback(administer, server, f"DROP DATABASE {name} WITH (FORCE)")
            url = server.set(database=name).render_as_string(hide_password=False)
            found["postgresql"] = Settings(home=home, database_url=url)
        for settings in found.values():
            migrate(settings.url)
        yield found


def administer(server: sa.URL, statement: str) -> None:
    """Do what can't be done in a transaction."""
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(statement)
    admin.dispose()


def send(
    caller: httpx.Client, session_id: str, answer: dict[str, Any]
) -> tuple[float, dict[str, Any]]:
    """Send one answer; the seconds until what comes back is there."""
    started = time.perf_counter()
    path = f"/predict/{session_id}/answers"
    response = caller.post(path, json={"answers": [answer]})
    seconds = time.perf_counter() - started
    assert response.status_code == 200, response.text
    return seconds, response.json()


def copy_session(engine: sa.Engine, session_id: str) -> str:
    """Make the bare handler a row of its own, like the session's."""
    made = f"bare_{uuid4().hex[:24]}"
    with transaction(engine, DEFAULT_TENANT) as db:
        row = db.execute(sa.select(sessions).where(sessions.c.id == session_id)).one()
        db.execute(sessions.insert().values({**row._mapping, "id": made}))
    return made


def play(
    callers: dict[str, httpx.Client], engine: sa.Engine, n_sessions: int
) -> dict[str, list[float]]:
    """Answer every question of some sessions; each answer by both, in turn."""
    ours, bare = callers["askless"], callers["bare"]
    times: dict[str, list[float]] = {"askless": [], "bare": []}
    generator = np.random.default_rng(7)
    for number in range(n_sessions):
        stop = {"certain": False}
        body = {"model": "heart-cleveland", "budget": None, "stop": stop}
        session = ours.post("/predict", json=body).json()
        twin = copy_session(engine, session["id"])
        while (question := session["question"]) is not None:
            value = answer_of(question, generator)
            given = {"feature": question["feature"], "outcome": "value", "value": value}
            charged = {**given, "micros": round(question["price"] * 1e6)}
            seconds, session = send(ours, session["id"], given)
            bare_seconds, _ = send(bare, twin, charged)
            if number >= N_WARM:
                times["askless"].append(seconds)
                times["bare"].append(bare_seconds)
    return times


def answer_of(question: dict[str, Any], generator: np.random.Generator) -> Any:
    if question["type"] == "category":
        return str(generator.choice(question["categories"]))
    if question["type"] == "boolean":
        return bool(generator.integers(2))
    return round(float(generator.normal(100, 40)), 1)


def measure(settings: Settings, model: str, n_sessions: int) -> dict[str, Any]:
    engine = create_engine(settings.url)
    with served(local_app, settings) as ours, served(bare_app, settings) as bare:
        headers = {"Content-Type": "application/json"}
        ours.post("/models", content=model, headers=headers).raise_for_status()
        while ours.get("/readyz").status_code != 200:
            pass
        times = play({"askless": ours, "bare": bare}, engine, n_sessions)
    engine.dispose()
    return {name: quantiles(found) for name, found in times.items()}


def quantiles(seconds: list[float]) -> dict[str, float]:
    p50, p99 = np.quantile(seconds, [0.5, 0.99])
    return {
        "answers": len(seconds),
        "p50_ms": round(1000 * float(p50), 3),
        "p99_ms": round(1000 * float(p99), 3),
    }


def main() -> None:
    """Measure, write the results and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=N_SESSIONS)
    arguments = parser.parse_args()
    model = model_text(end_of(demo_training(*load_demo())))
    machine = {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    with databases() as found:
        engines = {
            name: measure(settings, model, arguments.sessions)
            for name, settings in found.items()
        }
    results = json.dumps({"machine": machine, "engines": engines}, indent=1)
    RESULTS.write_text(results + "\n")
    print(results)


if __name__ == "__main__":
    main()
