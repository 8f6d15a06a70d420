"""Public reports of faults of this kind: the input of each is read as it is meant.

The reports are no part of the project: they are in `shared/reports` beside it, or in
the folder that ASKLESS_REPORTS names.
"""

import json
import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[2].parent / "shared" / "reports"
REPORTS = Path(os.environ.get("ASKLESS_REPORTS", BESIDE))
pytestmark = pytest.mark.skipif(
    not REPORTS.is_dir(), reason="the folder of reports is absent"
)


@pytest.fixture
def init(run, tmp_path):
    """Draft the spec of a report's table; return what was said, and the spec."""

    def draft(report, table, *options):
        out = tmp_path / f"{table}.json"
        path = REPORTS / report / f"{table}.csv"
        done = run("init", path, "--target", "y", "-o", out, *options)
        spec = json.loads(out.read_text()) if out.exists() else None
        return done, spec

    return draft


def types_of(spec):
    return {feature["name"]: feature["type"] for feature in spec["features"]}


def test_whole_numbers_beyond_doubles_are_categories(init, run, tmp_path):
    pd = pytest.importorskip("pandas")
    folder = REPORTS / "01-big-integers"
    done, spec = init("01-big-integers", "codes")
    table = tmp_path / "codes.parquet"
    pd.read_csv(folder / "codes.csv").to_parquet(table)
    checked = run("check", table, "--spec", folder / "spec.json")

    assert types_of(spec)["concept"] == "category"
    assert "900000000000207008" in done.err
    assert "4: 900000000000207008" in checked.out
    assert "constant" not in done.err + checked.err


def test_codes_with_an_exponent_are_categories(init):
    done, spec = init("04-exponent-codes", "codes")

    assert types_of(spec)["code"] == "category"
    assert "'12E7'" in done.err
    assert "RuntimeWarning" not in done.err


def test_infinite_words_among_numbers_are_missing(init):
    done, spec = init("04-exponent-codes", "inf")

    assert spec["features"][0]["missing"] == ["-Infinity", "inf"]
    assert "'inf' in row 1 and 11 more cells" in done.err


def test_one_category_has_one_name_however_it_is_written(run, tmp_path):
    folder = REPORTS / "05-categories-written-as-floats"
    model = tmp_path / "model.json"
    run("train", folder / "train.csv", "--spec", folder / "spec.json", "-o", model)
    measured = [
        run("evaluate", model, folder / f"{table}.csv", "--budgets", "inf")
        for table in ("train", "later")
    ]
    document = json.loads(model.read_text())

    assert document["features"][0]["categories"] == ["1", "2", "3"]
    assert [done.err for done in measured] == ["", ""]
    errors = [float(done.out.split("unlimited")[1].split()[0]) for done in measured]
    # One cell of 120 is empty in the second table.
    assert abs(errors[0] - errors[1]) < 2


def test_missing_word_that_may_be_a_class_is_named(init):
    refused, _ = init("07-na-is-a-word", "two")
    done, spec = init("07-na-is-a-word", "three")
    _, told = init("07-na-is-a-word", "feature")

    assert "40 cells read NA" in refused.err
    assert "30 cells read NA" in done.err
    assert spec["missing_target"] == "drop"
    assert types_of(told)["region"] == "category"


def test_words_that_mean_missing_can_be_said(init):
    done, spec = init("07-na-is-a-word", "two", "--missing-words", "")

    assert spec["missing_words"] == []
    assert "Classes: EU 50 %, NA 50 %" in done.out


@pytest.mark.parametrize("table", ["comma", "equals"])
def test_numbers_in_other_writings_are_numbers(init, table):
    _, spec = init("08-numbers-unread", table)

    assert types_of(spec) == {"a": "number"}


@pytest.mark.parametrize("table", ["semicolon", "hidden", "single"])
def test_headers_are_read_as_they_are_meant(init, table):
    _, spec = init("14-headers", table)

    assert types_of(spec)["a"] == "number"


def test_text_above_the_header_is_refused_with_what_to_do(init):
    done, _ = init("14-headers", "preamble")

    assert "take away what stands above it" in done.err
