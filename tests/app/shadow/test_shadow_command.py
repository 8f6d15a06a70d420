"""`askless shadow`: from a log to a report, and what it refuses."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askless.app import cli
from askless.core.errors import RefusedError

# A rule without panels: trained at once, it takes no aims.
SPEC = {
    "name": "made",
    "target": "outcome",
    "positive": "good",
    "classes": {"good": "good", "bad": "bad"},
    "cost_unit": "USD",
    "features": [
        {"name": "source", "type": "category", "cost": 0},
        {"name": "score", "type": "number", "group": "mail"},
        {"name": "staff", "type": "number", "group": "firm"},
    ],
    "groups": [
        {"name": "mail", "price": 0.1, "billing": "per_call"},
        {"name": "firm", "price": 1.0},
    ],
    "algorithm": "adaboost_bt_smoothed",
    "params": {"rounds": 8},
    "validation": {"folds": 2},
}


def write_log(n_cases: int = 240, *, has_outcomes: bool = True) -> str:
    """A waterfall that asks mail, then firm unless the score is clear."""
    random, file = np.random.default_rng(0), StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = ["case", "decided_at", "vendor", "latency_s", "source", "score", "staff"]
    writer.writerow([*names, "decision", *(["outcome"] * has_outcomes)])
    for number in range(n_cases):
        trait = random.normal()
        score, staff = trait + random.normal(), trait + 0.3 * random.normal()
        label = "good" if staff + score > 0 else "bad"
        truth = ["good" if trait > 0 else "bad"] * has_outcomes
        day = f"2026-{1 + number // 80:02}-{1 + number // 4 % 20:02}T08:00:00Z"
        head, source = [f"c{number}", day], random.choice(["fair", "web"])
        writer.writerow(
            [*head, "mail", "0.5", source, f"{score:.4f}", "", label, *truth]
        )
        if abs(score) < 1:
            firm = [*head, "firm", "2", source, "", f"{staff:.4f}", label, *truth]
            writer.writerow(firm)
    return file.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(write_log())
    Path("spec.json").write_text(json.dumps(SPEC))
    return tmp_path


def shadow(*more: str, log: str = "log.csv") -> None:
    cli.command_line(
        ["shadow", log, "--spec", "spec.json", *more], standalone_mode=False
    )


@pytest.mark.usefixtures("folder")
def test_a_log_becomes_a_mapping_and_a_report(
    capfd: pytest.CaptureFixture[str],
) -> None:
    shadow("--init", "-o", "mapping.json")
    shadow("--mapping", "mapping.json", "-o", "shadow.html")

    mapping = json.loads(Path("mapping.json").read_text())
    assert mapping["layout"] == "calls"
    printed = capfd.readouterr().out
    assert "Your waterfall costs" in printed
    page = Path("shadow.html").read_text()
    assert "What each vendor is worth" in page
    assert "How long vendors took" in page


@pytest.mark.usefixtures("folder")
def test_json_says_what_was_replayed(capfd: pytest.CaptureFixture[str]) -> None:
    shadow("--json", "--older", "0.5")

    document = json.loads(capfd.readouterr().out)
    assert document["older_cases"] + document["cases"] == 240
    assert document["aim"] == "none"
    assert document["learnt"] == "outcomes"
    assert 0 < document["supported"]["value"] < 1
    bounds = document["spend"]
    assert bounds["least"] < bounds["most"]
    assert document["problems"] == {}
    medians = {line["vendor"]: line["median"] for line in document["latencies"]}
    assert medians == {"mail": 0.5, "firm": 2.0}


@pytest.mark.usefixtures("folder")
def test_without_outcomes_decisions_are_learnt(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Path("log.csv").write_text(write_log(has_outcomes=False))

    shadow("--json")

    document = json.loads(capfd.readouterr().out)
    assert document["learnt"] == "decisions"
    assert document["error_logged"]["value"] == 0


@pytest.mark.usefixtures("folder")
def test_costs_of_errors_are_prices(capfd: pytest.CaptureFixture[str]) -> None:
    costs = {"good": {"bad": 4.0}, "bad": {"good": 2.0}}
    Path("spec.json").write_text(json.dumps(SPEC | {"error_costs": costs}))

    shadow("--json")

    document = json.loads(capfd.readouterr().out)
    assert 0 < document["error_logged"]["value"] < 4


@pytest.mark.usefixtures("folder")
def test_problems_are_warned_of(capfd: pytest.CaptureFixture[str]) -> None:
    with Path("log.csv").open("a") as file:
        file.write(",2026-01-01,mail,1,fair,1,,good,good\n")

    shadow("-o", "shadow.html")

    assert "1 rows name no case" in capfd.readouterr().err
    assert "1 rows name no case" in Path("shadow.html").read_text()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--out: is required"),
        (("--init",), "--out: is required"),
        (("--json", "--error-price", "0"), "--error-price: must be an amount above 0"),
        (("--json", "--error-price", "inf"), "--error-price: must be"),
        (("-o", "nowhere/shadow.html"), "its folder must exist"),
    ],
)
def test_wrong_options_are_refused(options: tuple[str, ...], words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        shadow(*options)

    assert words in str(refused.value)


@pytest.mark.usefixtures("folder")
def test_few_cases_are_refused_with_what_was_left_out() -> None:
    text = write_log(60).splitlines()
    text += [
        text[1].replace("c0,", f"x{number},").replace("2026", "20y6")
        for number in range(3)
    ]
    Path("few.csv").write_text("\n".join(text) + "\n")

    with pytest.raises(RefusedError) as refused:
        shadow("--json", log="few.csv")

    assert "must have 50 cases or more" in str(refused.value)
    assert "3 cases have no readable time" in str(refused.value)


@pytest.mark.usefixtures("folder")
def test_a_log_without_a_call_that_counts_is_refused_with_what_was_left_out() -> None:
    text = write_log(200).replace("mail", "post").replace("firm", "firma")
    Path("none.csv").write_text(text)

    with pytest.raises(RefusedError) as refused:
        shadow("--json", log="none.csv")

    assert "must have calls of the spec's vendors" in str(refused.value)
    assert "of a vendor that the spec does not have" in str(refused.value)


@pytest.mark.usefixtures("folder")
def test_a_mapping_that_cannot_be_guessed_is_asked_for() -> None:
    text = Path("log.csv").read_text().replace("decided_at", "when_it_was")
    Path("log.csv").write_text(text)

    with pytest.raises(RefusedError) as refused:
        shadow("--json")

    assert "--mapping: is required" in str(refused.value)
    assert "decided_at" in str(refused.value)


@pytest.mark.usefixtures("folder")
def test_an_unknown_field_of_a_mapping_is_refused() -> None:
    mapping: dict[str, Any] = {"layout": "calls", "case": "case", "decider": "me"}
    Path("mapping.json").write_text(json.dumps(mapping))

    with pytest.raises(RefusedError) as refused:
        shadow("--json", "--mapping", "mapping.json")

    assert "mapping.decider" in str(refused.value)
    assert "mapping.decided_at" in str(refused.value)
