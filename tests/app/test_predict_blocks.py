"""Tables predicted part by part come out as the whole, whatever the parts."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from app.batch import predicting, sources
from app.batch.processes import ProcessLostError, work_through
from app.batch.sources import StreamedRows
from app.documents.files import model_text
from app.ingest.streams import open_table
from core.errors import Refusal, RefusedError
from core.model.model import Model
from tests.app.clinic import clinic

N_ROWS = 97
ROOT = Path(__file__).resolve().parents[2]


def made_columns():
    random = np.random.default_rng(7)
    gaps = random.random(N_ROWS) < 0.2
    return {
        "id": pa.array(range(2**60, 2**60 + N_ROWS)),
        "who": pa.array([f"case {row % 5}" for row in range(N_ROWS)]),
        "age": pa.array(random.integers(20, 90, N_ROWS)),
        "sex": pa.array(random.choice(["male", "female", "x"], N_ROWS)),
        "chol": pa.array(random.integers(150, 300, N_ROWS), mask=gaps),
        "fbs": pa.array(random.random(N_ROWS) < 0.5),
        "ecg": pa.array(random.integers(1, 4, N_ROWS)),
        "echo1": pa.array(random.integers(1, 3, N_ROWS)),
        "echo2": pa.array(random.integers(1, 6, N_ROWS), mask=~gaps),
        "purse": pa.array(random.choice(["0", "4", "20.5", "inf"], N_ROWS)),
        "broken": pa.array(["?"] * N_ROWS),
    }


@pytest.fixture(params=["ordered", "sample"])
def place(tmp_path, request):
    text = model_text(Model("m", clinic(request.param), "disease"))
    (tmp_path / "m.json").write_text(text)
    write(tmp_path, made_columns(), N_ROWS)
    return tmp_path


def write(place, columns, group_rows):
    table = pa.table(columns)
    path = place / "t.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=group_rows)


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


@pytest.mark.parametrize("options", [("--budget", "4,inf"), ("--budget-from", "purse")])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_row_groups_change_no_byte(place, predict, options, out, monkeypatch):
    whole, expected = predict(*options, out=out)
    write(place, made_columns(), 13)
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
    write(tmp_path, {"a": pa.array(range(40))}, 30)
    monkeypatch.setattr(sources, "PART_ROWS", 3)
    table = open_table(tmp_path / "t.parquet")

    rows = StreamedRows(table)

    assert rows.spans == rows.share(1).spans == [(0, 30), (30, 40)]
    assert rows.share(2).spans[:2] == [(0, 5), (5, 10)]
    assert rows.share(9).spans[-2:] == [(36, 39), (39, 40)]
    assert replace(rows, part_rows=12).spans == [(0, 12), (12, 24), (24, 30), (30, 40)]


@pytest.mark.parametrize("place", ["sample"], indirect=True)
def test_processes_change_no_byte(place, predict):
    _, expected = predict("--budget", "4,inf")
    write(place, made_columns(), 13)

    finished, found = predict("--budget", "4,inf", "--processes", "2")

    assert finished.code == 0, finished.err
    assert found == expected


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("place", ["ordered"], indirect=True)
def test_refusal_names_rows_of_the_whole_table(place, predict, processes):
    columns = made_columns()
    ages = [str(age) for age in columns["age"].to_pylist()]
    for row in (15, 30, 31, 90):
        ages[row] = "old"
    columns |= {"age": pa.array(ages), "fbs": pa.array(["so"] * N_ROWS)}
    del columns["ecg"]
    write(place, columns, N_ROWS)
    whole, _ = predict("--budget", "inf")
    write(place, columns, 13)

    parted, _ = predict("--budget", "inf", "--processes", processes)

    assert parted.code == 2
    assert parted.err == whole.err
    for words in ("in row 16, ", "in row 31, ", "in row 32 and 1 more", "'ecg'"):
        assert words in parted.err
    assert sorted(one.name for one in place.iterdir()) == ["m.json", "t.parquet"]


def test_wrong_budgets_are_named_by_rows_of_the_whole_table(place, predict):
    columns = made_columns()
    purses = columns["purse"].to_pylist()
    purses[50] = "much"
    write(place, columns | {"purse": pa.array(purses)}, 13)

    finished, _ = predict("--budget-from", "purse")

    assert "found 'much' in row 51" in finished.err


def test_refused_table_leaves_the_older_result(place, predict):
    _, expected = predict("--budget", "1")
    columns = made_columns()
    ages = [str(age) for age in columns["age"].to_pylist()]
    write(place, columns | {"age": pa.array([*ages[:-1], "old"])}, 13)

    finished, _ = predict("--budget", "1")

    assert finished.code == 2
    assert (place / "out.parquet").read_bytes() == expected


def test_feature_that_no_hypothesis_reads_is_not_read(place, predict):
    columns = {"unread": pa.array([[1]] * N_ROWS)} | made_columns()
    write(place, columns, 13)

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


@pytest.mark.parametrize("number", [0, 3, 9])
def test_process_that_dies_is_an_error(number):
    with pytest.raises(ProcessLostError, match="was killed"):
        list(work_through(Kill(number), range(10), 2))


def test_results_come_in_order():
    assert list(work_through(Kill(-1), range(23), 3)) == list(range(23))


def test_refusal_comes_from_another_process_as_it_was():
    with pytest.raises(RefusedError) as caught:
        list(work_through(Refuse(), range(3), 2))

    assert caught.value.refusals == (Refusal("rows", "must be others", "0"),)


COORDINATOR = """
import os, time
from app.batch.processes import work_through
from tests.app.test_predict_blocks import Sleep

if __name__ == "__main__":
    for pid in work_through(Sleep(), range(4), 2):
        print(pid, flush=True)
"""


@dataclass(frozen=True)
class Sleep:
    """Work that says in which process it is, and then goes on for long."""

    def __call__(self, part):
        if part:
            threading.Event().wait(600)
        yield os.getpid()


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
