"""The printable page of a model."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from askless.app.documents.files import model_text
from askless.app.pages.models.report import render_report
from askless.app.terminal.transcript import value_text
from askless.app.words.charts.charts import NamedCurve
from askless.app.words.figures import RARE_NOTE
from askless.app.words.wording import percent
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import (
    Estimate,
    Figures,
    RareFigures,
    ReliabilityBin,
)
from askless.core.model.hypotheses import Stump
from askless.core.model.model import Curve, Model
from askless.core.simulation.effects import compute_effects
from tests.app.clinic import clinic
from tests.small import ensemble_of

UNIT = 1_000_000
CURVE = Curve(
    budgets=(0, 2 * UNIT, None),
    errors=(0.5, 0.3, 0.2),
    errors_calibrated=(0.4, 0.3, 0.2),
    mean_spends=(0.0, 1.5e6, 3e6),
    max_spends=(0, 2 * UNIT, 4 * UNIT),
    n_samples=100,
)


def short() -> Ensemble:
    """A model that reads the age alone: one chart of effects is soon drawn."""
    return replace(clinic(), hypotheses=clinic().hypotheses[:1], alphas=(1.0,))


class Tags(HTMLParser):
    """Which tags stand open, and every word."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def words(page: str) -> str:
    return "|".join(Tags(page).text)


def test_page_tells_what_is_bought_for_each_budget_named() -> None:
    page = render_report(Model("m", short(), "disease", curve=CURVE), [14 * UNIT, None])

    told = words(page)
    assert "14.00 CAD: errs in 30 % of cases (22 % to 40 %)" in told
    assert "Without a budget: errs in 20 % of cases (13 % to 29 %)" in told
    assert "Age" in told


def test_budgets_are_those_of_the_curve_where_none_are_named() -> None:
    told = words(render_report(Model("m", short(), "disease", curve=CURVE)))

    assert "2.00 CAD: errs in 30 %" in told
    # The plan at the knee, then one for each.
    assert told.count("errs in") == 3


def test_model_without_a_curve_has_a_page_of_parts_of_the_whole_price() -> None:
    page = render_report(Model("m", short(), "disease"))

    assert page.count("Spent by then") == 5
    assert "errs in" not in page
    assert "There is no curve of its error" in page


def test_budget_below_every_price_says_so() -> None:
    assert "It pays for nothing." in render_report(Model("m", short(), "d"), [1])


def test_names_are_shown_as_they_are_written() -> None:
    classes = (replace(clinic().classes[0], display="<b>&"), clinic().classes[1])
    model = Model("<i>", replace(short(), classes=classes), "disease", curve=CURVE)

    page = render_report(model)

    assert "<i>" not in page
    assert "<b>" not in page
    assert "<b>&" in words(page)
    start, end = page.index("<svg"), page.index("</svg>") + len("</svg>")
    assert ElementTree.fromstring(page[start:end]).tag.endswith("}svg")


ESTIMATE = Estimate(0.75, (0.6, 0.85))
FIGURES = Figures(
    auroc=ESTIMATE,
    log_loss=ESTIMATE,
    brier=ESTIMATE,
    calibration_error=Estimate(0.04, None),
    sensitivity=ESTIMATE,
    specificity=None,
    expected_cost=None,
    reliability=(ReliabilityBin(1.0, 0.31, ESTIMATE),),
)
WHOLE = replace(
    CURVE,
    predictive=(FIGURES,) * 3,
    purchases=((0.0,) * 7, (1.0, 0.5, *(0.0,) * 5), (1.0,) * 6 + (0.004,)),
)


def test_page_has_figures_and_purchases_as_charts_and_as_tables() -> None:
    page = render_report(Model("m", short(), "disease", curve=WHOLE))

    told = words(page)
    assert "0.750 (.60–.85)" in told
    assert "sensitivity: of 'ill', how many are found." in told
    assert "expected cost" not in told
    assert "budget 2.00" in told
    assert "Age|0 %|100 %|100 %" in told.replace("\n", "")
    # Error; reliability under the middle and the largest budget; margins; purchases;
    # effects.
    assert page.count("<svg") == 6


def test_page_of_a_rare_class_has_its_threshold_in_place_of_the_interval() -> None:
    rare = replace(FIGURES, rare=RareFigures(0.127, ESTIMATE, None))
    curve = replace(WHOLE, predictive=(rare,) * 3)

    told = words(render_report(Model("m", short(), "disease", curve=curve)))

    assert "|threshold|precision|recall|" in told.replace("\n", "")
    assert "0.127|75 %|-|" in told.replace("\n", "")
    assert "precision: of cases from the threshold on" in told
    assert RARE_NOTE in told
    assert RARE_NOTE not in words(render_report(Model("m", short(), "d", curve=WHOLE)))


def test_rows_of_a_table_stand_beside_those_of_training() -> None:
    tested = NamedCurve("new.csv", replace(WHOLE, n_samples=7))

    told = words(render_report(Model("m", short(), "d", curve=WHOLE), tested=tested))

    for part in ("Are its chances right?", "How often each feature is asked"):
        assert f"{part}| (held-out rows of training, 100 rows)" in told
        assert f"{part}| (new.csv, 7 rows)" in told


def test_page_needs_nothing_else_and_fits_dark_rooms_and_phones() -> None:
    page = render_report(Model("m", short(), "disease", curve=WHOLE))

    addresses = re.findall(r'(?:href|src)="(?!#)[^"]*"|url\((?!#)', page)
    assert addresses == []
    assert "<script" not in page
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    # Nothing is drawn in a colour that does not change with the page's.
    drawn = "".join(re.findall(r"<svg.*?</svg>", page, re.S))
    assert re.findall(r"#[0-9a-f]{6}\b(?=[;\"])", drawn) == []


def test_page_tells_what_each_answer_does() -> None:
    ensemble = clinic()
    found = compute_effects(ensemble)

    told = words(render_report(Model("m", ensemble, "disease"))).replace("\n", "")

    assert f"with all of these: ill {percent(found.typical[1])}." in told
    for one in found.features:
        feature = ensemble.catalogue.features[one.feature_idx]
        first, last = percent(one.chances[0, 1]), percent(one.chances[-1, 1])
        answer = value_text(ensemble, one.feature_idx, one.values[0])
        assert f"{feature.title}|{answer}|{first}|" in told
        assert f"not available|{last}|" in told


def test_effects_of_several_classes_are_drawn_for_each() -> None:
    stump = Stump(0, 0.5, (1, -1, -1))
    ensemble = ensemble_of([stump], n_classes=3)

    page = render_report(Model("m", ensemble, "y"))

    told = words(page).replace("\n", "")
    assert "Chance of class 0|Chance of class 1|Chance of class 2" in told
    assert "var(--series-3)" in page[page.index("<svg") :]


def test_command_measures_rows_of_a_table_too(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(model_text(Model("m", short(), "disease")))
    rows = ["age,sex,chol,fbs,ecg,echo1,echo2,disease"]
    rows += [f"{30 + 5 * n},male,200,true,1,1,2,{n % 2}" for n in range(9)]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    paths = (tmp_path / "m.json", tmp_path / "rows.csv")

    finished = run("report", *paths, "--budgets", "1,inf", "-o", tmp_path / "m.html")

    assert finished.code == 0
    told = words((tmp_path / "m.html").read_text())
    assert "How often each feature is asked| (rows.csv, 9 rows)" in told
    assert "held-out" not in told
    assert "Age|100 %|100 %" in told.replace("\n", "")


def test_command_writes_the_page(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(model_text(Model("m", short(), "disease")))

    finished = run(
        "report", tmp_path / "m.json", "--budgets", "3,inf", "-o", tmp_path / "m.html"
    )

    assert finished.code == 0
    assert "3.00 CAD" in words((tmp_path / "m.html").read_text())
    refused = run("report", tmp_path / "m.json", "--budgets", "x", "-o", "m.html")
    assert refused.code == 2
    assert "--budgets" in refused.err
