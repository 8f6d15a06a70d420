"""Closed cases with their true labels, of a model or a name, within a span."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.errors import NotFoundError
from askless.app.records import Moment
from askless.app.service.loop import cases
from askless.app.service.loop.cases import CaseSpan, StoredCase, query_of
from askless.app.store.database.engine import transaction as any_transaction
from askless.core.errors import RefusedError
from tests.app.clinic import Play, Put, Start, clinic, on
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_cases"]

Find = Callable[..., list[StoredCase]]
TTL = timedelta(hours=24)


def moment(day: int) -> Moment:
    return Moment(on(day), TTL, 7 * TTL)


@pytest.fixture
def find(app: FastAPI, client: TestClient, engine: sa.Engine) -> Find:
    del client  # The application has its models once it is served.

    def find_all(
        key: str = "clinic", day: int = 30, newest: int | None = None, **span: datetime
    ) -> list[StoredCase]:
        with transaction(engine, is_read=True) as db:
            query = query_of(db, key, CaseSpan(**span))._replace(newest=newest)
            return [*cases.find_cases(db, app.state.loaded, query, moment(day))]

    return find_all


def ages(found: list[StoredCase]) -> list[float]:
    return [one.state.values[0] for one in found]


def test_cases_have_what_was_answered_and_what_came_of_it(
    play: Play, find: Find
) -> None:
    play(17, 63, "1")
    play(16, 40, "0")

    first, second = find()

    assert ages([first, second]) == [40.0, 63.0]
    assert (first.outcome.label, second.outcome.label) == ("0", "1")
    assert first.state.outcomes[:3] == ("value", "refused", None)
    assert first.model.name == "clinic"
    assert (first.known_at, first.session.state) == (on(16), "closed")


def test_open_erased_and_unlabelled_sessions_are_no_cases(
    client: TestClient, app: FastAPI, play: Play, find: Find, start: Start
) -> None:
    play(16, 40, None)
    erased = play(16, 50, "1")
    client.delete(f"/predict/{erased['id']}")
    app.state.clock = lambda: on(18)
    running = start(60.0)
    client.put(f"/predict/{running['id']}/outcome", json={"label": "1"})

    assert find(day=18) == []
    # It expires a day after its last change.
    (expired,) = find(day=20)
    assert (expired.known_at, expired.state.stop_reason) == (on(19), "expired")
    assert find(day=20, since=on(20)) == []
    assert len(find(day=20, since=on(19), until=on(20))) == 1
    assert find(day=20, until=on(19)) == []


def test_a_case_is_in_the_span_in_which_it_became_known(
    app: FastAPI, client: TestClient, play: Play, find: Find
) -> None:
    late = play(10, 40, None)
    play(12, 50, "1")
    app.state.clock = lambda: on(14)
    client.put(f"/predict/{late['id']}/outcome", json={"label": "0"})

    assert ages(find(until=on(14))) == [50.0]
    assert ages(find(since=on(14))) == [40.0]
    assert ages(find(since=on(12), until=on(15))) == [50.0, 40.0]
    assert ages(find(newest=1)) == [40.0]
    assert find(newest=0) == []


def test_the_last_correction_of_an_outcome_counts(
    app: FastAPI, client: TestClient, play: Play, find: Find
) -> None:
    session = play(10, 40, "0")
    app.state.clock = lambda: on(11)
    client.put(f"/predict/{session['id']}/outcome", json={"label": "1"})

    (case,) = find()

    assert (case.outcome.label, case.known_at) == ("1", on(11))


def test_a_name_means_all_its_versions_and_an_id_one(
    client: TestClient, play: Play, find: Find, put: Put
) -> None:
    first, second = put(), put(clinic("sample"))
    play(10, 40, "0", model=first)
    play(11, 50, "1", model=second)
    play(12, 60, "1", model=put(name="other"))
    assert client.delete(f"/models/{first}").status_code == 204

    assert ages(find()) == [40.0, 50.0]
    assert ages(find(second)) == ages(find("clinic@2")) == [50.0]
    with pytest.raises(NotFoundError):
        find(first)
    with pytest.raises(NotFoundError):
        find("nobody")


def test_cases_are_at_the_prices_of_their_sessions(
    play: Play, find: Find, put: Put
) -> None:
    costs = {"age": 7, "sex": 1, "chol": 1, "fbs": 1, "ecg": 1}
    groups = [{"name": "blood", "fee": 1}, {"name": "echo", "price": 1}]
    prices = {"costs": costs, "groups": groups}
    play(10, 40, "0", model=put(), prices=prices)

    (case,) = find()

    assert case.model.ensemble.catalogue.features[0].cost == 7_000_000


def test_another_tenants_cases_are_not_found(
    engine: sa.Engine, play: Play, find: Find
) -> None:
    play(10, 40, "0")

    with (
        any_transaction(engine, "ten_other", is_read=True) as db,
        pytest.raises(NotFoundError),
    ):
        query_of(db, "clinic", CaseSpan())
    assert len(find()) == 1


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_new_cases_are_found_by_an_index_and_not_among_all(
    engine: sa.Engine, play: Play, find: Find
) -> None:
    play(10, 40, "0")
    asked: list[tuple[str, Any]] = []

    @sa.event.listens_for(engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, text: str, values: Any, *_: Any) -> None:
        if "UNION" in text:
            asked.append((text, values))

    find(since=on(10))

    (text, values), *_ = asked
    with engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)
        steps = [row.detail for row in plan]
    reads = [step for step in steps if "sessions" in step or "outcomes" in step]
    assert all("updated_at>" in one or "at>" in one or "id=?)" in one for one in reads)
    assert not any("tenant_id=?)" in one for one in reads)


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_a_case_that_is_erased_while_cases_are_read_is_left_out(
    app: FastAPI, client: TestClient, engine: sa.Engine, play: Play
) -> None:
    erased = play(10, 40, "0")
    play(11, 50, "1")

    with transaction(engine, is_read=True) as db:
        query = query_of(db, "clinic", CaseSpan())
        found = cases.find_cases(db, app.state.loaded, query, moment(30))
        client.delete(f"/predict/{erased['id']}")
        left = [*found]

    assert ages(left) == [50.0]


def test_a_span_is_neither_reversed_nor_too_long(
    monkeypatch: pytest.MonkeyPatch, play: Play, find: Find
) -> None:
    for day in (10, 11, 12):
        play(day, day, "0")
    monkeypatch.setattr(cases, "MOST_CASES", 2)

    with pytest.raises(RefusedError, match="until: must not be before since"):
        find(since=on(12), until=on(11))
    with pytest.raises(
        RefusedError, match=r"since: .*at most 2 cases: ask for a short"
    ):
        find()
    assert ages(find(since=on(11))) == [11.0, 12.0]
    assert ages(find(newest=2)) == [11.0, 12.0]
    assert ages(find(newest=3)) == [11.0, 12.0]
