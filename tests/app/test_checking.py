"""A spec and a table checked together, and what the command `check` says of them."""

import io
import json

import pytest

from askless.app.uploads.checking import check_spec_and_table
from askless.app.uploads.streams import open_table
from askless.core.errors import RefusedError

TABLE = (
    ",id,age, sex ,lab_a,lab_b,done,y\n"
    "0,7,31,f,1.5,-9,yes,ill\n1,8,n/a,m,2.5,3,no,well\n"
    "2,9,45, f,-,4,yes,ill\n3,10,50,m,0.5,5,no,well\n"
)
SPEC = {
    "target": "y",
    "cost_unit": "EUR",
    "classes": {"ill": "sick"},
    "costs": {"*": 2, "lab_*": 3},
    "groups": [{"name": "draw", "fee": 4.5, "members": ["lab_*"]}],
    "ignore": ["id"],
    "missing": [-9],
}


def together(spec, table=TABLE):
    return check_spec_and_table(spec, lambda: open_table(io.BytesIO(table.encode())))


def broken(spec, table=TABLE):
    with pytest.raises(RefusedError) as caught:
        together(spec, table)
    return [refusal.field for refusal in caught.value.refusals]


def test_spec_and_table_that_fit_make_a_dataset():
    spec, checked = together(SPEC)

    assert spec.table.target == "y"
    assert checked.ignored == ("Unnamed: 0", "id")
    assert checked.dataset.n_samples == 4


def test_broken_rules_of_spec_and_table_come_at_once():
    features = [{"name": "age", "cost": -1}, {"name": "sex", "type": "number"}]

    found = broken({"target": "y", "features": features, "seed": -1, "more": 1})

    assert found == ["features[0].cost", "seed", "more", "column sex"]


def test_broken_rules_of_the_spec_come_with_a_table_that_is_none():
    assert broken({"target": "y", "seed": -1}, "") == ["seed", "table"]


@pytest.mark.parametrize(
    "wrong",
    [{"ignore": [7]}, {"missing": ["", -9]}, {"rare": "x"}, {"features": {}}],
)
def test_table_is_not_judged_by_a_spec_without_what_columns_are(wrong):
    (found,) = broken({"target": "y", **wrong}, TABLE.replace("1.5", "$5"))

    assert found.split("[")[0] in wrong


def test_spec_that_is_no_object_is_refused():
    assert broken([]) == ["spec"]


@pytest.fixture
def said(tmp_path, run):
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "s.json").write_text(json.dumps(SPEC))
    return run("check", tmp_path / "t.csv", "--spec", tmp_path / "s.json")


def test_check_says_what_it_understood(said):
    words = [" ".join(line.replace("│", " ").split()) for line in said.out.splitlines()]

    for line in (
        "age number 25 % 31 to 50 2.00",
        "sex category 0 % 2: f, m 2.00",
        "lab_a number 25 % 0.5 to 2.5 3.00 draw",
        "lab_b number 25 % 3 to 5 3.00 draw",
        "done boolean 0 % true in 50 % 2.00",
        "Group draw: fee 4.50 EUR, once for lab_a, lab_b",
        "Ignored: Unnamed: 0, id",
        "Classes: sick 50 %, well 50 %",
        "4 rows, 5 features, classes sick, well: ready to train",
    ):
        assert line in words
    assert max(map(len, said.out.splitlines())) <= 100
    assert "ignored columns: Unnamed: 0 (has no name)" in said.err


GAPPY = "age,ca,whole,y\n" + "".join(
    f"{'' if row == 3 else 30 + row % 9},{'' if row % 3 else row % 4},{row % 5},"
    f"{'ill' if row % 2 else 'well'}\n"
    for row in range(60)
)
NOTE = "Missing values count as information in ca; in age (1 of 60 rows) they say"


def noted(**spec):
    return [
        warning
        for warning in together({"target": "y", **spec}, GAPPY)[1].warnings
        if "Missing values" in warning
    ]


@pytest.mark.parametrize("algorithm", ["auto", "panels"])
def test_check_says_where_missing_values_are_information(algorithm):
    assert noted(algorithm=algorithm) == [f"{NOTE} nothing."]


def test_check_says_nothing_of_gaps_that_nothing_fills_or_that_are_none():
    for algorithm in ("adaboost", "random_forest", "cascade"):
        assert noted(algorithm=algorithm) == []
    assert noted(ignore=["age", "ca"]) == []


def test_what_counts_as_information_follows_from_the_spec():
    assert noted(params={"least_missing": 41}) == [
        "Missing values say nothing in age (1 of 60 rows), ca (40 of 60 rows)."
    ]


def test_rows_set_aside_are_not_counted():
    (note,) = noted(certificate={"share": 0.5}, params={"least_missing": 61})

    assert " of 30 rows)" in note


def test_command_tells_the_note(tmp_path, run):
    (tmp_path / "t.csv").write_text(GAPPY)
    (tmp_path / "s.json").write_text('{"target": "y"}')

    said = run("check", tmp_path / "t.csv", "--spec", tmp_path / "s.json")

    assert NOTE in " ".join(said.err.split())
