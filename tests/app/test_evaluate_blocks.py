"""Tables measured part by part come to what the whole does, whatever the parts."""

import json

import pyarrow as pa
import pyarrow.csv
import pytest

from askless.app.batch import measuring, sources
from askless.app.batch.curves import curve_json, measure_rows
from askless.app.batch.labelled import label_table
from askless.app.documents.files import load_model
from askless.app.uploads.streams import read_columns
from askless.core.catalogue.prices import to_micros
from askless.core.model.rows import check_rows
from askless.core.simulation import blocks
from askless.core.simulation.blocks import Conditions
from askless.core.table.spec import TableSpec
from tests.app.cases import (
    N_ROWS,
    made_columns,
    with_cells,
    write_model,
    write_table,
)

OPTIONS = ("--budgets", "0,1,4,20,inf", "--json")


@pytest.fixture
def place(tmp_path):
    write_model(tmp_path, "ordered")
    write_table(tmp_path, made_columns(), N_ROWS)
    return tmp_path


@pytest.fixture
def evaluate(place, run):
    def evaluated(*options, table="t.parquet"):
        return run("evaluate", place / "m.json", place / table, *OPTIONS, *options)

    return evaluated


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--group-by", "ward", "--weight", "visits"),
        ("--disagreement", "0.1", "--weight", "empty"),
        ("--policy", "sample", "--seed", "3", "--threshold", "0.3"),
    ],
)
def test_row_groups_change_no_digit(place, evaluate, options, monkeypatch):
    whole = evaluate(*options)
    write_table(place, made_columns())
    monkeypatch.setattr(measuring, "BLOCK_ROWS", 5)

    parted = evaluate(*options)

    assert whole.code == 0, whole.err
    assert parted.out == whole.out
    assert parted.err == whole.err
    assert json.loads(whole.out)["rows"] == N_ROWS


@pytest.mark.parametrize(
    "table",
    [
        TableSpec("disease"),
        TableSpec("disease", weight="visits", group_by="ward"),
    ],
)
def test_figures_are_those_of_rows_in_memory(place, evaluate, table):
    stored = load_model(place / "m.json")
    columns = read_columns(place / "t.parquet", ["disease"])
    values, _ = check_rows(columns, stored.ensemble)
    dataset = label_table(columns, values, stored, table, str)
    named = OPTIONS[1].split(",")
    budgets = [None if name == "inf" else to_micros(name) for name in named]
    expected = measure_rows(stored.ensemble, dataset, Conditions(budgets))
    write_table(place, made_columns())
    pairs = {"--weight": table.weight, "--group-by": table.group_by}.items()
    options = [word for pair in pairs if pair[1] for word in pair]

    found = json.loads(evaluate(*options).out)

    told = curve_json(expected, "CAD", [], None)
    for name in ("error", "error_calibrated", "mean_spend", "max_spend"):
        assert found[name] == pytest.approx(told[name], rel=1e-12)
    for one, other in zip(found["predictive"], told["predictive"], strict=True):
        for name in ("auroc", "log_loss", "brier", "sensitivity"):
            assert flat(one[name]) == pytest.approx(flat(other[name]), rel=1e-9)


def flat(estimate):
    return [estimate["value"], *estimate["interval"]]


@pytest.mark.parametrize("options", [(), ("--group-by", "person")])
def test_rows_that_are_kept_do_not_depend_on_the_parts(
    place, evaluate, options, monkeypatch
):
    monkeypatch.setattr(blocks, "MAX_CHANCES", 200)
    whole = evaluate(*options)
    write_table(place, made_columns())
    monkeypatch.setattr(measuring, "BLOCK_ROWS", 4)

    assert evaluate(*options).out == whole.out


def test_rows_that_are_kept_and_weigh_nothing_have_no_figures(
    place, evaluate, run, monkeypatch
):
    monkeypatch.setattr(blocks, "MAX_CHANCES", 10 * 14)

    told = json.loads(evaluate("--weight", "empty").out)

    assert told["predictive"] is None
    assert told["error_calibrated"][-1] > 0
    paths = (place / "m.json", place / "t.parquet")
    shown = run("evaluate", *paths, "--weight", "empty", "--budgets", "0,1,4,20,inf")
    assert shown.code == 0


def test_parts_of_a_csv_change_no_digit(place, evaluate, monkeypatch):
    pa.csv.write_csv(pa.table(made_columns()), place / "t.csv")
    whole = evaluate("--group-by", "person", table="t.csv")
    monkeypatch.setattr(sources, "PART_ROWS", 10)

    assert evaluate("--group-by", "person", table="t.csv").out == whole.out


def test_processes_change_no_digit(place, evaluate):
    options = "--group-by", "ward", "--weight", "visits"
    whole = evaluate(*options)
    write_table(place, made_columns())

    shared = evaluate(*options, "--processes", "2")

    assert shared.code == 0, shared.err
    assert shared.out == whole.out


@pytest.mark.parametrize(
    ("column", "cell", "options", "words"),
    [
        ("age", "old", (), "'old' in row 16, 'old' in row 31, 'old' in row 32"),
        ("disease", "2", (), "'2' in row 16, '2' in row 31, '2' in row 32 and 1"),
        ("visits", -1.0, ("--weight", "visits"), "'-1.0' in row 16, "),
        (
            "ward",
            None,
            ("--group-by", "ward"),
            "nothing in row 16, nothing in row 31",
        ),
    ],
)
def test_refusal_names_rows_of_the_whole_table(
    place, evaluate, column, cell, options, words
):
    columns = with_cells(made_columns(), column, (15, 30, 31, 90), cell)
    write_table(place, columns, N_ROWS)
    whole = evaluate(*options)
    write_table(place, columns)

    parted = evaluate(*options)

    assert (whole.code, parted.code) == (2, 2)
    assert parted.err == whole.err
    assert words in parted.err.replace('"', "'")


def test_weights_that_are_all_zero_are_refused(place, evaluate):
    write_table(place, made_columns())

    finished = evaluate("--weight", "nothing")

    assert finished.code == 2
    assert "must not be 0 in every row" in finished.err


def test_table_without_classes_is_refused_with_the_column(place, evaluate):
    columns = made_columns()
    del columns["disease"]
    write_table(place, columns)

    finished = evaluate()

    assert finished.code == 2
    assert "'disease'" in finished.err


def test_table_without_rows_is_refused_by_evaluate(place, evaluate):
    write_table(place, {name: cells[:0] for name, cells in made_columns().items()})

    assert "at least one row" in evaluate().err
