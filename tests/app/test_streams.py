"""Tables read piece by piece are what they are read whole."""

import datetime
import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.app.uploads import read_table
from askless.app.uploads.streams import HeldTable, open_table
from askless.core.errors import RefusedError
from tests.levels import at_most

DAY = datetime.date(2026, 11, 23)
KINDS = {
    "float": pa.array([1.5, None, -0.0, float("nan"), 1e300, 7.0]),
    "float32": pa.array([1.5, None, 0.1, 2.0, 3.0, 4.0], pa.float32()),
    "whole": pa.array([1, 2, None, 2**53 + 1, -5, 0]),
    "small": pa.array([1, 2, None, 3, 4, 5], pa.int8()),
    "decimal": pa.array(["1.10", None, "2.20", "0", "5", "6"]).cast(
        pa.decimal128(8, 2)
    ),
    "nothing": pa.nulls(6),
    "words": pa.array(["a", None, " b", "a", "NA", "c"]),
    "numbers in words": pa.array(["1", " 2 ", None, "n/a", "-", "3.5"]),
    "gaps, then numbers": pa.array(["-", "-", "n/a", "4", "5", "6"]),
    "numbers, then a word": pa.array(["1", "2", "3", "4", "5", "x"]),
    "gaps alone": pa.array(["-", None, "-", "-", "-", "-"]),
    "coded": pa.array(["u", "v", None, "u", "u", "w"]).dictionary_encode(),
    "large": pa.array(["u", "v", None, "7", "u", "w"], pa.large_string()),
    "flag": pa.array([True, None, False, True, True, False]),
    "day": pa.array([DAY, None, DAY, DAY, DAY, DAY]),
    "bytes": pa.array([b"u", b"v", None, b"u", b"u", b"w"]),
}
TABLE = pa.table(KINDS)


def write(path, table=TABLE, group=2):
    pyarrow.parquet.write_table(table, path, row_group_size=group)
    return path


def held(path, text=()):
    return HeldTable(read_table(path), text)


def same(one, other):
    assert one.dtype == other.dtype
    if one.dtype == np.float64:
        assert one.tobytes() == other.tobytes()
    else:
        assert one.tolist() == other.tolist()


def refused(work):
    with pytest.raises(RefusedError) as caught:
        work()
    return str(caught.value)


@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("name", KINDS)
def test_column_is_what_the_whole_table_has(name, group, tmp_path):
    path = write(tmp_path / "t.parquet", group=group)

    streamed = open_table(path)

    assert (streamed.n_rows, list(streamed)) == (6, list(KINDS))
    same(streamed[name], held(path)[name])


def test_cells_wanted_as_written_are_so(tmp_path):
    path = write(tmp_path / "t.parquet")

    column = open_table(path, ["numbers in words"])["numbers in words"]

    assert column.tolist() == ["1", " 2 ", None, "n/a", "-", "3.5"]


@at_most(40)
@given(st.data())
def test_rows_are_those_of_the_whole_column(tmp_path_factory, data):
    group = data.draw(st.integers(1, 6))
    start = data.draw(st.integers(0, 5))
    stop = data.draw(st.integers(start + 1, 6))
    path = write(tmp_path_factory.mktemp("rows") / "t.parquet", group=group)
    text = data.draw(st.sets(st.sampled_from(["whole", "numbers in words"])))

    found = open_table(path, text).read_rows(start, stop, KINDS)

    for name, column in held(path, text).items():
        same(found[name], column[start:stop])


def test_a_folder_of_files_is_one_table_in_the_order_of_their_names(tmp_path):
    (tmp_path / "year=2").mkdir()
    write(tmp_path / "b.parquet", TABLE.slice(2, 3))
    write(tmp_path / "a.parquet", TABLE.slice(0, 2))
    write(tmp_path / "year=2" / "c.pq", TABLE.slice(5, 1))
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("no table")
    write(tmp_path / ".hidden.parquet")
    whole = write(tmp_path.parent / f"{tmp_path.name}.parquet")

    streamed = open_table(tmp_path)

    assert [file.name for file in streamed.files] == ["a.parquet", "b.parquet", "c.pq"]
    assert [(span.start, span.stop) for span in streamed.spans] == [
        *[(0, 2), (2, 4), (4, 5), (5, 6)]
    ]
    for name, column in held(whole).items():
        same(streamed[name], column)
        same(streamed.read_rows(1, 6, [name])[name], column[1:6])


def test_an_address_with_a_star_names_some_files_of_a_folder(tmp_path):
    for name in ("a-1.parquet", "a-2.parquet", "b-1.parquet"):
        write(tmp_path / name)

    streamed = open_table(f"file://{tmp_path}/a-*.parquet")

    assert [file.name for file in streamed.files] == ["a-1.parquet", "a-2.parquet"]
    assert open_table(f"file://{tmp_path}/b-1.parquet").n_rows == 6


@pytest.mark.parametrize(
    ("other", "rule"),
    [
        (
            TABLE.drop_columns(["day", "flag"]),
            "must have the columns of a.parquet; found not so: day, flag",
        ),
        (
            TABLE.set_column(2, "whole", KINDS["words"]),
            "column whole must be int64, as in a.parquet; found string",
        ),
    ],
    ids=["names", "types"],
)
def test_a_file_of_other_columns_or_types_is_refused(tmp_path, other, rule):
    write(tmp_path / "a.parquet")
    write(tmp_path / "b.parquet", other)

    assert refused(lambda: open_table(tmp_path)) == f"table b.parquet: {rule}"


def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path):
    path = write(tmp_path / "t.parquet")
    streamed = open_table(path)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size - 10)

    told = refused(lambda: streamed["whole"])

    assert told == (
        "table t.parquet: must stay as it is while it is read; found "
        f"{size - 10:,} bytes, {size:,} bytes before"
    )


def test_a_file_that_is_gone_or_written_anew_is_refused(tmp_path):
    path = write(tmp_path / "t.parquet")
    streamed = open_table(path)
    written = path.stat().st_mtime_ns
    os.utime(path, ns=(written + 10**9, written + 10**9))
    assert "found written anew" in refused(lambda: streamed["whole"])
    path.unlink()

    assert "found gone" in refused(lambda: streamed.read_rows(0, 1, ["whole"]))


@pytest.mark.parametrize("is_cut", [True, False])
def test_what_is_no_whole_parquet_file_is_refused_by_its_name(tmp_path, is_cut):
    path = write(tmp_path / "t.parquet")
    content = path.read_bytes()
    broken = content[:4] + os.urandom(196) + content[200:]
    path.write_bytes(content[:-20] if is_cut else broken)

    told = refused(lambda: open_table(path)["float"])

    assert "table t.parquet: must be a whole Parquet file" in told


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("ftp://elsewhere/t.parquet", "addresses begin with s3://"),
        ("file:///nowhere/t.parquet", "/nowhere/t.parquet"),
        ("file:///nowhere/*.parquet", "/nowhere"),
    ],
)
def test_a_place_that_is_none_is_refused(source, words):
    assert words in refused(lambda: open_table(source))


def test_a_folder_without_a_table_is_refused(tmp_path):
    told = refused(lambda: open_table(tmp_path))

    assert "must hold a Parquet file, its name ending in .parquet" in told


def test_columns_of_lists_are_refused_once_they_are_asked_for(tmp_path):
    path = write(tmp_path / "t.parquet", pa.table({"a": [1], "b": [[1, 2]]}))

    streamed = open_table(path)

    assert streamed["a"].tolist() == [1]
    assert "column b: must hold numbers, words" in refused(lambda: streamed["b"])


def test_names_are_tidied_and_never_stand_twice(tmp_path):
    path = write(tmp_path / "t.parquet", pa.table([[1], [2]], names=[" a ", ""]))
    assert list(open_table(path)) == ["a", "Unnamed: 1"]
    twice = write(tmp_path / "u.parquet", pa.table([[1], [2]], names=["a", "a "]))

    assert "column 'a': names must be unique" in refused(lambda: open_table(twice))


def test_table_is_sent_to_another_process(tmp_path):
    streamed = open_table(write(tmp_path / "t.parquet"))
    streamed.decide_types(["gaps, then numbers"])

    there = pickle.loads(pickle.dumps(streamed))

    found = there.read_rows(1, 5, ["gaps, then numbers"])
    assert found["gaps, then numbers"][2:].tolist() == ["4", "5"]


def test_cells_are_had_as_the_file_has_them(tmp_path):
    streamed = open_table(write(tmp_path / "t.parquet"))

    for name, cells in KINDS.items():
        found = streamed.read_cells(1, 5, name)
        assert repr(found.to_pylist()) == repr(cells[1:5].to_pylist())
    assert len(streamed.read_cells(0, 0, "whole")) == 0


CELLS = st.sampled_from(["1", " 2.5 ", "nan", "-nan", "-", "n/a", "inf", "x", None])


@given(st.lists(CELLS, min_size=1, max_size=6), st.integers(1, 3), st.booleans())
def test_groups_of_texts_are_numbers_where_the_whole_is(
    tmp_path_factory, cells, group, is_text
):
    table = pa.table({"a": pa.array(cells, pa.string())})
    path = write(tmp_path_factory.mktemp("cells") / "t.parquet", table, group)
    text = ["a"] if is_text else []

    streamed, whole = open_table(path, text), held(path, text)["a"]

    same(streamed.read_rows(0, 1, ["a"])["a"], whole[:1])
    same(streamed["a"], whole)
    same(streamed.read_rows(0, len(cells), ["a"])["a"], whole)


def test_a_file_replaced_while_a_column_is_read_is_refused(tmp_path):
    for name in ("a.parquet", "b.parquet"):
        write(tmp_path / name)
    streamed = open_table(tmp_path)
    reading = streamed._read_cells("whole")
    next(reading)
    later = tmp_path / "later"
    write(later, TABLE.slice(1))
    later.rename(tmp_path / "a.parquet")

    assert "table a.parquet: must stay as it is" in refused(lambda: list(reading))


def test_a_table_of_no_rows_has_columns_without_cells(tmp_path):
    streamed = open_table(write(tmp_path / "t.parquet", TABLE.slice(0, 0)))

    assert streamed.n_rows == 0
    assert [len(column) for column in streamed.values()] == [0] * len(KINDS)
    assert len(streamed.read_rows(0, 0, ["day"])["day"]) == 0
