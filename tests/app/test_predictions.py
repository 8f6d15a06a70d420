"""`predict`: budgets, columns kept, files written, columns that may be absent."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from askless.app.batch.orders import parse_predict_order
from askless.app.documents.files import model_text
from askless.core.model.model import Model
from tests.app.clinic import clinic
from tests.curves import curve_of
from tests.small import MICROS

HEADER = "id,age,sex,chol,fbs,ecg,echo1,echo2,disease,purse"
ROWS = [
    "7,45,male,200,true,1,1,2,0,1",
    "8,70,female,,false,3,2,4,1,inf",
    "9,52,male,260,true,1,2,3,1,20.5",
]


@pytest.fixture
def place(tmp_path):
    text = model_text(Model("m", clinic(), "disease"))
    (tmp_path / "m.json").write_text(text)
    (tmp_path / "rows.csv").write_text("\n".join([HEADER, *ROWS]) + "\n")
    return tmp_path


@pytest.fixture
def predict(place, run):
    """Run the command on the rows, or on other ones; written to standard output."""

    def predicted(*options, rows="rows.csv", out="-"):
        return run("predict", place / "m.json", place / rows, "-o", out, *options)

    return predicted


def read(finished):
    assert finished.code == 0, finished.err
    return list(csv.DictReader(io.StringIO(finished.out)))


def without(place, column):
    """Write the rows without a column, and return the file's name."""
    place_of = HEADER.split(",").index(column)
    lines = [line.split(",") for line in (HEADER, *ROWS)]
    kept = [",".join(cells[:place_of] + cells[place_of + 1 :]) for cells in lines]
    (place / "fewer.csv").write_text("\n".join(kept) + "\n")
    return "fewer.csv"


def test_each_class_has_its_probability(predict):
    for row in read(predict("--budget", "inf")):
        chances = {label: float(row[f"probability_{label}"]) for label in "01"}
        assert sum(chances.values()) == pytest.approx(1, abs=2e-6)
        assert float(row["probability"]) == chances[row["label"]]


def test_columns_that_are_kept_come_first_as_they_were(predict):
    rows = read(predict("--budget", "1", "--keep", "id", "--keep", "chol"))

    assert list(rows[0])[:3] == ["id", "chol", "label"]
    assert [(row["id"], row["chol"]) for row in rows] == [
        ("7", "200"),
        ("8", ""),
        ("9", "260"),
    ]


def test_kept_column_that_is_called_as_ours_gets_another_name(place, predict):
    text = (place / "rows.csv").read_text().replace("disease", "label")
    (place / "named.csv").write_text(text)

    rows = read(predict("--budget", "1", "--keep", "label", rows="named.csv"))

    assert [row["label_in_table"] for row in rows] == ["0", "1", "1"]


def test_several_budgets_have_a_line_each(predict):
    rows = read(predict("--budget", "0,1.5,inf", "--keep", "id"))

    assert [(row["id"], row["budget"]) for row in rows] == [
        (case, budget) for case in "789" for budget in ("0", "1.5", "inf")
    ]
    (alone,) = (row for row in read(predict("--budget", "1.5"))[:1])
    assert alone == {name: rows[1][name] for name in alone}


def test_budget_comes_from_a_column(predict):
    rows = read(predict("--budget-from", "purse"))

    assert [row["budget"] for row in rows] == ["1", "inf", "20.5"]
    for row, budget in zip(rows, ("1", "inf", "20.5"), strict=True):
        whole = read(predict("--budget", budget))[rows.index(row)]
        assert whole == {name: row[name] for name in whole}


def test_draws_of_a_row_do_not_depend_on_the_budgets_of_others(place, run):
    text = model_text(Model("m", clinic("sample"), "disease"))
    (place / "m.json").write_text(text)
    options = (place / "m.json", place / "rows.csv", "-o", "-")

    apart = read(run("predict", *options, "--budget-from", "purse"))
    together = read(run("predict", *options, "--budget", "20.5"))

    assert together[2] == {name: apart[2][name] for name in together[2]}


def test_parquet_has_the_types(place, predict):
    ids = pa.array([2**60 + 1, 2, 3])
    table = pa.csv.read_csv(place / "rows.csv").set_column(0, "id", ids)
    pyarrow.parquet.write_table(table, place / "rows.parquet")
    out = place / "out.parquet"
    options = ("--budget", "1,inf", "--keep", "id")

    finished = predict(*options, rows="rows.parquet", out=out)

    read_back = pyarrow.parquet.read_table(out).to_pylist()
    assert "wrote 6 rows" in finished.out
    assert [row["id"] for row in read_back] == [2**60 + 1] * 2 + [2, 2, 3, 3]
    assert [row["budget"] for row in read_back[:2]] == [1.0, float("inf")]
    assert read_back[0]["features"] == ["age"]
    assert isinstance(read_back[0]["probability_1"], float)
    assert read(predict(*options, rows="rows.parquet"))[0]["id"] == str(2**60 + 1)


def test_what_no_budget_buys_may_be_absent(place, predict):
    rows = without(place, "ecg")

    assert len(read(predict("--budget", "15.4", rows=rows))) == 3
    refused = predict("--budget", "1,15.5", rows=rows)
    assert refused.code == 2
    assert "'ecg'" in refused.err
    assert predict("--budget", "inf", rows=rows).code == 2


def test_member_of_a_bundle_may_be_absent_below_its_price(place, predict):
    rows = without(place, "echo2")

    assert predict("--budget", "8.9", rows=rows).code == 0
    assert predict("--budget", "9", rows=rows).code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--budget: must be given, or else --budget-from"),
        (("--budget", "1", "--budget-from", "purse"), "and not both"),
        (("--budget", "1,x"), "--budget: must be an amount"),
        (("--budget", "1", "--keep", "idd"), "--keep: must be a column of the table"),
        (("--budget-from", "pursy"), "the nearest is 'purse'"),
        (("--budget-from", "chol"), "column chol: must be an amount"),
        (("--budget-from", "chol"), "found nothing in row 2"),
    ],
)
def test_wrong_option_is_refused_with_its_name(predict, options, words):
    finished = predict(*options)

    assert finished.code == 2
    assert words in finished.err


def test_table_without_rows_is_refused(place, predict):
    (place / "none.csv").write_text(HEADER + "\n")

    assert "at least one row" in predict("--budget-from", "purse", rows="none.csv").err
    assert "at least one row" in predict("--budget", "1", rows="none.csv").err


@pytest.fixture
def worse(place):
    """A model whose curve errs more with 2 than with 1."""
    curve = curve_of((0.4, 0.1, 0.3, 0.05))
    text = model_text(Model("m", clinic(), "disease", curve=curve))
    (place / "m.json").write_text(text)


@pytest.mark.usefixtures("worse")
def test_budget_that_errs_more_is_not_spent(predict):
    chosen, exact = predict("--budget", "2"), predict("--budget", "2", "--exact-budget")

    assert {row["budget_used"] for row in read(chosen)} == {"1"}
    assert "budget 2.00" in chosen.err
    assert "--exact-budget" in chosen.err
    assert "budget_used" not in read(exact)[0]
    assert "--exact-budget" not in exact.err
    cheaper = read(predict("--budget", "1"))
    assert [row["spend"] for row in read(chosen)] == [row["spend"] for row in cheaper]
    assert [row["spend"] for row in read(exact)] != [row["spend"] for row in cheaper]


@pytest.mark.usefixtures("worse")
def test_each_row_of_several_budgets_says_which_was_used(predict):
    rows = read(predict("--budget", "1,2,inf"))

    used = {row["budget"]: row["budget_used"] for row in rows}
    assert used == {"1": "1", "2": "1", "inf": "inf"}


@pytest.mark.usefixtures("worse")
def test_budgets_of_a_column_are_chosen_row_by_row(place, predict):
    text = (place / "rows.csv").read_text().replace(",20.5", ",2")
    (place / "purses.csv").write_text(text)

    rows = read(predict("--budget-from", "purse", rows="purses.csv"))

    assert [row["budget_used"] for row in rows] == ["1", "inf", "1"]


@pytest.mark.usefixtures("worse")
@pytest.mark.parametrize("budget", ["1", "1.5", "inf"])
def test_other_budgets_are_spent_as_they_are(predict, budget):
    done = predict("--budget", budget)

    assert "budget_used" not in read(done)[0]
    assert done.err == ""


@pytest.mark.usefixtures("worse")
def test_policy_that_is_named_spends_what_it_is_given(predict):
    assert "budget_used" not in read(predict("--budget", "2", "--policy", "sample"))[0]


@pytest.mark.usefixtures("worse")
def test_at_other_prices_the_curve_says_nothing(place, predict):
    features = clinic().catalogue.features
    costs = {feature.name: 1.5 for feature in features if feature.group != "echo"}
    (place / "prices.json").write_text(json.dumps({"costs": costs}))

    done = predict("--budget", "2", "--prices", place / "prices.json")

    assert "budget_used" not in read(done)[0]


@pytest.mark.parametrize(("is_exact", "used"), [(False, MICROS), (True, 2 * MICROS)])
def test_order_says_whether_a_budget_is_spent_that_errs_more(is_exact, used):
    stored = Model("m", clinic(), curve=curve_of((0.4, 0.1, 0.3, 0.05)))

    order = parse_predict_order({"budgets": [2], "exact_budget": is_exact}, stored)

    assert order.choose_budget(stored.ensemble, 2 * MICROS) == used
