"""A table of cases for the model of `clinic`, and both of them as files."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from askless.app.documents.files import model_text
from askless.core.model.model import Model
from tests.app.clinic import clinic

N_ROWS = 97
#: Rows of a group of a file that is read in parts.
PART = 13
Columns = dict[str, pa.Array]


def made_columns() -> Columns:
    """The features with gaps, the classes, and what options name."""
    random = np.random.default_rng(7)
    gaps = random.random(N_ROWS) < 0.2
    ages = random.integers(20, 90, N_ROWS)
    return {
        "id": pa.array(range(2**60, 2**60 + N_ROWS)),
        "who": pa.array([f"case {row % 5}" for row in range(N_ROWS)]),
        "age": pa.array(ages),
        "sex": pa.array(random.choice(["male", "female", "x"], N_ROWS)),
        "chol": pa.array(random.integers(150, 300, N_ROWS), mask=gaps),
        "fbs": pa.array(random.random(N_ROWS) < 0.5),
        "ecg": pa.array(random.integers(1, 4, N_ROWS)),
        "echo1": pa.array(random.integers(1, 3, N_ROWS)),
        "echo2": pa.array(random.integers(1, 6, N_ROWS), mask=~gaps),
        "disease": pa.array((ages + random.normal(0, 20, N_ROWS) > 55).astype(int)),
        "visits": pa.array(random.random(N_ROWS) * 10.0 ** random.integers(-5, 5)),
        "empty": pa.array(np.arange(N_ROWS) % 7 == 3).cast(pa.int64()),
        "person": pa.array(random.integers(0, 30, N_ROWS)),
        "ward": pa.array(random.choice(["north", "south", "east"], N_ROWS)),
        "nothing": pa.array([0.0] * N_ROWS),
        "purse": pa.array(random.choice(["0", "4", "20.5", "inf"], N_ROWS)),
        "broken": pa.array(["?"] * N_ROWS),
    }


def with_cells(
    columns: Columns, name: str, rows: Iterable[int], cell: object
) -> Columns:
    """Return them with another cell in some rows of one; with a word, all are text."""
    column = columns[name]
    if isinstance(cell, str):
        column = column.cast(pa.string())
    cells = column.to_pylist()
    for row in rows:
        cells[row] = cell
    return columns | {name: pa.array(cells)}


def write_model(folder: Path, policy: str) -> None:
    text = model_text(Model("m", clinic(policy), "disease"))
    (folder / "m.json").write_text(text)


def write_table(folder: Path, columns: Columns, group_rows: int = PART) -> None:
    pyarrow.parquet.write_table(
        pa.table(columns), folder / "t.parquet", row_group_size=group_rows
    )
