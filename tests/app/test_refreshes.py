"""What a refresh trains on: the champion's first table and the cases of its name."""

from collections.abc import Callable
from io import BytesIO

import pyarrow.parquet
import pytest

from tests.app.clinic import Json, Train
from tests.app.jobs import Jobs
from tests.app.signs import NAME, SPEC, TABLE, Refresh, Work

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_challenges"]
N_ROWS = len(TABLE.splitlines()) - 1
#: Returns a of each case in the table of a refresh, in order.
Cases = Callable[[Json], list[float]]


@pytest.fixture
def cases_in(jobs: Jobs) -> Cases:
    def read(started: Json) -> list[float]:
        with jobs.blobs.open(started["dataset_id"]) as stream:
            table = pyarrow.parquet.read_table(BytesIO(stream.read()))
        rows = table.to_pylist()
        return [float(one["a"]) for one in rows[N_ROWS:]]

    return read


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

    assert cases_in(started) == [0.25]
