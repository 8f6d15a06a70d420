"""From one's own messy table to a spec that passes: `init`, and the mess it is for."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pytest

from askless.app.uploads import read_table
from askless.app.uploads.checking import check_spec_and_table
from askless.app.uploads.drafting import draft_spec, format_spec
from askless.app.uploads.price_tables import read_prices
from askless.app.uploads.streams import HeldTable, open_table
from askless.core.errors import RefusedError
from benchmarks.mess import mess_up, read_clean, write_rows

ROOT = Path(__file__).resolve().parents[2]
HEART = ROOT / "app" / "demo" / "heart.csv"


@pytest.fixture
def messy(tmp_path):
    path = tmp_path / "messy.csv"
    write_rows(path, mess_up(read_clean(HEART), "label", seed=0))
    return path


@pytest.fixture
def started(messy, run):
    """A spec that `init` wrote, and how it ended."""
    out = messy.with_name("spec.json")
    return out, run("init", messy, "--target", "label", "-o", out)


def test_same_seed_makes_the_same_mess():
    rows = read_clean(HEART)

    assert mess_up(rows, "label", 1) == mess_up(rows, "label", 1)
    assert mess_up(rows, "label", 1) != mess_up(rows, "label", 2)


def test_spec_of_a_messy_table_passes_check_without_editing(messy, started, run):
    out, finished = started

    checked = run("check", messy, "--spec", out)

    assert (finished.code, checked.code) == (0, 0)
    assert checked.out.splitlines()[-1].endswith("ready to train")
    # What is known of the table alone, not what is to be done about the spec.
    (said,) = checked.err.splitlines()
    assert said.startswith("warning Missing values count as information in cp, fbs,")


def test_spec_of_a_messy_table_finds_the_clean_types(started):
    out, _ = started
    spec = json.loads(out.read_text())
    priced = json.loads((ROOT / "app" / "demo" / "heart.json").read_text())
    clean = {feature["name"]: feature["type"] for feature in priced["features"]}

    found = {feature["name"]: feature["type"] for feature in spec["features"]}

    # 0 and 1 are numbers until somebody says that they are booleans.
    assert found == {k: "number" if v == "boolean" else v for k, v in clean.items()}
    assert spec["ignore"] == ["patient_id", "seen", "Unnamed: 0"]
    assert "-999" in spec["features"][0]["missing"]


def test_what_was_decided_is_said(started):
    _, finished = started

    assert "note patient_id: ignored, since it is an identifier" in finished.err
    assert "note seen: ignored, since it is dates" in finished.err
    assert "note age, trestbps, thalach, oldpeak: -999 is taken" in finished.err
    assert "'$5' in row" in finished.err


def test_what_is_the_same_of_many_columns_is_said_once():
    names = [f"c{k}" for k in range(8)]
    rows = "".join(",".join(["1"] * 8) + f",{k % 2}\n" for k in range(4))

    made = draft(f"{','.join(names)},y\n" + rows)

    assert made.notes == (
        "y: classes of under 20 rows are hard to learn: 0 (2), 1 (2)",
        "c0, c1, c2, c3, c4 and 3 more: ignored, since it is constant",
    )


def test_init_writes_the_same_spec_again(messy, started, run):
    out, _ = started
    before = out.read_bytes()

    again = run("init", messy, "--target", "label", "-o", out, "--force")

    assert again.code == 0
    assert out.read_bytes() == before


def test_init_overwrites_nothing_unasked(messy, started, run):
    out, _ = started
    out.write_text("mine")

    again = run("init", messy, "--target", "label", "-o", out)

    assert again.code == 2
    assert "--out: must not be there yet; --force" in again.err
    assert out.read_text() == "mine"


def test_init_without_a_target_column_says_the_nearest(messy, run):
    out = messy.with_name("never.json")

    finished = run("init", messy, "--target", "labell", "-o", out)

    assert finished.code == 2
    assert "--target: must be a column of the table; the nearest is 'label'" in (
        finished.err
    )
    assert not out.exists()


SIGNED = "fee;rate;y\n" + "".join(
    f"£{1000 + 37 * k % 1000 + k / 7:,.2f};{k % 50} %;{k // 30}\n" for k in range(60)
)


@pytest.mark.usefixtures("short_panels")
def test_table_with_signs_is_drafted_trained_and_predicted_as_it_is(tmp_path, run):
    data, spec, model = (tmp_path / name for name in ("t.csv", "s.json", "m.json"))
    data.write_text(SIGNED.replace(";", "\t"))
    out = tmp_path / "p.csv"

    drafted = run("init", data, "--target", "y", "-o", spec)
    trained = run("train", data, "--spec", spec, "-o", model, "--effort", "fast")
    predicted = run("predict", model, data, "--budget", 2, "-o", out)
    measured = run("evaluate", model, data)
    data.write_text(SIGNED.replace(";", "\t").replace("£1,037", "$1,037"))
    refused = run("predict", model, data, "--budget", 2, "-o", out)

    codes = [run.code for run in (drafted, trained, predicted, measured, refused)]
    assert codes == [0, 0, 0, 0, 2]
    assert "note fee: has numbers with signs between thousands: 1,0" in drafted.err
    assert "note rate: has numbers with the unit %: 0 % is 0" in drafted.err
    assert [
        feature.get("unit") for feature in json.loads(spec.read_text())["features"]
    ] == [
        "£",
        "%",
    ]
    assert "column fee: must be a number, or empty; found '$1,037" in refused.err


def table_of(text):
    return open_table(io.BytesIO(text.encode()))


def draft(table, prices=None):
    return draft_spec(table_of(table), "y", "t", prices)


TABLE = "a,b,c,y\n" + "".join(f"{k % 7},{k % 5},{k % 3},{k % 2}\n" for k in range(30))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("a,y\n", "table: must have at least one row"),
        ("a,y\n1,p\n2,\n", "target y: must have 2 to 1000 classes; found 1"),
        ("a,y\n1,\n2,\n", "target y: must have 2 to 1000 classes; found none"),
        ("a,y\n1,p\n2,p\n", "target y: must have 2 to 1000 classes; found 1"),
    ],
)
def test_table_that_can_not_be_trained_on_is_refused(table, words):
    with pytest.raises(RefusedError, match=words):
        draft(table)


def test_rows_without_a_target_are_dropped_and_told():
    found = draft(TABLE + "lots,,3,\n")

    assert found.spec["missing_target"] == "drop"
    assert "y: 1 row without a target will be left out" in found.notes
    assert [feature["type"] for feature in found.spec["features"]] == ["number"] * 3
    assert check_spec_and_table(found.spec, lambda: table_of(TABLE + "lots,,3,\n"))


def test_columns_that_hold_no_cells_are_ignored():
    table = read_table(io.BytesIO(TABLE.encode()))
    table = table.append_column("tags", pa.array([["x"]] * table.num_rows))

    found = draft_spec(HeldTable(table), "y", "t", None)

    assert found.spec["ignore"] == ["tags"]
    assert "tags: ignored, since it is of lists, records or bytes" in found.notes


def priced(tmp_path, text):
    path = tmp_path / "prices.csv"
    path.write_text(text)
    return path


def test_prices_and_groups_come_from_a_table(tmp_path):
    path = priced(tmp_path, "feature,cost,group,fee\na,2.10,draw,0.3\nb,3,draw,\n")

    made = draft(TABLE, path)

    assert [feature["cost"] for feature in made.spec["features"]] == [2.1, 3, 1]
    assert made.spec["groups"] == [{"name": "draw", "fee": 0.3}]
    assert made.notes[-1] == "c: has no price, so its cost is 1"


@pytest.mark.parametrize("prices", [("9", "9"), ("9", ""), ("", "9")])
def test_bundles_come_from_a_table(tmp_path, prices):
    first, second = prices
    text = f"feature,cost,group,price\na,,scan,{first}\nb,,scan,{second}\nc,1,,\n"
    path = priced(tmp_path, text)

    made = draft(TABLE, path)

    assert ["cost" in feature for feature in made.spec["features"]] == [
        False,
        False,
        True,
    ]
    assert made.spec["groups"] == [{"name": "scan", "price": 9}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("feature\na\n", "prices: must have a column cost"),
        ("feature,cost,more\na,1,2\n", "unknown column; expected feature, cost, group"),
        ("feature,cost\nx,1\naa,1\n", "prices, row 2: feature must be a column"),
        ("feature,cost\naa,1\n", "the nearest is 'a'"),
        ("feature,cost\na,1\na,2\n", "prices, row 2: feature must stand once"),
        ("feature,cost\na,-1\n", "prices, row 1: cost must be an amount such as 12.50"),
        ("feature,cost\na,\n", "prices, row 1: cost is required"),
        ("feature,cost,group,fee\na,,g,2\n", "members of a bundle, which has a price"),
        ("feature,cost,fee\na,1,2\n", "name the group"),
        ("feature,cost,group,fee\na,1,g,2\nb,1,g,3\n", "row 2: fee must be the same"),
        ("feature,cost,group,fee\na,1,g,x\n", "row 1: fee must be an amount"),
        ("feature,cost,group,fee,price\na,1,g,1,\nb,1,g,,2\n", "a fee, or as a bundle"),
    ],
)
def test_wrong_prices_are_refused_with_their_row(tmp_path, text, words):
    with pytest.raises(RefusedError) as caught:
        read_prices(priced(tmp_path, text), ["a", "b"])

    assert words in str(caught.value)


def test_spec_has_a_line_for_each_feature():
    text = format_spec(draft(TABLE).spec)

    assert json.loads(text) == draft(TABLE).spec
    assert text.count('\n    {"name"') == 3


def test_identifier_as_target_is_refused():
    rows = "".join(f"{k % 7},c{k}\n" for k in range(30))

    with pytest.raises(RefusedError) as caught:
        draft("a,y\n" + rows)

    assert str(caught.value) == (
        "target y: must have classes of several rows each, and looks like an "
        "identifier; found 30 values in 30 rows"
    )


def test_classes_of_few_rows_are_noted_and_others_are_not():
    rows = "".join(f"{k % 7},{min(k // 20, 2)}\n" for k in range(47))

    assert draft("a,y\n" + rows).notes == (
        "y: classes of under 20 rows are hard to learn: 2 (7)",
    )
    assert draft("a,y\n" + rows.replace(",2\n", ",1\n")).notes == ()


def test_at_most_ten_classes_are_listed(tmp_path, run):
    data = tmp_path / "t.csv"
    data.write_text("a,y\n" + "".join(f"{k % 7},c{k % 38:02}\n" for k in range(190)))

    finished = run("init", data, "--target", "y", "-o", tmp_path / "s.json")

    assert "classes c00, c01, c02, c03, c04, c05, c06, c07, c08, c09 and 28 more: " in (
        finished.out
    )


@pytest.mark.parametrize("content", ["", " \n\r\n", "\ufeff"])
def test_empty_file_is_refused_as_such(tmp_path, run, content):
    data = tmp_path / "t.csv"
    data.write_text(content)

    finished = run("init", data, "--target", "y", "-o", tmp_path / "s.json")

    assert finished.err == "refused table: must have a header; the file is empty\n"


@pytest.mark.usefixtures("short_panels")
def test_bad_rows_are_skipped_on_request_and_counted(tmp_path, run):
    data, spec, model = (tmp_path / name for name in ("t.csv", "s.json", "m.json"))
    rows = [f"{k % 7},{k % 5},{k % 2}" for k in range(60)]
    data.write_text("\n".join(["a,b,y", *rows[:9], "1,2,3,4", *rows[9:], "5"]))
    init = ("init", data, "--target", "y", "-o", spec)
    train = ("train", data, "--spec", spec, "-o", model, "--effort", "fast")

    refused = run(*init)
    drafted = run(*init, "--skip-bad-rows")
    unasked = run(*train)
    trained = run(*train, "--skip-bad-rows")

    assert [run.code for run in (refused, drafted, unasked, trained)] == [2, 0, 2, 0]
    said = (
        "warning skipped 2 rows: row 10: must have 3 cells; found 4; "
        "row 62: must have 3 cells; found 1\n"
    )
    assert said in drafted.err
    assert said in trained.err
    assert "60 rows, 2 features" in drafted.out


def test_too_many_bad_rows_are_refused_all_the_same(tmp_path, run):
    data = tmp_path / "t.csv"
    data.write_text("a,y\n" + "1,0\n2,1\n" * 30 + "1\n" * 1000)
    init = ("init", data, "--target", "y", "-o", tmp_path / "s.json")

    finished = run(*init, "--skip-bad-rows")

    assert finished.code == 2
    assert "1000 or more rows of another length" in finished.err


def test_long_names_are_folded_and_not_cut(tmp_path, run):
    data = tmp_path / "t.csv"
    names = [f"Curricular units 1st sem ({one})" for one in ("credited", "enrolled")]
    rows = "".join(f"{k % 7},{k % 5},{k % 2}\n" for k in range(60))
    data.write_text(",".join([*names, "y"]) + "\n" + rows)

    finished = run("init", data, "--target", "y", "-o", tmp_path / "s.json")

    assert "(credited)" in finished.out
    assert "(enrolled)" in finished.out
    assert "…" not in finished.out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a b y\n1 2 0\n", "parted by ',': part them by commas, semicolons, tabs or"),
        (b"Ward;;\na;b;y\n1;2;0\n", "by ';': names of columns must be its first line"),
    ],
)
def test_a_header_that_is_none_is_refused_with_what_to_do(content, words):
    with pytest.raises(RefusedError, match=words):
        draft_spec(open_table(io.BytesIO(content)), "y", "m", None)


def test_a_column_that_no_spec_can_name_is_ignored_with_the_reason():
    name = "n" * 201
    content = f"a,{name},y\n".encode() + b"1,2,0\n2,1,1\n" * 20

    draft = draft_spec(open_table(io.BytesIO(content)), "y", "m", None)
    spec, _ = check_spec_and_table(draft.spec, lambda: open_table(io.BytesIO(content)))

    assert f"{name}: ignored, since it is under a name of more than 200 characters" in (
        draft.notes
    )
    assert [feature.name for feature in spec.table.features] == ["a"]


def test_numbers_near_the_ends_of_doubles_are_drafted():
    rows = [
        f"{['1e308', '-1e308', '5e-324', '-0.0'][row % 4]},{row % 2}"
        for row in range(40)
    ]

    draft = draft_spec(
        open_table(io.BytesIO("\n".join(["a,y", *rows]).encode())), "y", "m", None
    )

    assert [feature["type"] for feature in draft.spec["features"]] == ["number"]
