"""Large CSV, read block by block, is what it is read whole."""

import bz2
import gzip
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.app.documents.spec.spec import read_spec
from askless.app.uploads import Bounds, places, read_table, scratch
from askless.app.uploads.checking import read_training
from askless.app.uploads.scratch import DESCRIPTORS, write_scratch
from askless.app.uploads.streams import (
    HeldTable,
    StreamedTable,
    open_table,
    read_columns,
)
from askless.core.errors import RefusedError

ROWS = "".join(f'{i},{i % 7 or "-"},w{i % 3},"a\nb"\n' for i in range(200))
TABLES = {
    "plain": f"n,gap,word,lines\n{ROWS}".encode(),
    "mark": b"\xef\xbb\xbfa,b\n1,x\n",
    "semicolons": b"a;b\n1,5;x\n2,25;y,z\n",
    "thousands late": b"a;b\n" + b"1,234;x\n" * 300 + b"1,234.5;y\n",
    "tabs": b"a\tb\n1\tx\n",
    "named": b"sep=|\r\na|b\r\n1|2\r\n",
    "utf-16": "a,b\n1,é\n".encode("utf-16"),
    "utf-16 without a mark": "a,b\n1,é\n".encode("utf-16-le"),
    "gzip": gzip.compress(b"a,b\n1,2\n" * 50),
    "bz2": bz2.compress(b"a,b\n1,2\n3,4\n"),
    "names": b" a ,,b\n1,2,3\n",
    "one column": b"a\n1\n\n2\n",
    "header alone": b"a,b\n",
    "quotes": b'a,b\n"1","x ""y"""\n',
    "words late": b"a\n" + b"1\n" * 400 + b"x\n",
    "long line": b"a,b\n1," + b"x" * 3000 + b"\n",
    "ragged": b"a,b\n" + b"1,2\n" * 300 + b"1,2,3\n1\n",
    "many ragged": b"a,b\n" + b"1\n" * 3000,
    "other encoding": b"a,b\n" + b"1,2\n" * 300 + b"1,\xe9\n",
    "twice": b"a,a\n1,2\n",
    "nothing": b"",
    "workbook": b"PK\x03\x04 and so on",
    "open quote": b'a,b\n1,"x\n' + b"2,3\n" * 500,
}


def whole(path, text=()):
    try:
        return read_columns(path, text)
    except RefusedError as error:
        return str(error)


def streamed(path, text=(), block=512):
    try:
        file, release = write_scratch(path, Bounds(), block)
        table = StreamedTable([file], text, Bounds(), is_coded=False)
        found = {name: table[name] for name in table}
        release()
    except RefusedError as error:
        return str(error)
    return found


def assert_same(found, expected):
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, str):
        assert found == expected
        return
    assert list(found) == list(expected)
    for name, column in expected.items():
        assert found[name].dtype == column.dtype
        np.testing.assert_array_equal(found[name], column)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("block", [256, 1 << 20])
def test_each_table_is_what_the_whole_is(name, block, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TABLES[name])

    assert_same(streamed(path, block=block), whole(path))
    assert_same(streamed(path, ["a", "n"], block), whole(path, ["a", "n"]))


@pytest.mark.parametrize("name", ["ragged", "semicolons"])
def test_rows_of_another_length_are_skipped_as_in_the_whole(name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TABLES[name])
    whole_skipped, skipped = [], []

    n_rows = read_table(path, Bounds(), whole_skipped).num_rows
    file, release = write_scratch(path, Bounds(), 512, skipped)

    assert skipped == whole_skipped
    assert len(skipped) == 2 * (name == "ragged")
    assert StreamedTable([file], (), Bounds(), is_coded=False).n_rows == n_rows
    release()


def test_commas_that_a_late_block_explains_are_read_as_in_the_whole(
    tmp_path, monkeypatch
):
    path = tmp_path / "t.csv"
    path.write_bytes(TABLES["thousands late"])
    monkeypatch.setattr(scratch, "GROUP", 1)

    assert_same(streamed(path, block=256), whole(path))


CELL = st.sampled_from(["1", "2,5", "-", "", "NA", "x", " y ", '"q\n"', "é", "1;2"])


@given(
    st.lists(st.lists(CELL, min_size=1, max_size=3), min_size=1, max_size=12),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from([64, 200]),
)
def test_any_table_is_what_the_whole_is(
    tmp_path_factory, rows, separator, encoding, block
):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    lines = ["a" + separator + "b", *(separator.join(row) for row in rows), ""]
    path.write_bytes("\n".join(lines).encode(encoding))

    assert_same(streamed(path, block=block), whole(path))


@pytest.fixture
def look(monkeypatch):
    """How many characters are looked at: fewer than are."""
    monkeypatch.setattr(scratch, "LOOK", 1 << 16)
    return scratch.LOOK


def test_a_table_longer_than_what_is_looked_at_is_the_same(tmp_path, look):
    path = tmp_path / "t.csv"
    row = b"1;2,5;" + b"w" * 990 + "é\n".encode()
    path.write_bytes(b"a;b;c\n" + row * (look // len(row) + 10))

    assert_same(streamed(path, block=1 << 12), whole(path))


def test_a_header_longer_than_what_is_looked_at_is_read_whole(tmp_path, look):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1," + b"x" * look + b"\n2,y\n")

    assert_same(streamed(path), whole(path))


def test_large_tables_alone_are_copied(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(TABLES["plain"]))
    assert isinstance(open_table(path), HeldTable)
    monkeypatch.setattr(places, "LARGE_CSV", 100)

    table = open_table(path)

    assert not isinstance(table, HeldTable)
    assert table.read_rows(1, 3, ["gap"])["gap"].tolist() == [1, 2]
    assert_same(dict(table), whole(path))


def test_nothing_is_left_of_the_copy(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(places, "LARGE_CSV", 100)
    (tmp_path / "scratch").mkdir()
    for name in ("plain", "ragged", "nothing"):
        (tmp_path / name).write_bytes(TABLES[name])
    left = {True: [], False: [1]}[DESCRIPTORS.is_dir()]

    table = open_table(tmp_path / "plain")

    assert len(list((tmp_path / "scratch").iterdir())) == len(left)
    descriptor = Path(table.files[0].path)
    assert descriptor.exists()
    del table
    assert not descriptor.exists()
    assert "must have 2 cells" in str(streamed(tmp_path / "ragged"))
    assert os.listdir(tmp_path / "scratch") == []


def test_a_training_reads_a_large_csv_to_the_same(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    rows = (f"{i % 13},{i % 5},{int(i % 13 > i % 5)}" for i in range(300))
    path.write_text("\n".join(["a,b,y", *rows, ""]))
    spec = read_spec({"name": "n", "target": "y"})
    monkeypatch.setattr(places, "LARGE_CSV", 100)

    prepared = read_training(path, spec)

    assert prepared.table.n_samples == 300
