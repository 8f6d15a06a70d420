"""Tables predicted part by part come out as the whole, whatever the parts."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest

from askless.app.batch import predicting, sources
from askless.app.batch.sources import RowSource
from askless.app.processes.child import ChildLostError
from askless.app.processes.pool import map_in_processes
from askless.app.uploads.streams import open_table
from askless.core.errors import Refusal, RefusedError
from tests.app.cases import (
    N_ROWS,
    made_columns,
    with_cells,
    write_model,
    write_table,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=["ordered", "sample"])
def place(tmp_path, request):
    write_model(tmp_path, request.param)
    write_table(tmp_path, made_columns(), N_ROWS)
    return tmp_path


@pytest.fixture
def predict(place, run):
    def predicted(*options, out="out.parquet"):
        finished = run(
            "predict",
            place / "m.json",
            place / "t.parquet",
            "-o",
            place / out,
            "--keep",
            "id",
            "--keep",
            "who",
            *options,
        )
        return finished, (place / out).read_bytes() if finished.code == 0 else b""

    return predicted


@pytest.mark.parametrize(
    ("place", "options", "out"),
    [
        ("ordered", ("--budget", "4,inf"), "out.csv"),
        ("sample", ("--budget", "4,inf"), "out.parquet"),
        ("sample", ("--budget-from", "purse"), "out.csv"),
    ],
    indirect=["place"],
)
def test_row_groups_change_no_byte(place, predict, options, out, monkeypatch):
    whole, expected = predict(*options, out=out)
    write_table(place, made_columns())
    monkeypatch.setattr(predicting, "CHUNK", 5)

    parted, found = predict(*options, out=out)

    assert whole.code == parted.code == 0
    assert found == expected
    assert parted.err == whole.err
    assert "rows with categories that training did not see" in parted.err


def test_parts_of_a_csv_change_no_byte(place, run, monkeypatch):
    table = pa.table(made_columns())
    pa.csv.write_csv(table, place / "t.csv")
    options = ("--budget", "4,inf", "--keep", "id", "-o", "-")
    expected = run("predict", place / "m.json", place / "t.csv", *options)
    monkeypatch.setattr(sources, "PART_ROWS", 10)

    found = run("predict", place / "m.json", place / "t.csv", *options)

    assert (found.code, found.out) == (0, expected.out)
    assert expected.out.count("\n") == 2 * N_ROWS + 1


@pytest.mark.parametrize("place", ["sample"], indirect=True)
def test_large_row_group_is_read_in_parts(predict, monkeypatch):
    _, expected = predict("--budget-from", "purse")
    monkeypatch.setattr(sources, "PART_ROWS", 5)

    finished, found = predict("--budget-from", "purse", "--processes", "2")

    assert finished.code == 0, finished.err
    assert found == expected


def test_processes_get_parts_of_their_own(tmp_path, monkeypatch):
    write_table(tmp_path, {"a": pa.array(range(40))}, 30)
    monkeypatch.setattr(sources, "PART_ROWS", 3)
    table = open_table(tmp_path / "t.parquet")

    rows = RowSource(table)

    assert rows.spans == rows.share(1).spans == [(0, 30), (30, 40)]
    assert rows.share(2).spans[:2] == [(0, 5), (5, 10)]
    assert rows.share(9).spans[-2:] == [(36, 39), (39, 40)]
    assert replace(rows, part_rows=12).spans == [(0, 12), (12, 24), (24, 30), (30, 40)]


@pytest.mark.parametrize("place", ["sample"], indirect=True)
def test_processes_change_no_byte(place, predict):
    _, expected = predict("--budget", "4,inf")
    write_table(place, made_columns())

    finished, found = predict("--budget", "4,inf", "--processes", "2")

    assert finished.code == 0, finished.err
    assert found == expected


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("place", ["ordered"], indirect=True)
def test_refusal_names_rows_of_the_whole_table(place, predict, processes):
    columns = with_cells(made_columns(), "age", (15, 30, 31, 90), "old")
    columns |= {"fbs": pa.array(["so"] * N_ROWS)}
    del columns["ecg"]
    write_table(place, columns, N_ROWS)
    whole, _ = predict("--budget", "inf")
    write_table(place, columns)

    parted, _ = predict("--budget", "inf", "--processes", processes)

    assert parted.code == 2
    assert parted.err == whole.err
    for words in ("in row 16, ", "in row 31, ", "in row 32 and 1 more", "'ecg'"):
        assert words in parted.err
    assert sorted(path.name for path in place.iterdir()) == ["m.json", "t.parquet"]


def test_wrong_budgets_are_named_by_rows_of_the_whole_table(place, predict):
    write_table(place, with_cells(made_columns(), "purse", [50], "much"))

    finished, _ = predict("--budget-from", "purse")

    assert "found 'much' in row 51" in finished.err


def test_refused_table_leaves_the_older_result(place, predict):
    _, expected = predict("--budget", "1")
    write_table(place, with_cells(made_columns(), "age", [N_ROWS - 1], "old"))

    finished, _ = predict("--budget", "1")

    assert finished.code == 2
    assert (place / "out.parquet").read_bytes() == expected


def test_feature_that_no_hypothesis_reads_is_not_read(place, predict):
    columns = {"unread": pa.array([[1]] * N_ROWS)} | made_columns()
    write_table(place, columns)

    finished, _ = predict("--budget", "inf")

    assert finished.code == 0


@dataclass(frozen=True)
class Kill:
    """Work that kills its process at one part."""

    number: int

    def __call__(self, part):
        if part == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        yield part


@dataclass(frozen=True)
class Refuse:
    """Work that refuses each part."""

    def __call__(self, part):
        raise RefusedError([Refusal("rows", "must be others", str(part))])
        yield part


@pytest.mark.full
@pytest.mark.parametrize("number", [0, 3, 9])
def test_process_that_dies_is_an_error(number):
    with pytest.raises(ChildLostError, match="was killed"):
        list(map_in_processes(Kill(number), range(10), 2))


def test_results_come_in_order():
    assert list(map_in_processes(Kill(-1), range(23), 3)) == list(range(23))


def test_refusal_comes_from_another_process_as_it_was():
    with pytest.raises(RefusedError) as caught:
        list(map_in_processes(Refuse(), range(3), 2))

    assert caught.value.refusals == (Refusal("rows", "must be others", "0"),)


COORDINATOR = """
import os, time
from askless.app.processes.pool import map_in_processes
from tests.app.test_predict_blocks import Sleep

if __name__ == "__main__":
    for pid in map_in_processes(Sleep(), range(4), 2):
        print(pid, flush=True)
"""


@dataclass(frozen=True)
class Sleep:
    """Work that says in which process it is, and then goes on for long."""

    def __call__(self, part):
        if part:
            threading.Event().wait(600)
        yield os.getpid()


@pytest.mark.full
def test_processes_end_with_the_one_that_started_them(tmp_path):
    script = tmp_path / "coordinator.py"
    script.write_text(COORDINATOR)
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as started:
        pid = int(started.stdout.readline())
        started.kill()

    deadline = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < deadline:
        threading.Event().wait(0.05)

    assert not is_running(pid)


def is_running(pid):
    """Whether a process is there, and not just its exit code."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
