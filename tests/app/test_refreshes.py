"""A refresh trains on the champion's first table and the cases of its name."""

from collections.abc import Callable
from io import BytesIO

import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient

from askless.app.service.loop import cases, refreshes
from tests.app.clinic import Json, Train
from tests.app.jobs import Jobs
from tests.app.signs import NAME, SPEC, TABLE, Refresh, Work

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_challenges"]
N_ROWS = len(TABLE.splitlines()) - 1
#: Returns a and y of each case in the table of a refresh, in order.
Cases = Callable[[Json], list[tuple[float, str]]]

Promote = Callable[[Json], str]


@pytest.fixture
def cases_in(jobs: Jobs) -> Cases:
    def read(started: Json) -> list[tuple[float, str]]:
        with jobs.blobs.open(started["dataset_id"]) as stream:
            table = pyarrow.parquet.read_table(BytesIO(stream.read()))
        rows = table.to_pylist()
        return [(float(row["a"]), row["y"]) for row in rows[N_ROWS:]]

    return read


@pytest.fixture
def promote(client: TestClient, jobs: Jobs) -> Promote:
    """Compute the training of a refresh, and make its model the champion."""

    def crown(started: Json) -> str:
        jobs.worker().work()
        model = str(client.get(f"/train/{started['id']}").json()["model_id"])
        assert client.put(f"/models/{model}/champion").status_code == 200
        return model

    return crown


@pytest.mark.usefixtures("champion")
def test_an_erased_case_is_in_no_later_table(
    client: TestClient, work: Work, refresh: Refresh, promote: Promote, cases_in: Cases
) -> None:
    erased = work("1", a=0.25, b=0.0)
    work("1", a=0.5, b=0.0)
    first = refresh().json()
    promote(first)
    learnt = cases_in(first)
    client.delete(f"/predict/{erased}")
    client.delete(f"/datasets/{first['dataset_id']}")
    work("0", a=0.75, b=0.0)

    second = refresh().json()

    assert learnt == [(0.25, "1"), (0.5, "1")]
    assert cases_in(second) == [(0.5, "1"), (0.75, "0")]
    assert (first["cases"], second["cases"]) == (2, 1)


@pytest.mark.usefixtures("champion")
def test_a_corrected_case_is_in_a_later_table_once(
    client: TestClient, work: Work, refresh: Refresh, promote: Promote, cases_in: Cases
) -> None:
    corrected = work("1", a=0.25, b=0.0)
    promote(refresh().json())
    client.put(f"/predict/{corrected}/outcome", json={"label": "0"})

    second = refresh().json()

    assert cases_in(second) == [(0.25, "0")]
    assert second["cases"] == 1


@pytest.mark.usefixtures("champion")
def test_what_a_table_made_by_hand_has_taught_is_not_learnt_again(
    client: TestClient, work: Work, refresh: Refresh, promote: Promote, cases_in: Cases
) -> None:
    for other in (0, 1):
        work(str(other), a=0.25, b=float(other))
    made = client.post("/datasets", json={"cases_of": NAME}).json()["id"]
    old = client.get("/datasets").json()["items"][-1]["id"]
    by_hand = client.post("/train", json=SPEC | {"datasets": [old, made]}).json()
    model = promote(by_hand)

    none = refresh()
    work("1", a=0.75, b=0.0)
    started = refresh().json()

    due = client.get(f"/models/{model}/monitor").json()["refresh"]
    assert none.status_code == 409
    assert cases_in(started) == [(0.25, "0"), (0.25, "1"), (0.75, "1")]
    assert started["cases"] == 1
    assert due["is_due"] is False


@pytest.mark.usefixtures("champion")
def test_later_refreshes_take_cases_from_the_same_moment_on(
    train: Train,
    work: Work,
    refresh: Refresh,
    promote: Promote,
    cases_in: Cases,
) -> None:
    work("1", a=0.25, b=0.0)
    train(TABLE, SPEC)
    none = refresh()
    first = refresh(since="2000-01-01").json()
    promote(first)
    work("1", a=0.5, b=0.0)

    second = refresh().json()

    assert none.status_code == 409
    assert cases_in(first) == [(0.25, "1")]
    assert cases_in(second) == [(0.25, "1"), (0.5, "1")]
    assert (first["cases"], second["cases"]) == (1, 1)


@pytest.mark.usefixtures("champion")
def test_of_too_many_cases_the_newest_are_learnt(
    monkeypatch: pytest.MonkeyPatch, work: Work, refresh: Refresh, cases_in: Cases
) -> None:
    for value in (0.25, 0.5, 0.75):
        work("1", a=value, b=0.0)
    for module in (cases, refreshes):
        monkeypatch.setattr(module, "MOST_CASES", 2)

    started = refresh()

    assert started.status_code == 202, started.text
    assert cases_in(started.json()) == [(0.5, "1"), (0.75, "1")]
    assert (
        "only the newest 2 cases of signs are in the table"
        in started.json()["warnings"]
    )


def test_a_model_named_as_a_version_has_the_cases_of_its_own_name(
    train: Train, work: Work, refresh: Refresh, cases_in: Cases
) -> None:
    train(TABLE, SPEC)
    train(TABLE, SPEC)
    hidden = train(TABLE, SPEC | {"name": f"{NAME}@2"})
    work("1", model=hidden, a=0.25, b=0.0)
    # The second version of signs, not the model of this name.
    work("1", model=f"{NAME}@2", a=0.75, b=0.0)

    started = refresh(hidden).json()

    assert cases_in(started) == [(0.25, "1")]
