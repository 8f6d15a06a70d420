"""Connections: writes in turn on SQLite, and those that are idle or lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import InternalError, OperationalError

from askless.app.settings.settings import Settings
from askless.app.store.database import engine as engines
from askless.app.store.database.engine import Turns, create_engine
from tests.app.tenants import transaction

ONE = sa.text("SELECT 1")


def test_turns_come_in_the_order_in_which_they_were_wanted() -> None:
    turns, served = Turns(), []
    assert turns.take(0)

    def work(number: int) -> None:
        assert turns.take(60)
        served.append(number)
        turns.give()

    threads = [Thread(target=work, args=(number,)) for number in range(20)]
    for number, thread in enumerate(threads, 1):
        thread.start()
        while len(turns.waiting) < number:
            thread.join(0.001)
    turns.give()
    for thread in threads:
        thread.join()

    assert served == list(range(20))
    assert turns.take(0)


def test_turn_that_does_not_come_is_not_handed_on_to_who_left() -> None:
    turns = Turns()
    turns.take(0)

    assert not turns.take(0)

    turns.give()
    assert turns.take(0)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_write_that_fails_ends_its_turn(engine: sa.Engine) -> None:
    with pytest.raises(OperationalError), transaction(engine) as db:
        db.execute(sa.text("SELECT nothing FROM nowhere"))

    with transaction(engine) as db:
        assert db.scalar(ONE) == 1


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_transaction_that_was_ended_on_the_way_can_go_on(engine: sa.Engine) -> None:
    with transaction(engine) as db:
        db.execute(ONE)
        db.rollback()
        assert db.scalar(ONE) == 1
    with engine.connect() as connection:
        for _ in range(2):
            with connection.begin():
                connection.execute(ONE)

    with transaction(engine) as db:
        assert db.scalar(ONE) == 1


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_writes_of_one_process_wait_for_one_another(engine: sa.Engine) -> None:
    began, may_end = Event(), Event()

    def write(act: Callable[[], Any]) -> None:
        with transaction(engine) as db:
            db.execute(ONE)
            act()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(write, lambda: (began.set(), may_end.wait(60)))
        began.wait(60)
        second = pool.submit(write, lambda: None)
        with transaction(engine, is_read=True) as db:
            assert db.scalar(ONE) == 1
        assert not second.done()
        may_end.set()
        first.result()
        second.result()


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_connection_lost_while_idle_is_replaced(database_url: str) -> None:
    engine, other = create_engine(database_url), create_engine(database_url)

    @sa.event.listens_for(engine, "checkin")
    def age(_connection: object, entry: Any) -> None:
        entry.info[engines.USED_AT] -= 2 * engines.ASK_AFTER_S

    with engine.connect() as connection:
        pid = connection.scalar(sa.text("SELECT pg_backend_pid()"))
    with other.connect() as connection:
        connection.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})

    with engine.connect() as connection:
        assert connection.scalar(ONE) == 1
    engine.dispose()
    other.dispose()


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_transaction_that_stands_still_gives_its_locks_back(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = sa.text("SELECT pg_advisory_xact_lock(1)")
    other = create_engine(database_url)
    monkeypatch.setattr(engines, "IDLE_WITHIN_S", 0.2)
    engine = create_engine(database_url)

    suspended = engine.connect()
    suspended.execute(lock)
    with other.begin() as connection:
        # Otherwise it would wait for ever.
        connection.execute(sa.text("SET LOCAL lock_timeout = '30s'"))
        connection.execute(lock)
    with pytest.raises(InternalError, match="idle-in-transaction"):
        suspended.execute(ONE)
    suspended.close()

    with engine.connect() as connection:
        assert connection.scalar(ONE) == 1
    engine.dispose()
    other.dispose()


def test_an_engine_has_the_connections_that_it_is_given(settings: Settings) -> None:
    engine = create_engine(settings.url, 10)

    assert engine.pool.size() == 10  # type: ignore[attr-defined]
    engine.dispose()
