"""What the column of cases says of cells, read from CSV and Parquet by every way."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from askless.app.documents.spec.spec import read_spec
from askless.app.uploads.checking import check_columns, prepare_streamed, read_training
from askless.app.uploads.drafting import draft_spec
from askless.app.uploads.silent import read_silent_cells
from askless.app.uploads.streams import HeldTable, open_table, read_columns
from askless.core.errors import RefusedError
from askless.core.table.silent import mask_of_silent

CASE = {
    **{"format": "askless-case", "version": 1, "policy": "ordered"},
    **{"budget_micros": None, "spent_micros": 0, "prediction": "0"},
    "chances": {"0": 1.0, "1": 0.0},
}
ROW = {"format": "askless-row", "version": 1, "absent": ["b"]}
N_ROWS = 12


def asked(**outcomes: str) -> str:
    return json.dumps(
        CASE
        | {
            "asked": [
                {"feature": name, "outcome": outcome, "charged_micros": 0}
                for name, outcome in outcomes.items()
            ]
        }
    )


CELLS = [
    asked(a="value", b="refused"),
    asked(a="unavailable", b="unknown"),
    asked(b="value"),
    json.dumps(ROW),
    None,
    None,
]
COLUMNS = {
    "a": [1.0, None, None, 4.0, 5.0, None] * 2,
    "b": [None, None, 1.0, None, None, 2.0] * 2,
    "y": ["0", "1"] * 6,
    "askless_case": CELLS * 2,
}
#: By rows: a, b.
SILENT = [[0, 1], [0, 1], [1, 0], [0, 1], [0, 0], [0, 0]] * 2
SPEC = {"target": "y", "algorithm": "panels", "effort": "fast", "validation": None}


def parquet() -> bytes:
    stream = BytesIO()
    pyarrow.parquet.write_table(pa.table(COLUMNS), stream)
    return stream.getvalue()


def csv() -> bytes:
    stream = BytesIO()
    pa.csv.write_csv(pa.table(COLUMNS), stream)
    return stream.getvalue()


@pytest.mark.parametrize("make", [parquet, csv])
def test_cells_that_nobody_answered_are_marked(
    make: Callable[[], bytes], tmp_path: Path
) -> None:
    spec = read_spec(SPEC)
    path = tmp_path / f"cases.{make.__name__}"
    path.write_bytes(make())

    checked = check_columns(open_table(BytesIO(make())), spec)
    trained = read_training(path, spec)

    assert [feature.name for feature in checked.dataset.catalogue.features] == [
        "a",
        "b",
    ]
    for values in (checked.dataset.values, trained.table.sample.values):
        assert mask_of_silent(values).tolist() == SILENT
    for warnings in (checked.warnings, trained.warnings):
        assert "6 of 12 rows are logged cases" in warnings[-1]


def test_a_column_at_a_time_the_same_cells_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "cases.parquet"
    path.write_bytes(parquet())

    prepared = prepare_streamed(open_table(path), read_spec(SPEC))

    assert mask_of_silent(prepared.table.sample.values).tolist() == SILENT


def test_features_that_no_case_knows_say_nothing_of_cases() -> None:
    silent = read_silent_cells(read_columns(BytesIO(parquet()), ["askless_case"]))

    assert silent is not None
    assert silent.find("other").tolist() == [True] * 3 + [False] * 3 + [
        *([True] * 3 + [False] * 3)
    ]


@pytest.mark.parametrize(
    "cell", ["7", "{}", "no JSON", '{"format": "askless-case"}', "[]", "[" * 20_000]
)
def test_what_the_service_did_not_write_is_refused_by_its_row(cell: str) -> None:
    table = pa.table({"y": ["0", "1"], "askless_case": [None, cell]})

    with pytest.raises(RefusedError) as caught:
        check_columns(HeldTable(table), read_spec(SPEC))

    (refusal,) = caught.value.refusals
    assert (refusal.field, refusal.rows) == ("column askless_case", "row 2")
    assert cell not in str(refusal)


def test_a_draft_has_no_feature_of_it() -> None:
    draft = draft_spec(open_table(BytesIO(parquet())), "y", "m", None)

    assert [feature["name"] for feature in draft.spec["features"]] == ["a", "b"]
    assert "ignore" not in draft.spec


def test_it_is_no_feature_of_a_spec_without_a_list() -> None:
    table: Any = pa.table({**COLUMNS, "askless_case": pa.nulls(N_ROWS, pa.string())})

    checked = check_columns(HeldTable(table), read_spec(SPEC))

    assert len(checked.dataset.catalogue.features) == 2
    assert not any("logged cases" in warning for warning in checked.warnings)
