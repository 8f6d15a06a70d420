"""Trainings whose whole fits the panels of its folds with its own."""

import pickle
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from askless.core.codes.binned_table import code_table
from askless.core.panels.effort import EFFORTS
from askless.core.panels.ladders import fit_ladders
from askless.core.panels.rows import PanelRows
from askless.core.pipeline import parts
from askless.core.pipeline.parts import PartJob, RunningParts, run_part_job
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import (
    LEAST_JOINT,
    LEAST_ROWS,
    choose_folds,
    fits_jointly,
    list_parts,
    train,
)
from askless.core.selection.params import SelectionParams
from askless.core.table.check import CheckedTable
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams
from tests.panels import shorten
from tests.small import finish, pull, table_of

AUTO = BoostParams("auto", rounds=2, seed=3)
JOINT = TrainingSpec(TableSpec("y"), boost=AUTO, folds=4)
SELECTING = replace(JOINT, selection=SelectionParams(rounds=2, n_neighbours=3))
BOOSTED = replace(JOINT, boost=replace(AUTO, algorithm="adaboost_bt_smoothed"))


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    shorten(monkeypatch, rounds=1)


def telling(n_rows: int = 80):
    """A feature that tells the class in most rows, and one that tells little."""
    random = np.random.default_rng(0)
    targets = (np.arange(n_rows) % 5 < 2).astype(np.int64)
    columns = [
        np.where(random.random(n_rows) < share, targets, 1 - targets)
        for share in (0.6, 0.9)
    ]
    return table_of(columns, targets)


def training_of(spec: TrainingSpec, done=None, **options):
    return train(CheckedTable(telling(), None, ()), spec, done, **options)


def folds_of(spec: TrainingSpec):
    return choose_folds(code_table(telling()), spec)


@pytest.fixture(scope="module")
def pulled():
    """All that a joint training tells, and its model."""
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch, rounds=1)
        return pull(training_of(JOINT))


def watch_ladders(patch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list that gets the numbers of rows and of ladders of each fit."""
    fitted = []

    def fit(rows, *options):
        ladders = yield from fit_ladders(rows, *options)
        fitted.append((rows.n_rows, len(ladders)))
        return ladders

    patch.setattr(parts, "fit_ladders", fit)
    return fitted


def test_whole_fits_the_ladders_of_all_folds(monkeypatch):
    fitted = watch_ladders(monkeypatch)

    model = finish(training_of(JOINT))

    assert fitted == [(80, 1 + 4)]
    assert model.card["folds"] == 4
    assert model.curve.n_samples == 80


@pytest.mark.parametrize(
    "spec", [replace(JOINT, folds=LEAST_JOINT - 1), SELECTING], ids=["few", "selecting"]
)
def test_few_folds_and_a_selection_let_each_part_fit_its_own(monkeypatch, spec):
    fitted = watch_ladders(monkeypatch)

    finish(training_of(spec))

    n_rows, n_ladders = zip(*fitted, strict=True)
    assert n_ladders == (1,) * (spec.folds + 1)
    assert n_rows[-1] == 80
    assert max(n_rows[:-1]) < 80


@pytest.mark.parametrize(
    ("spec", "n_features", "expected"),
    [
        (JOINT, 2, True),
        (replace(JOINT, folds=5), 2, True),
        (replace(JOINT, folds=LEAST_JOINT), 2, True),
        (replace(JOINT, folds=LEAST_JOINT - 1), 2, False),
        (replace(JOINT, folds=0), 2, False),
        (SELECTING, 2, False),
        (BOOSTED, 2, False),
        # The table has 80 rows.
        (JOINT, 80 // LEAST_ROWS, True),
        (JOINT, 80 // LEAST_ROWS + 1, False),
    ],
)
def test_panels_are_fitted_jointly_where_folds_and_rows_are_enough(
    spec, n_features, expected
):
    assert fits_jointly(folds_of(spec), spec, n_features) == expected


def test_few_rows_of_many_features_let_each_part_fit_its_own(monkeypatch):
    fitted = watch_ladders(monkeypatch)
    dataset = table_of([*telling().values.T, np.arange(80)], telling().targets)

    finish(train(CheckedTable(dataset, None, ()), JOINT))

    assert fitted == [(60, 1)] * 4 + [(80, 1)]


def test_folds_that_no_validation_needs_still_judge(monkeypatch):
    effort = EFFORTS["standard"]._replace(validation_rows=30)
    monkeypatch.setitem(EFFORTS, "standard", effort)
    fitted = watch_ladders(monkeypatch)

    model = finish(training_of(JOINT))

    dealt = folds_of(JOINT)
    assert (dealt.n_folds, dealt.n_ladders) == (4, 2)
    assert fitted == [(80, 1 + 2)]
    assert model.card["folds"] == 2


def test_folds_have_the_ladders_that_the_whole_fitted_for_them(monkeypatch):
    judged = []
    made = []

    def watch(whole, folds, *_):
        judged.extend(fold.ensemble.panels for fold in folds)
        made.append(whole.panels)
        yield 1.0
        raise InterruptedError

    monkeypatch.setattr("askless.core.pipeline.train.validate_whole", watch)

    with pytest.raises(InterruptedError):
        finish(training_of(JOINT))

    rows = PanelRows(telling(), AUTO.seed, dealt=folds_of(JOINT))
    options = (), None, AUTO.effort, AUTO.least_missing
    expected = finish(fit_ladders(rows, *options))
    assert [*made, *judged] == expected


def test_rows_of_a_fold_are_those_that_its_ladder_has_not_seen():
    jobs: list[PartJob] = []
    finish(training_of(JOINT, run_parts=lambda given: run_watched(given, jobs)))

    *folds, whole = jobs
    fold_of = whole.dealt.fold_of
    values = telling().values
    for number, job in enumerate(folds):
        assert (job.unseen.values == values[fold_of == number]).all()
        assert job.dealt is whole.dealt
    assert whole.unseen is None


def run_watched(given: Iterable[PartJob], jobs: list[PartJob]) -> RunningParts:
    """Run parts as in other processes: all that goes there and back is pickled."""
    finished = []
    for job in given:
        jobs.append(job)
        sent = pickle.loads(pickle.dumps(job))
        part = yield from run_part_job(sent)
        finished.append(pickle.loads(pickle.dumps(part)))
    return finished


def test_parts_of_other_processes_make_the_same_model(pulled):
    made = finish(training_of(JOINT, run_parts=lambda jobs: run_watched(jobs, [])))

    assert made == pulled[1]


@pytest.mark.parametrize("n_done", [3, 9])
def test_interrupted_joint_training_ends_with_the_same_model(pulled, n_done):
    progress, model = pulled
    done = {}
    for step in [step for step in progress if step.added is not None][:n_done]:
        done.setdefault(step.part, []).append(step.added)

    assert finish(training_of(JOINT, done)) == model


def test_joint_training_previews_no_fold(pulled):
    assert not any(step.tested for step in pulled[0])


def test_parts_with_ladders_of_their_own_preview_their_folds():
    progress, _ = pull(training_of(replace(JOINT, folds=LEAST_JOINT - 1)))

    assert [step.part for step in progress if step.tested] == [0, 1]


def test_joint_training_tells_how_far_it_is(pulled):
    shares = [step.share for step in pulled[0]]

    assert shares == sorted(shares)
    assert shares[0] > 0
    assert max(shares[:-1]) < shares[-1] == 1.0


@pytest.mark.parametrize("is_joint", [True, False])
@pytest.mark.parametrize("n_folds", [0, 4])
def test_parts_follow_each_other_without_a_gap(n_folds, is_joint):
    made = list_parts(n_folds, JOINT, is_joint=is_joint)

    whole = made[-1]
    assert [part.number for part in made] == list(range(n_folds + 1))
    assert made[0].start == 0
    assert all(part.end == after.start for part, after in pairwise(made))
    assert whole.end == whole.room
    assert (whole.room == 1.0) == (n_folds == 0)
    ends = [part.after_rounds(1.0).share for part in made]
    assert ends == pytest.approx([part.end for part in made])


def test_whole_of_a_joint_training_takes_longest():
    lengths = {
        is_joint: [
            part.end - part.start for part in list_parts(4, JOINT, is_joint=is_joint)
        ]
        for is_joint in (True, False)
    }

    *folds, whole = lengths[True]
    assert whole > sum(folds)
    assert lengths[False] == pytest.approx([lengths[False][0]] * 5)
