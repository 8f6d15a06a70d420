"""`evaluate --value-of-second`: rows played with the latencies of a log."""

import csv
import json
from pathlib import Path

import pytest

from askless.app import cli
from askless.core.errors import RefusedError
from tests.app.buying.conftest import shop
from tests.app.clinic import model_json

SECONDS = {"visits": 1.0, "firmo": 2.0, "score": 4.0}
ROWS = [
    ["fair", 60, "it", 20, 0.9, 1],
    ["web", 120, "law", 5, 0.1, 0],
    ["web", "", "", 12, 0.6, 1],
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.json").write_text(json.dumps(model_json(shop(), "shop")))
    with Path("rows.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "size", "industry", "visits", "score", "disease"])
        writer.writerows(ROWS)
    write_log(SECONDS)


def write_log(seconds: dict[str, float], column: str = "latency_s") -> None:
    with Path("calls.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "vendor", column])
        writer.writerow(["1", "", ""])
        writer.writerows(["1", *call] for call in seconds.items())


def evaluate(*more: str) -> None:
    command = ["evaluate", "model.json", "rows.csv", *more]
    cli.command_line(command, standalone_mode=False)


def measure(capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, float]]:
    evaluate("--latencies", "calls.csv", "--json", "--budgets", "inf", *more)
    points: list[dict[str, float]] = json.loads(capsys.readouterr().out)["points"]
    return points


def test_calls_together_save_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    one_by_one, together = measure(capsys, "--value-of-second", "100")

    assert (one_by_one["at_once"], together["at_once"]) == (1, 3)
    assert one_by_one["error"] == together["error"]
    assert together["mean_seconds"] < one_by_one["mean_seconds"]
    assert together["total"] < one_by_one["total"]
    for point in (one_by_one, together):
        money = point["mean_spend"] + 100 * point["mean_seconds"]
        assert point["total"] == pytest.approx(money)


def test_where_seconds_cost_next_to_nothing_nothing_is_bought_for_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one_by_one, together = measure(capsys, "--value-of-second", "1e-9")

    assert together["mean_spend"] == pytest.approx(one_by_one["mean_spend"])


def test_a_table_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate("--value-of-second", "1", "--latencies", "calls.csv", "--budgets", ".1,1")

    assert "Money and seconds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "more", "words"),
    [
        ({"visits": 1.0, "firmo": 2.0}, (), "add a row for these; found score"),
        (SECONDS | {"other": 1.0}, (), "features alone; found other"),
        (SECONDS | {"score": ""}, (), "add a row for these; found score"),
        (SECONDS | {"score": -1.0}, (), "at least 0: 1 are not; found -1.0"),
        (SECONDS | {"score": "soon"}, (), "at least 0: 1 are not; found soon"),
        (SECONDS, ("--disagreement", "0.1"), "beside --value-of-second"),
        (SECONDS, ("--threshold", "0.4"), "beside --value-of-second"),
        (SECONDS, ("--value-of-second", "0"), "both or none of the two"),
    ],
)
def test_a_log_that_does_not_fit_is_refused(
    seconds: dict[str, float], more: tuple[str, ...], words: str
) -> None:
    write_log(seconds)

    with pytest.raises(RefusedError, match=words):
        evaluate("--value-of-second", "1", "--latencies", "calls.csv", *more)


def test_a_log_without_seconds_is_refused() -> None:
    write_log(SECONDS, column="other")

    with pytest.raises(RefusedError, match="latency_s"):
        evaluate("--value-of-second", "1", "--latencies", "calls.csv")
