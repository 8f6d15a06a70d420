"""Tables in Google's object store, read from its emulator on this machine."""

import numpy as np
import pyarrow as pa
import pytest

from app.ingest.streams import open_table
from core.errors import RefusedError
from tests.app.object_store import serve_google_objects

TABLE = pa.table({"a": [1, 2, None, 4], "b": ["x", None, "y", "x"]})


@pytest.fixture(scope="module")
def server():
    with serve_google_objects() as store:
        yield store


@pytest.fixture
def store(server, monkeypatch):
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server


@pytest.mark.parametrize("address", ["clinic/parts", "clinic/parts/*.parquet"])
def test_files_of_a_bucket_are_one_table(store, address):
    store.write("parts/b.parquet", TABLE.slice(2))
    store.write("parts/a.parquet", TABLE.slice(0, 2))

    streamed = open_table(f"gs://anonymous@{address}")

    assert [file.name for file in streamed.files] == ["a.parquet", "b.parquet"]
    assert np.array_equal(streamed["a"], [1, 2, np.nan, 4], equal_nan=True)
    assert streamed.read_rows(1, 3, ["b"])["b"].tolist() == [None, "y"]


def test_an_object_that_is_written_anew_is_told_by_its_generation(store):
    store.write("one.parquet", TABLE)
    streamed = open_table("gs://anonymous@clinic/one.parquet")
    assert streamed.files[0].version

    store.write("one.parquet", TABLE)

    with pytest.raises(RefusedError, match=r"one\.parquet: must stay as it is"):
        streamed["a"]


@pytest.mark.usefixtures("store")
def test_a_place_that_is_none_is_refused_by_its_address():
    with pytest.raises(RefusedError, match="must be a place that can be read"):
        open_table("gs://anonymous@clinic/nothing")
