"""Going on with a model row by row: the same bytes, honest figures, nothing stale."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.errors import RefusedError
from askless.core.model.figures import wilson_interval
from askless.core.model.learning_state import OF_LATE, RECENT_ROWS, SINCE_TRAINING
from askless.core.model.model import Model
from askless.core.model.votes import full_votes, raw_classes
from askless.core.pipeline.online.learning import Learning, LearntRows
from askless.core.pipeline.online.learning_state import (
    OWN_SLOPE,
    plain_calibrations,
    start_learning,
)
from askless.core.selection.params import SelectionParams
from askless.core.table.dataset import Dataset
from askless.core.training.params import BoostParams
from tests.baselines import mixed
from tests.conftest import IS_COMPILED
from tests.small import finish, train

PARAMS = BoostParams("online", rounds=12, half_life=300)
N_ROWS = 500 if IS_COMPILED else 60


def trained(n_classes: int = 2, folds: int = 0, **options) -> Model:
    dataset = mixed(3, n_classes, n_samples=120, share_missing=0.1)
    return finish(train(dataset, PARAMS, folds=folds, target="y", **options))


def rows_of(dataset: Dataset, start: int = 0, stop: int | None = None) -> LearntRows:
    ones = np.ones(dataset.n_samples)
    rows = LearntRows(dataset.values, dataset.targets, ones)
    return rows.take(slice(start, stop))


def learn(model: Model, rows: LearntRows) -> Model:
    learning = Learning(model)
    learning.learn(rows)
    return learning.finish()[0]


def more_rows(n_classes: int = 2, n_rows: int = N_ROWS, seed: int = 4) -> LearntRows:
    return rows_of(mixed(seed, n_classes, n_samples=n_rows, share_missing=0.1))


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_cut_anyhow_make_the_same_model(n_classes):
    model, rows = trained(n_classes, folds=2), more_rows(n_classes)

    whole, parted = learn(model, rows), model
    for start, stop in ((0, 1), (1, 1), (1, 17), (17, N_ROWS)):
        parted = learn(parted, rows.take(slice(start, stop)))

    assert whole.learning is not None
    assert whole.learning.n_learnt == N_ROWS
    assert parted == whole
    assert whole != model


@pytest.mark.parametrize("n_classes", [2, 3])
def test_error_is_that_of_rows_predicted_before_they_were_learnt(n_classes):
    """Against predicting each row by the model as it was before that row."""
    model, rows = trained(n_classes), more_rows(n_classes, 40)
    wrong, now = [], model
    for row in range(40):
        votes, _ = full_votes(now.ensemble, rows.values[row : row + 1])
        # Ties go by the priors of training.
        first = replace(now.ensemble, priors=model.ensemble.priors)
        wrong.append(raw_classes(first, votes)[0] != rows.targets[row])
        now = learn(now, rows.take(slice(row, row + 1)))

    learning = Learning(model)
    learning.learn(rows)
    learnt, report = learning.finish()

    assert report.error is not None
    assert report.error.value == pytest.approx(np.mean(wrong))
    assert report.error.interval == wilson_interval(report.error.value, 40)
    assert learnt.learning is not None
    assert learnt.learning.estimate_error(SINCE_TRAINING) == report.error
    fades = 0.5 ** (np.arange(39, -1, -1) / RECENT_ROWS)
    assert report.after is not None
    assert report.after.value == pytest.approx(fades @ wrong / fades.sum())
    assert report.before is None
    assert (report.n_rows, report.n_learnt) == (40, 40)


@pytest.mark.slow
def test_figures_of_the_model_before_are_not_kept():
    model = trained(folds=2, certify_share=0.3)
    assert model.curve is not None
    assert model.ensemble.certification is not None
    assert {"sessions", "rows_set_aside"} <= model.card.keys()

    learnt = learn(model, more_rows())

    assert learnt.curve is None
    assert learnt.ensemble.certification is None
    assert not {"sessions", "rows_set_aside"} & learnt.card.keys()
    facts = learnt.card["learnt"]
    assert facts["rows"] == N_ROWS
    assert 0.0 < facts["error"] < 0.5
    assert facts["interval"][0] < facts["error"] < facts["interval"][1]
    assert learnt.card["rows"] == model.card["rows"]
    assert learnt.card["hypotheses"] == len(learnt.ensemble.hypotheses)


def test_priors_follow_the_classes_that_come():
    model, rows = trained(), more_rows()
    ones = LearntRows(rows.values, np.ones(N_ROWS, np.int64), rows.weights)
    fade = 0.5 ** (1 / PARAMS.half_life)
    before = np.array(model.ensemble.priors) * 120

    learnt = learn(model, ones)

    faded = before * fade**N_ROWS
    faded[1] += sum(fade**age for age in range(N_ROWS))
    assert learnt.ensemble.priors == pytest.approx(faded / faded.sum())


@pytest.mark.slow
def test_priors_follow_by_the_half_life_however_many_rows_were_trained_on():
    """Old rows weigh together what so many rows that fade come to."""
    params = replace(PARAMS, half_life=10)
    table = mixed(3, 2, n_samples=2_000)
    model = finish(train(table, params, folds=0, target="y"))
    rows = more_rows()
    ones = LearntRows(rows.values, np.ones(N_ROWS, np.int64), rows.weights)

    learnt = learn(model, ones.take(slice(0, 20)))

    old = model.ensemble.priors[0] / 4
    assert learnt.ensemble.priors[0] == pytest.approx(old, rel=0.01)


def test_calibration_of_training_goes_where_it_stops_holding():
    model = trained(folds=2)
    assert model.ensemble.calibrations
    assert model.learning is not None
    # Steep slopes are sure of every vote, which rows without a pattern refute.
    steep = tuple(
        (name, replace(calibration, slopes=(9.0,) * 5))
        for name, calibration in model.ensemble.calibrations
    )
    model = replace(model, learning=replace(model.learning, first_calibrations=steep))
    rows = more_rows(n_rows=240)
    rows = rows._replace(targets=np.random.default_rng(0).permutation(rows.targets))

    few, many = learn(model, rows.take(slice(0, 60))), learn(model, rows)

    assert few.ensemble.calibrations == steep
    assert many.ensemble.calibrations == plain_calibrations(1)
    assert many.learning is not None
    assert not many.learning.keeps_calibrations
    assert many.learning.mean_loss(OF_LATE) < 2.0
    assert many.card["learnt"]["keeps_calibration"] is False


def test_chances_without_folds_are_those_that_online_boosting_fits():
    model, several = trained(), trained(3)

    links = dict(model.ensemble.calibrations)
    assert links["sample"].slopes == (OWN_SLOPE,) * 5
    assert several.ensemble.calibrations == ()


def test_without_rows_the_model_stays_as_it_was():
    model = trained(folds=2)
    learning = Learning(model)

    learning.learn(more_rows().take(slice(0, 0)))
    same, report = learning.finish()

    assert same is model
    assert (report.n_rows, report.error, report.features) == (0, None, ())
    assert model.learning is not None
    assert model.learning.mean_loss(SINCE_TRAINING) is None


def test_heavy_rows_count_by_the_unit_of_training():
    model, rows = trained(), more_rows()
    assert model.learning is not None
    doubled = replace(model, learning=replace(model.learning, weight_unit=2.0))
    twice = rows._replace(weights=2.0 * rows.weights)

    one, other = learn(model, rows), learn(doubled, twice)

    assert one.ensemble == other.ensemble


def test_unit_is_the_mean_weight_of_the_rows_that_are_kept():
    dataset = replace(
        mixed(3, n_samples=4), weights=np.array([0.1, 0.2, 0.3, 0.4]), mean_weight=5.0
    )

    # Raw weights of 2, 4, 6 and 8.
    assert dataset.take(np.array([0, 1])).mean_weight == pytest.approx(3.0)
    even = replace(dataset, weights=np.full(4, 0.25))
    assert even.take(np.array([0, 1])).mean_weight == 5.0


def test_other_algorithms_are_refused():
    params = BoostParams("adaboost", rounds=3)
    model = finish(train(mixed(3), params, folds=0))

    assert model.learning is None
    with pytest.raises(RefusedError, match='the algorithm "online"'):
        Learning(model)


def test_selected_features_alone_are_learnt():
    model = trained(selection=SelectionParams("sfs"))
    selected = {*model.card["selection"]["features"]}

    learnt = learn(model, more_rows())

    assert {*learnt.card["features_used"]} <= selected
    assert len(selected) < 4


def test_new_stumps_and_features_are_told():
    dataset = mixed(3, n_samples=120)
    # Nothing is known of the first number in training, so it has no cuts.
    values = dataset.values.copy()
    model = start_learning(dataset.catalogue, dataset.classes, PARAMS)
    learning = Learning(model)
    learning.learn(rows_of(replace(dataset, values=values)))

    learnt, report = learning.finish()

    used = [feature.name for feature in learnt.ensemble.catalogue.features]
    read = [used[idx] for idx in np.flatnonzero(learnt.ensemble.is_used)]
    assert report.features == tuple(read)
    assert report.n_stumps == len(set(learnt.ensemble.hypotheses)) > 0
    assert math.isclose(sum(learnt.ensemble.priors), 1.0)
