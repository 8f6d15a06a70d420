"""Tables in object stores, read from servers of S3 and of Google's on this machine."""

import numpy as np
import pyarrow as pa
import pytest

from askless.app.uploads.streams import open_table
from askless.core.errors import RefusedError
from tests.app.object_store import serve_google_objects, serve_objects

TABLE = pa.table({"a": [1, 2, None, 4], "b": ["x", None, "y", "x"]})


@pytest.fixture(scope="module", params=[serve_objects, serve_google_objects])
def server(request):
    with request.param() as store:
        yield store


@pytest.fixture
def store(server, monkeypatch):
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server


def refused(work):
    with pytest.raises(RefusedError) as caught:
        work()
    return str(caught.value)


@pytest.mark.parametrize("address", ["clinic/parts", "clinic/parts/*.parquet"])
def test_files_of_a_bucket_are_one_table(store, address):
    store.write("parts/b.parquet", TABLE.slice(2))
    store.write("parts/a.parquet", TABLE.slice(0, 2))
    store.write_bytes("parts/_SUCCESS", b"")

    streamed = open_table(store.scheme + address)

    assert [file.name for file in streamed.files] == ["a.parquet", "b.parquet"]
    assert np.array_equal(streamed["a"], [1, 2, np.nan, 4], equal_nan=True)
    assert streamed["b"].tolist() == ["x", None, "y", "x"]
    assert streamed.read_rows(1, 3, ["b"])["b"].tolist() == [None, "y"]


def test_an_object_of_the_same_size_and_time_is_told_by_its_version(store):
    store.write("one.parquet", TABLE)
    streamed = open_table(store.scheme + "clinic/one.parquet")
    other = TABLE.set_column(0, "a", pa.array([5, 2, None, 4]))

    store.write("one.parquet", other)

    told = refused(lambda: streamed["a"])
    assert told.startswith("table one.parquet: must stay as it is while it is read")


def test_an_object_that_is_gone_is_refused(store):
    store.write("gone.parquet", TABLE)
    streamed = open_table(store.scheme + "clinic/gone.parquet")
    store.remove("gone.parquet")

    assert "table gone.parquet: must stay as it is" in refused(lambda: streamed["a"])


def test_an_object_without_its_footer_is_refused(store):
    store.write("cut.parquet", TABLE)
    store.write_bytes("cut.parquet", store.read_bytes("cut.parquet")[:-20])

    told = refused(lambda: open_table(store.scheme + "clinic/cut.parquet"))

    assert told.startswith("table cut.parquet: must be a whole Parquet file")


@pytest.mark.parametrize("address", ["nobody/x", "clinic/nothing"])
def test_a_place_that_is_none_is_refused_by_its_address(store, address):
    told = refused(lambda: open_table(store.scheme + address))

    assert told.startswith("table: must be a place that can be read")
    assert address in told
