import bz2
import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from askless.app.documents.spec.spec import read_spec
from askless.app.uploads import Bounds
from askless.app.uploads.checking import check_columns
from askless.app.uploads.streams import open_table, read_columns
from askless.core.errors import RefusedError


def read(content, text=()):
    return read_columns(io.BytesIO(content), text)


def refused(content):
    with pytest.raises(RefusedError) as caught:
        read(content)
    return str(caught.value)


def test_wanted_text_stays_as_written():
    assert read(b"zip\n01\n02\n", ["zip"])["zip"].tolist() == ["01", "02"]


def test_empty_cells_are_missing_and_words_stay_for_the_spec_to_judge():
    columns = read(b"a,b\n,\n1,x\nNA,?\n")

    assert np.array_equal(columns["a"], [np.nan, 1, np.nan], equal_nan=True)
    assert columns["b"].tolist() == [None, "x", "?"]


@pytest.mark.parametrize("gap", ["-", "None", "n/a", " NA ", ".", "#N/A", "missing"])
def test_gaps_among_numbers_are_missing(gap):
    columns = read(f"a\n1\n{gap}\n2\n".encode())

    assert np.array_equal(columns["a"], [1, np.nan, 2], equal_nan=True)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_and_decimal_commas_are_read(separator):
    rows = ["a;b;c", "1,5;x,y;2", " -2,25 ;z;n/a"]

    columns = read("\n".join(rows).replace(";", separator).encode())

    assert columns["a"].tolist() == [1.5, -2.25]
    assert columns["b"].tolist() == ["x,y", "z"]
    assert np.array_equal(columns["c"], [2, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a,b\n1, x\n 2 ,y\n", {"a": [1, 2], "b": [" x", "y"]}),
        (b"a\n-\n-\n", {"a": ["-", "-"]}),
        (b"a\n1\n$5\n", {"a": ["1", "$5"]}),
        (b" a ,b\t\n1,2\n", {"a": [1], "b": [2]}),
        (b",a, \n1,2,3\n", {"Unnamed: 0": [1], "a": [2], "Unnamed: 2": [3]}),
        (b"a,b;c\n1,2\n", {"a": [1], "b;c": [2]}),
        (b'a,b\n"x\ny",2\n', {"a": ["x\ny"], "b": [2]}),
        ("\ufeffa,b\n1,é\n".encode(), {"a": [1], "b": ["é"]}),
        (
            "a;b\n€ 12,50;1,5 %\n€ 3,25;size 12,5\n".encode(),
            {"a": ["€ 12.50", "€ 3.25"], "b": ["1.5 %", "size 12,5"]},
        ),
        # A comma between thousands is no decimal comma.
        (
            b"a;b\n1,234;1,234\n1,234.5;2,5\n",
            {"a": ["1,234", "1,234.5"], "b": [1.234, 2.5]},
        ),
        (
            "a;b\n1 234,50;\u22125,2\n-7,5;(3,25)\n".encode(),
            {"a": ["1 234.50", "-7.5"], "b": ["\u22125.2", "(3.25)"]},
        ),
        (b"a|b\n1|2\n", {"a": [1], "b": [2]}),
        # Names have what can be printed of them.
        (
            '"a\r\nb",c\0,d\u200be,\u00a0f\u00a0g\n1,2,3,4\n'.encode(),
            {"a b": [1], "c": [2], "de": [3], "f g": [4]},
        ),
        (b'a;"b, c"\n1;2\n3;4\n', {"a": [1, 3], "b, c": [2, 4]}),
        (b"sep=;\r\na;b,c\r\n1,5;2\r\n", {"a": [1.5], "b,c": [2]}),
        ("a,b\n1,2\n".encode("utf-16"), {"a": [1], "b": [2]}),
        ("\ufeffa,b\n1,2\n".encode("utf-16-be"), {"a": [1], "b": [2]}),
        ("a,b\n1,2\n".encode("utf-16-le"), {"a": [1], "b": [2]}),
        (bz2.compress(b"a\n1\n"), {"a": [1]}),
        (
            gzip.compress(b"a\n1\n", mtime=0) + gzip.compress(b"2\n", mtime=0),
            {"a": [1, 2]},
        ),
    ],
)
def test_ways_to_write_a_table_are_recognised(content, expected):
    columns = read(content)

    assert {name: cells.tolist() for name, cells in columns.items()} == expected


def test_compressed_file_is_read(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\n1\n", mtime=0))

    assert read_columns(path)["a"].tolist() == [1]


def test_parquet_keeps_its_types(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "n": pa.array([1, None, 3]),
            "b": [True, False, None],
            "c": pa.array(["x", "y", None]).dictionary_encode(),
            "z": pa.array([None, None, None]),
        }
    )
    pyarrow.parquet.write_table(table, path)

    columns = read_columns(path)

    assert np.array_equal(columns["n"], [1, np.nan, 3], equal_nan=True)
    assert columns["b"].tolist() == ["true", "false", None]
    assert columns["c"].tolist() == ["x", "y", None]
    assert np.isnan(columns["z"]).all()


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n" + b"x" * 3_500_000 + b",2\n1,2\n",
        b",".join(b"c%01500d" % i for i in range(999)) + b"\n" + b"1," * 998 + b"2",
    ],
    ids=["row", "header"],
)
def test_lines_longer_than_a_block_are_read(content):
    columns = read(content)

    assert list(columns.values())[-1].tolist()[-1] == 2


def parquet(n_rows, n_columns):
    file = io.BytesIO()
    table = pa.table({f"c{i}": pa.array([0] * n_rows) for i in range(n_columns)})
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "needed"),
    [
        (parquet(10_000, 5), 400_000),
        (b"a,b\n" + b"1,2\n" * 10_000, 40_000),
        (b",".join([b"c%d" % i for i in range(1000)]) + b"\n", 1_000_000),
    ],
    ids=["Parquet", "long CSV", "wide CSV"],
)
def test_table_that_does_not_fit_is_refused_before_it_is_read(content, needed):
    with pytest.raises(RefusedError) as caught:
        read_columns(io.BytesIO(content), bounds=Bounds(memory=needed - 1))

    (refusal,) = caught.value.refusals
    assert refusal.field == "table"
    assert refusal.rule.startswith("reading must fit the memory; it needs 0.0 GB, and")
    assert read_columns(io.BytesIO(content), bounds=Bounds(memory=100 * needed))


def test_file_that_does_not_fit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n1\n")

    with pytest.raises(RefusedError, match="reading must fit the memory"):
        read_columns(path, bounds=Bounds(memory=3))


class Exhausted(io.BytesIO):
    """An upload that no memory is left for."""

    def read(self, *_):
        raise MemoryError("malloc of size 7 failed")


def test_memory_that_runs_out_while_reading_is_told():
    with pytest.raises(RefusedError, match="reading must fit the memory; found malloc"):
        read_columns(Exhausted())


def parquet_of(**columns):
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def test_columns_of_lists_are_refused_by_name():
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": [[1]], "b": [1], "c": [{"x": 1}]}), file)
    file.seek(0)

    with pytest.raises(RefusedError) as caught:
        read_columns(file)

    assert [refusal.field for refusal in caught.value.refusals] == [
        "column a",
        "column c",
    ]
    assert "must hold numbers, words, days" in str(caught.value)


def test_binary_cells_are_words_where_they_are_text():
    columns = read(parquet_of(a=[b"x", None, b"1"], b=[b"1", None, b"2"]))

    assert columns["a"].tolist() == ["x", None, "1"]
    assert columns["b"].tolist() == ["1", None, "2"]
    with pytest.raises(RefusedError, match="column c: must hold numbers, words"):
        read(parquet_of(c=[b"\xff"]))


def test_words_of_many_categories_keep_their_rows():
    words = [f"w{row % 128}" for row in range(200)]
    coded = (
        pa.array(words).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    )

    assert read(parquet_of(a=coded))["a"].tolist() == words


def test_of_columns_without_a_part_nothing_is_read():
    table = open_table(io.BytesIO(parquet_of(a=[1, 2], b=[[1], [2]], y=[0, 1])))

    checked = check_columns(table, read_spec({"target": "y", "ignore": ["b"]}))

    assert checked.dataset.values.tolist() == [[1.0], [2.0]]


BOUNDS = Bounds(columns=3, rows=4, cell_bytes=5, unpacked_bytes=100, memory=10**9)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b,c,d\n1,2,3,4\n", "table: must have at most 3 columns; it has 4"),
        (b"a\n" + b"1\n" * 5, "table: must have at most 4 rows; it has 5"),
        (b"a,b\n1,x\n2,xxxxxx\n", "column b: a cell may have at most 5 bytes; is a"),
        (b"a" * 4000, "table: must have a first line, its header, of at most 3,072 by"),
        (gzip.compress(b"0" * 101, mtime=0), "table: must unpack to at most 100 bytes"),
    ],
    ids=["columns", "rows", "cell", "line", "gzip"],
)
def test_more_than_may_be_is_refused(content, words):
    with pytest.raises(RefusedError, match=words):
        read_columns(io.BytesIO(content), bounds=BOUNDS)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({name: [1] for name in "abcd"}, "at most 3 columns; it has 4"),
        ({"a": [1] * 5}, "at most 4 rows; it has 5"),
        ({"a": ["x" * 2_000_000] * 4}, "column a: a cell may have at most 5 bytes"),
    ],
    ids=["columns", "rows", "cell"],
)
def test_parquet_of_more_than_may_be_is_refused(columns, words):
    with pytest.raises(RefusedError, match=words):
        read_columns(io.BytesIO(parquet_of(**columns)), bounds=BOUNDS)


def test_rows_of_long_cells_are_named():
    table = {"a": ["x", "xxxxxx", None, "xxxxxxx"]}

    with pytest.raises(RefusedError) as caught:
        read_columns(io.BytesIO(parquet_of(**table)), bounds=BOUNDS)

    assert [refusal.rows for refusal in caught.value.refusals] == ["row 2 and more"]


def test_rows_of_another_length_are_not_all_looked_at():
    assert "found 1000 or more rows of another" in refused(b"a,b\n" + b"1\n" * 2000)


def test_rows_with_one_cell_more_are_refused_with_what_to_do():
    names_of_rows = refused(b"a,b\n1,2,3\n4,5,6\n")
    above = refused(b"Export\na,b\n1,2\n")

    assert "name the column of row names, or end no row with a sep" in names_of_rows
    assert "take away what stands above it" in above


def test_ragged_rows_are_named():
    found = refused(b"a,b\n1,2\n1,2,3\n1\n4,5\n")

    assert "row 2: must have 2 cells; found 3" in found
    assert "row 3: must have 2 cells; found 1" in found


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,a\n1,2\n", "names must be unique"),
        (b"a, a\n1,2\n", "names must be unique"),
        (b"", "the file is empty"),
        (b"a\n\xff\xfe\n", "must be CSV in UTF-8"),
        (b'a\n"' + b"x" * 10 + b"\xff", "must be CSV in UTF-8"),
        (b"n" * 200_000 + b"\n1\n", "must be CSV in UTF-8"),
        ("a\n1\n\u00e9\n".encode("latin-1"), "line 3 is in another encoding"),
        (b"PK\x03\x04sheet", "is an Excel workbook or another ZIP archive: save it"),
        (gzip.compress(b"a\n1\n" * 99, mtime=0)[:20], "must be readable"),
        (b"PAR1 and then nothing", "whole Parquet file"),
    ],
)
def test_what_is_no_table_is_refused(content, words):
    assert words in refused(content)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(RefusedError, match="must be readable"):
        read_columns(tmp_path / "nothing.csv")
