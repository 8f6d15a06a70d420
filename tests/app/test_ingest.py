import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from app.ingest import read_columns
from core.errors import RefusedError


def read(content, text=()):
    return read_columns(io.BytesIO(content), text)


def refused(content):
    with pytest.raises(RefusedError) as caught:
        read(content)
    return str(caught.value)


def test_numbers_become_floats_and_other_cells_text():
    columns = read(b"a,b\n1, x\n 2 ,y\n")

    assert columns["a"].tolist() == [1, 2]
    assert columns["b"].tolist() == [" x", "y"]


def test_wanted_text_stays_as_written():
    assert read(b"zip\n01\n02\n", ["zip"])["zip"].tolist() == ["01", "02"]


def test_empty_cells_and_missing_words_are_missing():
    columns = read(b"a,b\n,\n1,x\nNA,?\n")

    assert np.array_equal(columns["a"], [np.nan, 1, np.nan], equal_nan=True)
    assert columns["b"].tolist() == [None, "x", None]


@pytest.mark.parametrize("gap", ["-", "None", "n/a", " NA ", ".", "#N/A", "missing"])
def test_gaps_among_numbers_are_missing(gap):
    columns = read(f"a\n1\n{gap}\n2\n".encode())

    assert np.array_equal(columns["a"], [1, np.nan, 2], equal_nan=True)


@pytest.mark.parametrize("cells", ["-\n-", "1\n$5"])
def test_cells_that_are_no_numbers_stay_as_written(cells):
    assert read(f"a\n{cells}\n".encode())["a"].tolist() == cells.split("\n")


def test_white_space_around_names_is_no_part_of_them():
    assert list(read(b" a ,b\t\n1,2\n")) == ["a", "b"]


def test_columns_without_a_name_are_called_as_pandas_calls_them():
    assert list(read(b",a, \n1,2,3\n")) == ["Unnamed: 0", "a", "Unnamed: 2"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_and_decimal_commas_are_read(separator):
    rows = ["a;b;c", "1,5;x,y;2", " -2,25 ;z;n/a"]

    columns = read("\n".join(rows).replace(";", separator).encode())

    assert columns["a"].tolist() == [1.5, -2.25]
    assert columns["b"].tolist() == ["x,y", "z"]
    assert np.array_equal(columns["c"], [2, np.nan], equal_nan=True)


def test_comma_separates_where_the_header_has_one():
    assert list(read(b"a,b;c\n1,2\n")) == ["a", "b;c"]


def test_line_breaks_within_quotes_belong_to_the_cell():
    assert read(b'a,b\n"x\ny",2\n')["a"].tolist() == ["x\ny"]


def test_byte_order_mark_is_no_part_of_a_name():
    assert list(read("\ufeffa,b\n1,é\n".encode())) == ["a", "b"]


def test_compressed_file_is_read(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\n1\n"))

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
        b",".join(b"c%0300d" % i for i in range(5000)) + b"\n" + b"1," * 4999 + b"2",
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
        read_columns(io.BytesIO(content), memory=needed - 1)

    (refusal,) = caught.value.refusals
    assert refusal.field == "table"
    assert refusal.rule.startswith("reading must fit the memory; it needs 0.0 GB, and")
    assert read_columns(io.BytesIO(content), memory=100 * needed)


def test_file_that_does_not_fit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n1\n")

    with pytest.raises(RefusedError, match="reading must fit the memory"):
        read_columns(path, memory=3)


class Exhausted(io.BytesIO):
    """An upload that no memory is left for."""

    def read(self, *_):
        raise MemoryError("malloc of size 7 failed")


def test_memory_that_runs_out_while_reading_is_told():
    with pytest.raises(RefusedError, match="reading must fit the memory; found malloc"):
        read_columns(Exhausted())


def test_columns_of_lists_are_refused_by_name():
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": [[1]], "b": [1], "c": [{"x": 1}]}), file)
    file.seek(0)

    with pytest.raises(RefusedError) as caught:
        read_columns(file)

    assert [one.field for one in caught.value.refusals] == ["column a", "column c"]
    assert "must hold numbers, words, days" in str(caught.value)


def test_ragged_rows_are_named():
    found = refused(b"a,b\n1,2\n1,2,3\n1\n4,5\n")

    assert "row 2: must have 2 cells; found 3" in found
    assert "row 3: must have 2 cells; found 1" in found


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,a\n1,2\n", "names must be unique"),
        (b"a, a\n1,2\n", "names must be unique"),
        (b"", "must be CSV in UTF-8"),
        (b"a\n\xff\xfe\n", "must be CSV in UTF-8"),
        (b'a\n"' + b"x" * 10 + b"\xff", "must be CSV in UTF-8"),
        (b"n" * 200_000 + b"\n1\n", "must be CSV in UTF-8"),
        (b"PAR1 and then nothing", "whole Parquet file"),
    ],
)
def test_what_is_no_table_is_refused(content, words):
    assert words in refused(content)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(RefusedError, match="must be readable"):
        read_columns(tmp_path / "nothing.csv")
