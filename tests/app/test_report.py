"""The printable page of a model."""

from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from app.documents.files import model_text
from app.terminal.report import report_page
from core.model.model import Curve, Model
from tests.app.clinic import clinic

UNIT = 1_000_000
CURVE = Curve(
    budgets=(0, 2 * UNIT, None),
    errors=(0.5, 0.3, 0.2),
    errors_calibrated=(0.4, 0.3, 0.2),
    mean_spends=(0.0, 1.5e6, 3e6),
    max_spends=(0, 2 * UNIT, 4 * UNIT),
    n_samples=100,
)


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
    page = report_page(Model("m", clinic(), "disease", curve=CURVE), [14 * UNIT, None])

    told = words(page)
    assert "14.00 CAD: errs in 30 % of cases (22 % to 40 %)" in told
    assert "without a budget: errs in 20 % of cases (13 % to 29 %)" in told
    assert "Age" in told


def test_budgets_are_those_of_the_curve_where_none_are_named() -> None:
    told = words(report_page(Model("m", clinic(), "disease", curve=CURVE)))

    assert "2.00 CAD: errs in 30 %" in told
    assert told.count("errs in") == 2


def test_model_without_a_curve_has_a_page_of_parts_of_the_whole_price() -> None:
    page = report_page(Model("m", clinic(), "disease"))

    assert page.count("<section>") == 5
    assert "errs in" not in page
    assert "<svg" not in page


def test_budget_below_every_price_says_so() -> None:
    assert "It pays for nothing." in report_page(Model("m", clinic(), "d"), [1])


def test_names_are_shown_as_they_are_written() -> None:
    classes = (replace(clinic().classes[0], display="<b>&"), clinic().classes[1])
    model = Model("<i>", replace(clinic(), classes=classes), "disease", curve=CURVE)

    page = report_page(model)

    assert "<i>" not in page
    assert "<b>" not in page
    assert "<b>&" in words(page)
    start, end = page.index("<svg"), page.index("</svg>") + len("</svg>")
    assert ElementTree.fromstring(page[start:end]).tag == "svg"


def test_command_writes_the_page(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(model_text(Model("m", clinic(), "disease")))

    finished = run(
        "report", tmp_path / "m.json", "--budgets", "3,inf", "-o", tmp_path / "m.html"
    )

    assert finished.code == 0
    assert "3.00 CAD" in words((tmp_path / "m.html").read_text())
    refused = run("report", tmp_path / "m.json", "--budgets", "x", "-o", "m.html")
    assert refused.code == 2
    assert "--budgets" in refused.err
