"""Parts of a training in processes of their own come to the model of one process."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from askless.app.documents.files import model_text
from askless.app.processes import parts
from askless.app.processes.child import ChildLostError
from askless.app.processes.memory import is_memory_short
from askless.app.processes.parts import PartProcesses, choose_runner
from askless.core.codes.binned_table import code_table
from askless.core.errors import RefusedError
from askless.core.pipeline.parts import run_one_by_one
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.selection.params import SelectionParams
from askless.core.table.check import CheckedTable
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from tests.baselines import mixed

PLAIN = TrainingSpec(
    TableSpec("y"), boost=BoostParams("adaboost_bt_smoothed", rounds=30), folds=3
)
LONG = replace(PLAIN, boost=replace(PLAIN.boost, rounds=300, learner="tree"))


@pytest.fixture(scope="module")
def checked():
    return CheckedTable(mixed(3, n_samples=200, noise=0.8), None, ())


@pytest.fixture(scope="module")
def alone(checked):
    """The rounds and the model that one process makes."""
    return followed(train(checked, PLAIN))


def followed(training):
    told = []
    while True:
        try:
            told.append(next(training))
        except StopIteration as end:
            return rounds_of(told), model_text(end.value)


def rounds_of(progresses):
    return [
        (share.part, share.added) for share in progresses if share.added is not None
    ]


def is_there(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def pids_of(runner):
    return [process.child.pid for process in runner._processes]


@pytest.mark.parametrize("n_processes", [1, 2, 5])
def test_any_number_of_processes_makes_the_same_model(checked, alone, n_processes):
    runner = PartProcesses(n_processes)

    made = followed(train(checked, PLAIN, run_parts=runner))

    assert made == alone
    assert not any(map(is_there, pids_of(runner)))


def test_ladders_fitted_together_are_the_same_in_any_number_of_processes():
    checked = CheckedTable(mixed(3, n_samples=130), None, ())
    params = BoostParams("auto", rounds=3, effort="fast")
    spec = replace(PLAIN, boost=params, folds=4)

    made = [
        followed(train(checked, spec, run_parts=runner))
        for runner in (run_one_by_one, PartProcesses(2))
    ]

    assert made[0] == made[1]


def test_each_fold_tells_its_curve_once(checked):
    told = list(train(checked, PLAIN, run_parts=PartProcesses(2)))

    tested = [progress for progress in told if progress.tested is not None]
    assert [progress.part for progress in tested] == [0, 1, 2]
    assert sum(progress.tested.n_samples for progress in tested) == 200


def test_interrupted_training_goes_on_in_processes(checked, alone):
    told, model = alone
    done = {part: [] for part, _ in told[:50]}
    for part, added in told[:50]:
        done[part].append(added)

    training = train(checked, PLAIN, done, PartProcesses(2))

    assert model_text(run_to_end(training)) == model


def test_process_that_is_killed_is_replaced_and_goes_on(checked):
    runner = PartProcesses(2)
    training = train(checked, LONG, run_parts=runner)
    before = rounds_of(next(training) for _ in range(50))
    for pid in pids_of(runner):
        os.kill(pid, signal.SIGKILL)

    after, model = followed(training)

    assert runner.n_deaths == 2
    assert (before + after, model) == followed(train(checked, LONG))


BRIEF = """
from dataclasses import replace
from askless.app.processes.parts import PartProcesses
from askless.core.pipeline.train import train
from askless.core.table.check import CheckedTable
from askless.core.work import run_to_end
from tests.app.test_parts import PLAIN
from tests.baselines import mixed

if __name__ == "__main__":
    checked = CheckedTable(mixed(3, n_samples=200, noise=0.8), None, ())
    spec = replace(PLAIN, boost=replace(PLAIN.boost, rounds=2))
    run_to_end(train(checked, spec, run_parts=PartProcesses(2)))
"""


def test_processes_leave_nothing_that_the_interpreter_warns_of(tmp_path):
    script = tmp_path / "brief.py"
    script.write_text(BRIEF)

    ended = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        check=True,
        capture_output=True,
        text=True,
    )

    assert ended.stderr == ""


@pytest.mark.parametrize(
    ("number", "is_out_of_memory"),
    [(signal.SIGKILL, True), (signal.SIGTERM, False)],
)
def test_processes_that_die_again_and_again_end_the_training(
    checked, number, is_out_of_memory
):
    runner = PartProcesses(1)
    training = train(checked, LONG, run_parts=runner)

    def kill_each():
        killed = set()
        for _ in training:
            for pid in set(pids_of(runner)) - killed:
                os.kill(pid, number)
                killed.add(pid)

    with pytest.raises(ChildLostError, match="process of part 0 ended with") as lost:
        kill_each()
    assert is_memory_short(lost.value) == is_out_of_memory
    assert runner.n_deaths == parts.MAX_DEATHS + 1
    assert not any(map(is_there, pids_of(runner)))


def test_training_that_is_given_up_leaves_no_process(checked):
    runner = PartProcesses(2)
    training = train(checked, LONG, run_parts=runner)
    next(training)
    pids = pids_of(runner)

    training.close()

    assert len(pids) == 2
    assert not any(map(is_there, pids))


def test_signs_of_life_come_while_a_part_is_long(checked, monkeypatch):
    monkeypatch.setattr(parts, "WAIT_S", 0.001)
    told = list(train(checked, PLAIN, run_parts=PartProcesses(2)))

    shares = [one.share for one in told]
    assert shares == sorted(shares)


def test_what_a_part_refuses_is_refused(checked):
    params = BoostParams("cascade", rounds=2, detection=0.999, false_alarm=0.001)
    spec = replace(PLAIN, boost=params)

    with pytest.raises(RefusedError, match="stage 1 must pass at most"):
        run_to_end(train(checked, spec, run_parts=PartProcesses(2)))


def test_processes_are_taken_where_they_pay(monkeypatch):
    monkeypatch.setattr(parts.kernels, "count_threads", lambda: 4)
    table = code_table(mixed(3, n_samples=200))
    slow = replace(PLAIN, boost=BoostParams("auto"))

    def processes_for(spec, n_processes=None):
        runner = choose_runner(table, spec, n_processes)
        return 1 if runner is run_one_by_one else runner.n_processes

    assert processes_for(slow) == 1
    monkeypatch.setattr(parts, "LEAST_CELLS", 1)
    assert processes_for(PLAIN) == 1
    assert processes_for(slow) == 4
    assert processes_for(replace(slow, folds=2)) == 3
    assert processes_for(replace(PLAIN, selection=SelectionParams())) == 4
    assert processes_for(replace(PLAIN, auto=frozenset({"rounds"}))) == 4
    assert processes_for(PLAIN, 2) == 2
    assert processes_for(slow, 1) == 1
    monkeypatch.setattr(parts, "available_bytes", lambda: 700_000_000)
    assert processes_for(slow) == 2
    monkeypatch.setattr(parts, "available_bytes", lambda: None)
    assert processes_for(slow) == 4
