"""CSV of the service: no cell is run as a formula by a spreadsheet, unless raw."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.app.documents.sheets import quote_file, quote_formula
from askless.core.table.cells import parse_number


@pytest.mark.parametrize("sign", [*"=+-@", "\t", "\r", "\uff1d"])
def test_text_that_begins_as_a_formula_is_quoted(sign: str) -> None:
    assert quote_formula(f'{sign}cmd|"/c calc"') == f'\'{sign}cmd|"/c calc"'


@pytest.mark.parametrize("cell", ["", "-5", "+3.5", "-1e-5", "red", "a=b", "5-6"])
def test_numbers_and_other_text_stay(cell: str) -> None:
    assert quote_formula(cell) == cell


@given(rows=st.lists(st.lists(st.text(max_size=6), min_size=2, max_size=2), max_size=5))
def test_whole_file_is_quoted_cell_by_cell(rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    data = text.getvalue().encode("utf-8", "surrogatepass")
    if b"\x00" in data or data.decode("utf-8", "ignore").encode() != data:
        return
    quoted = b"".join(quote_file(io.BytesIO(data))).decode()
    read = [*csv.reader(io.StringIO(quoted, newline=""))]
    told = [*csv.reader(io.StringIO(data.decode(), newline=""))]

    assert read == [[quote_formula(cell) for cell in row] for row in told]
    for cell in (cell for row in read for cell in row if cell):
        assert cell[0] not in "=+-@\t" or parse_number(cell) is not None
