"""`askless learn`: rows in, the next model out; of what is refused, nothing."""

import json
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

from askless.app.documents.files import load_model
from tests.app.learners import SPEC, as_csv, make_rows


@pytest.fixture
def home(tmp_path: Path, run: Any) -> Path:
    """A folder with a model, m.json."""
    (tmp_path / "t.csv").write_bytes(as_csv(make_rows(60)))
    (tmp_path / "s.json").write_text(json.dumps(SPEC))
    paths = tmp_path / "t.csv", "--spec", tmp_path / "s.json"
    assert run("train", *paths, "-o", tmp_path / "m.json").code == 0
    return tmp_path


def test_rows_are_learnt_and_told(home: Path, run: Any) -> None:
    (home / "more.csv").write_bytes(as_csv(make_rows(30, 4)))
    before = (home / "m.json").read_bytes()

    done = run("learn", home / "m.json", home / "more.csv", "-o", home / "n.json")

    assert done.code == 0, done.err
    assert "learnt 30 rows; since training 30" in done.out
    assert "wrong before they were learnt: " in done.out
    assert "running error" in done.out
    assert "new stumps: " in done.out
    assert f"wrote {home / 'n.json'}" in done.out
    assert (home / "m.json").read_bytes() == before
    assert load_model(home / "n.json").card["learnt"]["rows"] == 30


def test_errors_of_sessions_are_told_by_budget(home: Path, run: Any) -> None:
    curve = load_model(home / "m.json").curve
    options = home / "m.json", home / "t.csv", "-o", home / "n.json"

    told = run("learn", *options).out
    report = json.loads(run("learn", *options, "--json").out)

    assert curve is not None
    assert "Sessions, each before its row was learnt" in told
    assert "unlimited" in told
    assert len(report["under_budgets"]) == len(curve.budgets)
    last = report["under_budgets"][-1]
    assert last["budget"] is None
    # All that is known is bought, so these are the errors with all values free.
    for name in ("error", "recent_error_after"):
        assert last[name]["value"] == pytest.approx(report[name]["value"])
    card = load_model(home / "n.json").card["learnt"]
    assert card["budgets"][-1]["error"] == last["error"]["value"]


def test_model_without_a_curve_tells_no_errors_of_sessions(
    home: Path, run: Any
) -> None:
    paths = home / "t.csv", "--spec", home / "s.json", "--folds", "0"
    assert run("train", *paths, "-o", home / "m.json").code == 0

    told = run("learn", home / "m.json", home / "t.csv", "-o", home / "n.json").out

    assert "learnt 60 rows" in told
    assert "Sessions" not in told


def test_rows_in_parts_and_in_parquet_make_the_same_file(home: Path, run: Any) -> None:
    rows = make_rows(30, 4)
    (home / "all.csv").write_bytes(as_csv(rows))
    (home / "one.csv").write_bytes(as_csv(rows[:11]))
    (home / "two.csv").write_bytes(as_csv(rows[11:]))
    table = pyarrow.csv.read_csv(home / "all.csv")
    pyarrow.parquet.write_table(table, home / "all.parquet", row_group_size=7)

    for model, data, out in (
        ("m", "all.csv", "whole"),
        ("m", "all.parquet", "grouped"),
        ("m", "one.csv", "first"),
        ("first", "two.csv", "second"),
    ):
        paths = home / f"{model}.json", home / data, "-o", home / f"{out}.json"
        assert run("learn", *paths).code == 0

    whole = (home / "whole.json").read_bytes()
    assert (home / "grouped.json").read_bytes() == whole
    assert (home / "second.json").read_bytes() == whole


def test_report_is_json_too(home: Path, run: Any) -> None:
    out = home / "n.json"
    options = home / "m.json", home / "t.csv", "-o", out, "--json"

    first = json.loads(run("learn", *options).out)
    again = json.loads(run("learn", out, *options[1:]).out)

    assert (first["rows"], first["rows_since_training"]) == (60, 60)
    assert first["recent_error_before"] is None
    assert again["rows_since_training"] == 120
    assert again["recent_error_before"] == first["recent_error_after"]
    low, high = first["error"]["interval"]
    assert low <= first["error"]["value"] <= high


def test_refused_rows_are_named_and_nothing_is_written(home: Path, run: Any) -> None:
    for table, line in [
        (b"a,y\n1,perhaps\n", "column y: must be one of the classes no, yes"),
        (b"a,hue,y\n1,red,no\n", "column hue: must be a feature"),
        (b"a,colur,y\n1,red,no\n", "the nearest is 'colour'"),
        (b"a\n1\n", "target: must be a column of the table"),
        (b"y\nno\n", "table: must have a column of one feature"),
        (b"a,y\nmuch,no\n", "column a: must be a number"),
        (b"a,y\n", "table: must have at least one row"),
        (b"a,b,colour,y\n1,2\n", "cells"),
    ]:
        (home / "bad.csv").write_bytes(table)

        done = run("learn", home / "m.json", home / "bad.csv", "-o", home / "n.json")

        assert done.code == 2
        assert line in done.err
        assert not (home / "n.json").exists()


def test_a_table_spelt_otherwise_is_learnt_only_where_the_caller_says_so(
    home: Path, run: Any
) -> None:
    rows = [row | {"colour": row["colour"].upper()} for row in make_rows(30, 4)]
    (home / "more.csv").write_bytes(as_csv(rows))
    command = "learn", home / "m.json", home / "more.csv", "-o", home / "n.json"

    refused = run(*command)
    is_written = (home / "n.json").exists()
    taken = run(*command, "--accept-unseen")

    assert (refused.code, is_written) == (2, False)
    assert "column colour: most of its cells must be categories" in refused.err
    assert "take them as they are: --accept-unseen; found" in refused.err
    assert taken.code == 0
    assert "colour: 30 rows with categories that training did not see" in taken.err


def test_out_must_be_given(home: Path, run: Any) -> None:
    done = run("learn", home / "m.json", home / "t.csv")

    assert done.code == 2
    assert "--out" in done.err
