"""Several models side by side."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from askless.app.documents.files import model_text
from askless.core.model.model import Curve, Model
from tests.app.clinic import clinic
from tests.small import MICROS

CURVE = Curve(
    budgets=(0, 2 * MICROS, None),
    errors=(0.5, 0.3, 0.2),
    errors_calibrated=(0.5, 0.3, 0.2),
    mean_spends=(0.0, 1.5e6, 3e6),
    max_spends=(0, 2 * MICROS, 4 * MICROS),
    n_samples=100,
)


@pytest.fixture
def place(tmp_path):
    """Two models with curves, one without, and rows with their classes."""
    short = replace(clinic(), hypotheses=clinic().hypotheses[:1], alphas=(1.0,))
    better = replace(CURVE, errors_calibrated=(0.5, 0.2, 0.1))
    for name, ensemble, curve in (
        ("whole", clinic(), CURVE),
        ("short", short, better),
        ("bare", clinic(), None),
    ):
        text = model_text(Model(name, ensemble, "disease", curve=curve))
        (tmp_path / f"{name}.json").write_text(text)
    rows = ["age,sex,chol,fbs,ecg,echo1,echo2,disease,person"]
    rows += [f"{30 + n},male,250,true,1,1,2,{n % 2},{n // 4}" for n in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.fixture
def compare(place, run):
    def compared(names, *options):
        return run("compare", *(place / name for name in names.split()), *options)

    return compared


def test_held_out_rows_are_compared_without_a_table(compare):
    finished = compare("whole.json short.json", "--budgets", "1,3,inf")

    assert finished.code == 0
    for words in ("held-out", "whole", "short", "30.0 %", "20.0 %", "10.0 %"):
        assert words in finished.out
    assert "may be chance" in finished.out
    assert "more than" not in finished.out


def test_same_rows_tell_differences_with_intervals(compare):
    finished = compare("whole.json short.json rows.csv", "--budgets", "0,inf", "--json")
    first, second = json.loads(finished.out)

    assert first["difference"] is None
    gap = second["difference"][1]
    errors = [result["curve"]["error_calibrated"][1] for result in (first, second)]
    assert gap["value"] == pytest.approx(errors[1] - errors[0])
    assert gap["interval"][0] <= gap["value"] <= gap["interval"][1]
    shown = compare("whole.json short.json rows.csv", "--budgets", "0,inf").out
    assert "than the first" in " ".join(shown.split())


def test_rows_that_belong_together_widen_differences(compare):
    names, options = "whole.json short.json rows.csv", ("--budgets", "inf", "--json")
    _, apart = json.loads(compare(names, *options).out)
    _, grouped = json.loads(compare(names, *options, "--group-by", "person").out)

    assert grouped["difference"][0]["value"] == apart["difference"][0]["value"]
    assert grouped["difference"][0]["interval"] != apart["difference"][0]["interval"]


def test_models_of_one_name_are_called_as_their_files(place, compare):
    (place / "again.json").write_text((place / "whole.json").read_text())

    told = json.loads(compare("whole.json again.json", "--json").out)

    assert [entry["name"] for entry in told] == ["whole", "again"]


def test_chart_is_written_as_a_page_or_alone(place, compare):
    names = "whole.json short.json"

    compare(names, "-o", place / "c.html")
    compare(names, "-o", place / "c.svg")

    page = (place / "c.html").read_text()
    assert page.count("<svg") == 1
    assert "whole: error" in page
    alone = (place / "c.svg").read_text()
    assert ElementTree.fromstring(alone).tag.endswith("}svg")
    assert "--series-2: " in alone


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("whole.json", "models: must be two or more"),
        ("whole.json rows.csv", "models: must be two or more"),
        ("whole.json bare.json", "bare: must have a curve"),
        ("whole.json other.json", "other.json: cost_unit: must be as in"),
    ],
)
def test_what_can_not_be_compared_is_refused(place, compare, names, words):
    catalogue = replace(clinic().catalogue, cost_unit="EUR")
    other = Model("other", replace(clinic(), catalogue=catalogue), "disease")
    (place / "other.json").write_text(model_text(other))

    finished = compare(names)

    assert finished.code == 2
    assert words in finished.err
