"""`askless select`, and `askless train` with a selection."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from askless.app.terminal import selected
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.selection.search import Selection

ROWS = 120
SPEC = {
    "name": "small",
    "target": "y",
    "cost_unit": "EUR",
    "features": [
        {"name": "noise", "type": "number", "cost": 3},
        {"name": "one", "type": "number", "cost": 1.5, "group": "visit"},
        {"name": "other", "type": "boolean", "cost": 2, "group": "visit"},
    ],
    "groups": [{"name": "visit", "fee": 4}],
    "algorithm": "adaboost_bt_smoothed",
    "params": {"rounds": 5},
    "validation": {"folds": 2},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("select")
    generator = np.random.default_rng(1)
    lines, useless = ["noise,one,other,y"], ["noise,one,other,y"]
    for row in range(ROWS):
        noise, one = generator.normal(size=2)
        other = generator.integers(0, 2)
        y = "sick" if one + 2 * other + generator.normal() / 2 > 1 else "well"
        lines.append(f"{noise:.3f},{one:.3f},{other},{y}")
        useless.append(f"1,1,0,{'sick' if row % 3 else 'well'}")
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    (folder / "useless.csv").write_text("\n".join(useless) + "\n")
    (folder / "spec.json").write_text(json.dumps(SPEC))
    with_selection = SPEC | {"selection": {"method": "sfs", "rounds": 7}}
    (folder / "selection.json").write_text(json.dumps(with_selection))
    return folder


@pytest.fixture
def select(place: Path, run: Any) -> Any:
    def run_select(
        *options: object, data: str = "data.csv", spec: str = "spec.json"
    ) -> Any:
        return run("select", place / data, "--spec", place / spec, *options)

    return run_select


def test_subset_path_and_cost_are_shown(select: Any) -> None:
    code, out, err = select()

    assert (code, err) == (0, "")
    assert "price (EUR)" in out
    assert "2 of 3 features for 7.50 EUR" in out
    words = [line.split("│")[1:-1] for line in out.splitlines() if "│" in line]
    steps = [[cell.strip() for cell in row] for row in words if len(row) == 6]
    assert [(row[0], row[1], row[5]) for row in steps] == [
        ("", "none", ""),
        ("1", "other", "yes"),
        ("2", "one", "yes"),
        ("3", "noise", "no"),
    ]
    subset = [[cell.strip() for cell in row] for row in words if len(row) == 2]
    assert subset == [["other", "6.00"], ["one", "1.50"]]


def test_json_is_one_object(select: Any) -> None:
    code, out, _ = select("--json")

    told = json.loads(out)
    assert code == 0
    assert out.count("\n") == 1
    assert told["features"] == [
        {"name": "other", "price": 6.0},
        {"name": "one", "price": 1.5},
    ]
    assert (told["cost"], told["unit"]) == (7.5, "EUR")
    assert (told["method"], told["learner"]) == ("fs2boost", "knn")
    assert told["value"] < told["empty_value"]
    assert 0.5 < told["accuracy"] <= 1
    assert [step["is_taken"] for step in told["steps"]] == [True, True, False]
    assert [step["cost"] for step in told["steps"]] == [6.0, 7.5, 10.5]
    assert "micros" not in out


@pytest.mark.parametrize(
    ("options", "used"),
    [
        ((), ("sfs", "knn", 7)),
        (("--method", "ifs2boost", "--learner", "stump"), ("ifs2boost", "stump", 7)),
    ],
)
def test_selection_of_the_spec_is_used_but_for_options(
    select: Any, options: tuple[str, ...], used: tuple[str, str, int]
) -> None:
    _, out, _ = select("--json", *options, spec="selection.json")

    told = json.loads(out)
    assert (told["method"], told["learner"], told["rounds"]) == used


def test_nothing_worth_knowing_is_an_answer(select: Any) -> None:
    code, out, err = select(data="useless.csv")

    assert code == 0
    assert "0 of 3 features for 0.00 EUR" in out
    assert "Selected" not in out
    assert "noise: constant" in err


@pytest.mark.parametrize("method", ["fs2boost", "ifs2boost", "sfs"])
def test_value_is_called_what_it_is(select: Any, method: str) -> None:
    _, out, _ = select("--method", method, "--learner", "stump")

    word = {"fs2boost": " Z ", "ifs2boost": " Z' ", "sfs": " accuracy "}[method]
    assert word in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "best"), "--method: must be one of fs2boost, ifs2boost, sfs"),
        (("--learner", ""), "--learner: must be one of knn, stump; found ''"),
    ],
)
def test_wrong_option_is_refused(
    select: Any, arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = select(*arguments)

    assert (code, out) == (2, "")
    assert words in err


def test_names_are_no_markup() -> None:
    catalogue = Catalogue((Feature("[red]x"),))
    found = Selection("sfs", "knn", (0,), 1_000_000, 0.5, (), 0.5, 0)
    console = Console()

    with console.capture() as captured:
        console.print(selected.build_subset_table(catalogue, found))

    assert "[red]x" in captured.get()


def test_training_tells_its_selection(run: Any, place: Path) -> None:
    out, spec = place / "model.json", place / "selection.json"

    finished = run("train", place / "data.csv", "--spec", spec, "-o", out)

    assert finished.code == 0
    card = json.loads(out.read_text())["card"]
    assert card["selection"]["method"] == "sfs"
    assert set(card["features_used"]) <= set(card["selection"]["features"])
    assert set(card["selection"]["features"]) >= {"one", "other"}
