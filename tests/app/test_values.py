"""One cell is one value, whatever way it comes in and whatever role it has."""

import csv
from datetime import date
from io import BytesIO, StringIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from askless.app.documents.sheets import rows_to_csv
from askless.app.doors.inference.bodies import InputTensor
from askless.app.doors.inference.tensors import read_inputs
from askless.app.uploads import read_table
from askless.app.uploads.bounds import UNBOUNDED
from askless.app.uploads.joining import NamedTable, join_tables, write_parquet
from askless.app.uploads.scratch import write_scratch
from askless.app.uploads.streams import StreamedTable, open_table
from askless.core.catalogue.catalogue import UNSEEN, Feature
from askless.core.errors import AnswerError
from askless.core.estimator.frames import frame_columns, mapped_columns
from askless.core.table.answer_values import check_answer
from askless.core.table.columns import count_texts, infer_type, read_feature

pd = pytest.importorskip("pandas", reason="pandas, of the group `dev`, is absent")
pl = pytest.importorskip("polars", reason="polars, of the group `dev`, is absent")

NAMES = tuple(
    sorted(
        (
            *("007", "1", "1E5", "2", "37F", "-5", "EMPLOYED", "self employed"),
            *("900000000000207008", "900000000000207009", "True", "2020-01-02", "inf"),
            *("2.75", "no", "2,75"),
        )
    )
)
ROLES = {
    "number": Feature("x"),
    "category": Feature("x", "category", categories=NAMES),
    "boolean": Feature("x", "boolean"),
    "target": Feature("x", "category", categories=("0", "1", "False", "true")),
}
# The text of a cell, and the same as a value of a language; None: only a text has it.
CELLS = [
    *(("1", 1), ("1.0", 1.0), ("0", 0), ("0.0", 0.0), ("2.75", 2.75), ("-5", -5)),
    *(("900000000000207008", 900000000000207008), ("9007199254740993", 2**53 + 1)),
    *(("007", None), ("7", 7), ("1E5", None), ("3E402", None), ("1e+05", 1e5)),
    *(("inf", float("inf")), ("-Infinity", None), ("\u22125", None), ("+1", None)),
    *(('="007"', None), ('="1"', None), ('="2.75"', None), ("2,75", None)),
    *(("1,234", None), ("1 234", None), ("0,125", None), ("37F", None)),
    *((" EMPLOYED ", None), ("employed", None), ("EMPLOYED\u200b", None)),
    *(("TRUE", True), ("true", True), ("False", False), ("yes", None), ("No", None)),
    *(("2020-01-02", date(2020, 1, 2)), ("NA", None), ("null", None), ("?", None)),
    *(("-", None), ("none", None), ("", None), ("nan", float("nan")), ("1_000", None)),
]
N_ROWS = 3


def as_csv(cells):
    text = StringIO()
    # A second column, since a row of one empty cell would be no row.
    csv.writer(text).writerows([("x", "z"), *((cell, "z") for cell in cells)])
    return text.getvalue().encode()


def read_csv(cells, is_text):
    return open_table(BytesIO(as_csv(cells)), ["x"] * is_text)["x"]


def read_large_csv(cells, is_text, folder):
    path = folder / "large.csv"
    path.write_bytes(as_csv(cells))
    file, release = write_scratch(path, UNBOUNDED)
    try:
        return StreamedTable([file], ["x"] * is_text, UNBOUNDED, is_coded=False)["x"]
    finally:
        release()


def read_joined(cells, is_text):
    tables = [
        NamedTable(name, read_table(BytesIO(as_csv(part)), UNBOUNDED), name)
        for name, part in (("a", cells[:1]), ("b", cells[1:]))
    ]
    content = write_parquet(join_tables(tables, ["x"], []))
    return open_table(BytesIO(content), ["x"] * is_text)["x"]


def read_parquet(array, is_text):
    return open_table(BytesIO(write_parquet(pa.table({"x": array}))), ["x"] * is_text)[
        "x"
    ]


def read_json(cells, is_text):
    content = rows_to_csv([{"x": cell, "z": "z"} for cell in cells])
    return open_table(BytesIO(content), ["x"] * is_text)["x"]


def read_tensor(datatype, cells):
    raw = {"name": "x", "shape": [len(cells)], "datatype": datatype, "data": cells}
    (values,) = read_inputs([InputTensor(**raw)], b"")
    return values.column


def columns_of_texts(cells, is_text, folder):
    yield "CSV", read_csv(cells, is_text)
    yield "large CSV", read_large_csv(cells, is_text, folder)
    yield "joined CSV", read_joined(cells, is_text)
    yield "Parquet", read_parquet(pa.array(cells), is_text)
    yield (
        "Parquet dictionary",
        read_parquet(pa.array(cells).dictionary_encode(), is_text),
    )
    yield "JSON", read_json(cells, is_text)
    yield "tensor", read_tensor("BYTES", cells)
    yield "mapping", mapped_columns({"x": cells}, ["x"])["x"]
    for kind in (object, "string", "category"):
        frame = pd.DataFrame({"x": pd.Series(cells, dtype=kind)})
        yield f"pandas {kind}", frame_columns(frame)["x"]
    for kind in (pl.String, pl.Categorical, pl.Enum(sorted(set(cells)))):
        frame = pl.DataFrame({"x": pl.Series(cells, dtype=kind)})
        yield f"polars {kind}", frame_columns(frame)["x"]
    yield "pyarrow", frame_columns(pa.table({"x": cells}))["x"]


def columns_of_values(cells, is_text):
    yield "Parquet", read_parquet(pa.array(cells), is_text)
    yield "pandas", frame_columns(pd.DataFrame({"x": cells}))["x"]
    yield (
        "pandas category",
        frame_columns(pd.DataFrame({"x": pd.Categorical(cells)}))["x"],
    )
    yield "polars", frame_columns(pl.DataFrame({"x": cells}))["x"]
    yield "pyarrow", frame_columns(pa.table({"x": cells}))["x"]
    if isinstance(cells[0], date):
        stamps = pd.DataFrame({"x": pd.to_datetime(cells)})
        yield "pandas times", frame_columns(stamps)["x"]
        yield "Parquet times", read_parquet(pa.array(stamps["x"]), is_text)
        return
    yield "JSON", read_json(cells, is_text)
    yield "mapping", mapped_columns({"x": cells}, ["x"])["x"]
    datatype = {bool: "BOOL", int: "INT64", float: "FP64"}[type(cells[0])]
    yield "tensor", read_tensor(datatype, cells)


def outcome_of(feature, column):
    """The value of the rows, None where they are refused."""
    values, refusals = read_feature(feature, column)
    if refusals:
        return None
    assert len(np.unique(values)) == 1
    return "missing" if np.isnan(values[0]) else values[0]


def outcome_of_answer(feature, value):
    try:
        return check_answer(feature, value)
    except AnswerError:
        return None


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("text", "value"), CELLS, ids=repr)
def test_every_way_reads_the_same_or_refuses(text, value, role, tmp_path):
    feature = ROLES[role]
    is_text = feature.type != "number"
    outcomes = {
        f"text by {way}": outcome_of(feature, column)
        for way, column in columns_of_texts([text] * N_ROWS, is_text, tmp_path)
    }
    if value is not None:
        outcomes |= {
            f"value by {way}": outcome_of(feature, column)
            for way, column in columns_of_values([value] * N_ROWS, is_text)
        }
    read = set(outcomes.values())
    # A missing cell is none that can be answered.
    answers = [text] if value is None or isinstance(value, date) else [text, value]
    answered = {outcome_of_answer(feature, answer) for answer in answers}

    assert len(read) == 1, outcomes
    assert answered == {None} if read == {"missing"} else answered == read


def code(name):
    return float(NAMES.index(name))


MEANT = [
    ("number", "900000000000207008", 900000000000207008.0),
    ("number", "007", 7.0),
    ("number", "1E5", 1e5),
    ("number", "3E402", None),
    ("number", "inf", None),
    ("number", '="2.75"', 2.75),
    ("number", "\u22125", -5.0),
    ("number", "(5.20)", -5.2),
    ("number", "5.20-", -5.2),
    ("number", "2,75", 2.75),
    ("number", "1.234,50", 1234.5),
    ("number", "1,234", 1234.0),
    ("number", "TRUE", None),
    ("number", "37F", None),
    ("category", "900000000000207008", code("900000000000207008")),
    ("category", "900000000000207009", code("900000000000207009")),
    ("category", "007", code("007")),
    ("category", '="007"', code("007")),
    ("category", "7", UNSEEN),
    ("category", "1E5", code("1E5")),
    ("category", "100000", UNSEEN),
    ("category", "1.0", code("1")),
    ("category", "2,75", code("2,75")),
    ("category", " EMPLOYED ", code("EMPLOYED")),
    ("category", "employed", UNSEEN),
    ("category", "TRUE", code("True")),
    ("boolean", "1.0", 1.0),
    ("boolean", "No", 0.0),
    ("boolean", "2", None),
    ("target", "1.0", 1.0),
    ("target", "0.0", 0.0),
    ("target", "True", 3.0),
]


@pytest.mark.parametrize(("role", "text", "value"), MEANT)
def test_a_cell_is_read_as_it_is_meant(role, text, value):
    feature = ROLES[role]
    column = read_csv([text] * N_ROWS, is_text=feature.type != "number")

    assert outcome_of(feature, column) == value


# Columns of a CSV, and the type that training infers.
COLUMNS = [
    (["900000000000207008", "900000000000207009"], "category"),
    (["02139", "94110", "10001"], "category"),
    (["007.1", "7.1", "038.11"], "category"),
    (["1E5", "12E7"], "category"),
    (["9E999", "3E402"], "category"),
    (["1.5e-05", "2e+05", "1.0E5"], "number"),
    (["50000", "70000", "1E5"], "number"),
    (["inf", "1", "2"], "number"),
    (["2,75", "-0,44"], "number"),
    (["(2.75)", "0.44", "1.2"], "number"),
    (["(1)", "(2)", "(3)"], "category"),
    (['="2.75"', '="0.44"'], "number"),
    (['="007"', '="012"'], "category"),
    (["37F", "21B", "12A"], "category"),
    (["12E7", "13E7"], "category"),
    (["1", "1.0", "2"], "number"),
    (["TRUE", "FALSE"], "boolean"),
    (["2020-01-02", "Jun 12 1998"], "category"),
]


@pytest.mark.parametrize(("cells", "kind"), COLUMNS, ids=str)
def test_the_cells_of_a_csv_decide_the_type_whatever_its_size(cells, kind, tmp_path):
    columns = read_csv(cells, False), read_large_csv(cells, False, tmp_path)

    assert [
        infer_type(Feature("x"), column, count_texts(column)) for column in columns
    ] == [kind, kind]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["7.1", "8"]),
        pa.array(["7.1", "8"]).dictionary_encode(),
        pa.array(["7.1", "8"], pa.large_string()),
    ],
    ids=lambda array: str(array.type),
)
def test_texts_of_a_parquet_file_are_declared(array):
    table = open_table(BytesIO(write_parquet(pa.table({"x": array, "n": [1, 2]}))))

    assert table.declared_texts == {"x"}


def test_texts_of_a_parquet_file_stay_as_they_are_written():
    array = pa.array(["7.10", "7.1", "8"])
    column = read_parquet(array, is_text=False)

    assert column.tolist() == ["7.10", "7.1", "8"]
    assert outcome_of(ROLES["number"], read_parquet(array[:2], is_text=False)) == 7.1


def test_nothing_of_a_csv_is_declared_not_even_after_a_join():
    csv_table = read_table(BytesIO(b"x\n1\n"), UNBOUNDED)
    parquet = pa.table({"x": ["2"]})
    content = [
        write_parquet(
            join_tables(
                [NamedTable("a", csv_table, "a"), NamedTable("b", b, "b")], (), ()
            )
        )
        for b in (csv_table, parquet)
    ]

    assert [open_table(BytesIO(c)).declared_texts for c in content] == [set(), {"x"}]


def test_a_category_of_numbers_in_pandas_is_declared_in_its_parquet_file_too():
    frame = pd.DataFrame({"x": pd.Series([7, 8]).astype("category"), "n": [1, 2]})
    stream = BytesIO()
    frame.to_parquet(stream)
    stream.seek(0)
    table = open_table(stream)
    kinds = [
        infer_type(
            *(Feature(name), table[name], count_texts(table[name])),
            is_declared=name in table.declared_texts,
        )
        for name in ("x", "n")
    ]

    assert kinds == ["category", "number"]
