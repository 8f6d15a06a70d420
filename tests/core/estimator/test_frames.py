import datetime
from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pytest

from askless.core.errors import RefusedError
from askless.core.estimator.frames import (
    CellTypeError,
    NumberColumns,
    array_columns,
    frame_columns,
    is_frame,
    mapped_columns,
    stack_columns,
)
from askless.core.table.cells import write_cell

MESSY = {
    "age": [63, None, 41],
    "share": [0.5, float("nan"), 2.0],
    "sex": ["male", None, "female"],
    "smokes": [True, None, False],
    "day": [datetime.date(2020, 1, 31), None, datetime.date(2021, 2, 1)],
}


def make_frame(library, columns):
    if library == "pyarrow":
        return pa.table(columns)
    return pytest.importorskip(library).DataFrame(columns)


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_columns_of_a_frame_are_numbers_or_texts(library):
    columns = frame_columns(make_frame(library, MESSY))

    assert [*columns] == [*MESSY]
    np.testing.assert_array_equal(columns["age"], [63.0, np.nan, 41.0])
    np.testing.assert_array_equal(columns["share"], [0.5, np.nan, 2.0])
    assert columns["sex"].tolist() == ["male", None, "female"]
    assert columns["smokes"].tolist() == ["true", None, "false"]
    assert columns["day"].tolist() == ["2020-01-31", None, "2021-02-01"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_of_a_frame_are_their_texts(library):
    made = pytest.importorskip(library)
    kind = "category" if library == "pandas" else made.Categorical
    frame = made.DataFrame({"sex": made.Series(["a", None, "b"], dtype=kind)})

    assert frame_columns(frame)["sex"].tolist() == ["a", None, "b"]


def test_cells_of_several_types_are_their_texts():
    cells = np.array([["a", 1, True], ["b", 2.5, 3], [None, Decimal(4), "x"]], object)

    columns = array_columns(cells)

    assert columns["0"].tolist() == ["a", "b", None]
    np.testing.assert_array_equal(columns["1"], [1.0, 2.5, 4.0])
    assert columns["2"].tolist() == ["true", "3", "x"]


def test_rows_that_are_lists_with_texts_are_columns():
    columns = array_columns([["a", 1], ["b", 2]])

    assert columns["0"].tolist() == ["a", "b"]
    np.testing.assert_array_equal(columns["1"], [1.0, 2.0])


@pytest.mark.parametrize("kind", ["U", "S", np.dtypes.StringDType()])
def test_texts_of_numpy_are_texts_of_any_type(kind):
    columns = array_columns(np.array([["a"], ["b"]]).astype(kind))

    assert columns["0"].tolist() == ["a", "b"]


def test_vast_whole_numbers_of_an_array_keep_their_digits():
    vast = np.array([[2**63 + 1, 5], [2**63, 5]], np.uint64)

    columns = array_columns(vast)

    assert columns["0"].tolist() == [str(2**63 + 1), str(2**63)]
    np.testing.assert_array_equal(columns["1"], [5.0, 5.0])
    assert array_columns(-vast.astype(np.float64)) is None
    assert array_columns(np.array([[-(2**60)], [1]]))["0"].tolist()[0] == str(-(2**60))


@pytest.mark.parametrize(
    "table", [[[1, 2], [3, 4]], np.eye(2), 5, "ab", ["a", "b"], [["a"], ["b", "c"]]]
)
def test_other_arrays_are_left_to_scikit_learn(table):
    assert array_columns(table) is None


def test_cell_that_is_no_value_is_refused_by_column_and_row():
    cells = np.array([["a"], [{"b": 1}]], object)

    with pytest.raises(CellTypeError, match=r"column 0: .* found \{'b': 1\} in row 2"):
        array_columns(cells)


def test_frame_that_is_not_collected_is_refused():
    lazy = nw.from_native(pa.table({"a": [1]})).lazy()

    with pytest.raises(RefusedError, match=r"X: must hold its rows: call collect\(\)"):
        is_frame(lazy)


def test_columns_of_one_name_in_a_frame_are_refused():
    table = pa.table([[1], [2]], names=["a", "a"])

    with pytest.raises(RefusedError, match="X: must have one column of each name"):
        frame_columns(table)


def test_lists_of_other_lengths_are_refused():
    with pytest.raises(RefusedError) as refused:
        mapped_columns({"a": [1, 2], "b": ["x"], "c": [1]}, ["a", "b", "c", "d"])

    assert str(refused.value).splitlines() == [
        "column b: must have 2 rows, as a has; found 1",
        "column c: must have 2 rows, as a has; found 1",
    ]


def test_mapped_lists_are_numbers_or_texts():
    given = {"a": [1, None], "b": ["x", None], "c": np.array([1, 2]), "d": [True, None]}

    columns = mapped_columns(given, given)

    np.testing.assert_array_equal(columns["a"], [1.0, np.nan])
    np.testing.assert_array_equal(columns["c"], [1.0, 2.0])
    assert columns["b"].tolist() == ["x", None]
    assert columns["d"].tolist() == ["true", None]


@pytest.mark.parametrize("given", [5, "abc", [[1], [2]], [1, [2], 3], None])
def test_column_that_is_no_list_is_refused(given):
    with pytest.raises(RefusedError, match="column a: must be a list of values"):
        mapped_columns({"a": given}, ["a"])


@pytest.mark.parametrize(
    ("cell", "text"),
    [(1, "1"), (1.0, "1"), (np.float64(0.5), "0.5"), (np.True_, "true"), ("a", "a")],
)
def test_a_cell_has_one_text(cell, text):
    assert write_cell(cell) == text


def test_lists_of_numbers_keep_what_a_double_holds_and_else_their_digits():
    lists = {"a": [0.5, float("nan")], "b": [1, 2], "c": [2**53 + 1, 2], "d": [None, 3]}

    columns = mapped_columns(lists, lists)

    np.testing.assert_array_equal(columns["a"], lists["a"])
    assert columns["b"].tolist() == [1.0, 2.0]
    assert columns["c"].tolist() == ["9007199254740993", "2"]
    np.testing.assert_array_equal(columns["d"], [np.nan, 3.0])


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_of_numbers_are_those_of_their_array_in_any_order(order):
    values = np.arange(60.0).reshape(3, 20)
    columns = NumberColumns(np.array(values, order=order))

    assert [*columns] == [str(idx) for idx in range(len(columns))]
    for idx in (0, 19, 7, 8, 0, 1):
        assert columns[str(idx)].tolist() == values[:, idx].tolist()
    assert "20" not in columns


def test_changed_columns_are_stacked_without_changing_the_array():
    values = np.arange(6.0).reshape(2, 3)
    before, columns = values.copy(), NumberColumns(values)
    columns["1"][:] = 0.0

    changed = stack_columns(columns, {"1": np.array([-1.0, -4.0])})

    assert changed.tolist() == [[0.0, -1.0, 2.0], [3.0, -4.0, 5.0]]
    assert stack_columns(columns, {}).tolist() == before.tolist()
    assert values.tolist() == before.tolist()


def test_an_array_that_can_not_be_written_to_is_stacked_as_one_that_can():
    values = np.arange(6.0).reshape(2, 3)
    values.flags.writeable = False

    stacked = stack_columns(NumberColumns(values), {})

    assert stacked.flags.writeable
    assert stacked.tolist() == values.tolist()
