"""Attentional cascades: how stages are made, and sessions that they reject early."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from askless.app.documents.spec.spec import read_spec
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.codes.folds import split_rows
from askless.core.errors import RefusedError
from askless.core.model.votes import hypothesis_votes
from askless.core.pipeline.check import check_training
from askless.core.session import machine
from askless.core.session.policies.cascade import stage_votes
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.cascade import StageTracker, grow_cascade, make_cascade
from tests.cascades import MICROS, grown, judged, params_of, play, rare
from tests.small import finish, make_dataset, random_dataset, train


@pytest.fixture(scope="module")
def ensemble():
    return grown(rare())


# How rows are parted.


@pytest.mark.parametrize("n_samples", [*range(4, 10), 38, 39])
def test_third_of_each_class_is_held_out(n_samples):
    targets = (np.arange(n_samples) < n_samples // 3 + 1).astype(np.int64)
    dataset = make_dataset(np.zeros((n_samples, 1)), targets, 2)

    seen, unseen = split_rows(dataset, seed=n_samples)

    assert sorted([*seen, *unseen]) == list(range(n_samples))
    for target in (0, 1):
        n_class = (targets == target).sum()
        n_held_out = (targets[unseen] == target).sum()
        assert abs(n_held_out - n_class / 3) <= 1
        assert 0 < n_held_out < n_class


@pytest.mark.parametrize("seed", range(5))
def test_units_are_kept_whole(seed):
    random = np.random.default_rng(seed)
    # Numbers of row groups as a fold leaves them: with gaps.
    row_groups = np.sort(random.integers(0, 40, 90)) * 3
    dataset = rare(seed, 90, row_groups=row_groups)

    seen, unseen = split_rows(dataset, seed)

    assert not set(row_groups[seen]) & set(row_groups[unseen])
    n_row_groups = np.unique(row_groups).size
    assert abs(np.unique(row_groups[unseen]).size - n_row_groups / 3) <= 1


def test_gaps_between_units_change_nothing():
    row_groups = np.arange(90) // 3
    parts = [
        split_rows(rare(1, 90, row_groups=numbers), seed=2)[0].tolist()
        for numbers in (row_groups, row_groups * 7 + 5)
    ]

    assert parts[0] == parts[1]


def test_seed_decides_which_rows_are_held_out():
    dataset = rare()

    assert split_rows(dataset, 1)[1].tolist() == split_rows(dataset, 1)[1].tolist()
    assert split_rows(dataset, 1)[1].tolist() != split_rows(dataset, 2)[1].tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "learner"), [*enumerate(("stump", "tree", "product"))]
)
def test_stages_keep_the_wanted_rates_on_held_out_rows(seed, learner):
    random = np.random.default_rng(seed)
    dataset = rare(seed, weights=random.uniform(0.5, 2, 500))
    dataset.values[random.random((500, 4)) < 0.1] = math.nan
    params = params_of(seed=seed, learner=learner, leaves=3, factors=2)
    ensemble = make_ensemble(dataset, params, list(grow_cascade(dataset, params)))
    held_out = dataset.take(split_rows(dataset, seed)[1])
    n_survived = np.array(judged(ensemble, held_out.values))[:, 1]
    weights = held_out.weights * held_out.n_samples

    assert ensemble.cascade.stages
    for idx, stage in enumerate(ensemble.cascade.stages):
        reached, passed = n_survived >= idx, n_survived > idx
        rates = []
        for target in (1, 0):
            is_class = reached & (held_out.targets == target)
            rates.append(weights[is_class & passed].sum() / weights[is_class].sum())
        assert [stage.detection, stage.false_alarm] == pytest.approx(rates)
        assert stage.detection >= params.detection - 1e-9
        assert stage.false_alarm <= params.false_alarm
        for chance, mask in (
            (stage.chance_reaching, reached),
            (stage.chance_rejected, reached & ~passed),
        ):
            second = weights[mask & (held_out.targets == 1)].sum()
            assert chance == pytest.approx((second + 1) / (weights[mask].sum() + 2))
    mask = n_survived == len(ensemble.cascade.stages)
    second = weights[mask & (held_out.targets == 1)].sum()
    expected = (second + 1) / (weights[mask].sum() + 2)
    assert ensemble.cascade.chance_passed == pytest.approx(expected)


def test_threshold_is_the_largest_that_detects_enough():
    dataset = rare(2)
    params = params_of(detection=0.8, seed=2)
    tracker = StageTracker(dataset, params)
    rounds = list(grow_cascade(dataset, params))
    rows = tracker.held_out
    for round in rounds:
        before = tracker.held_out
        if tracker.add_round(round.hypothesis, round.alpha):
            break
    first = tracker.stages[0]
    scores = np.zeros(rows.is_second.size)
    for round in rounds[: first.length]:
        scores += round.alpha * hypothesis_votes(round.hypothesis, rows.values, 1)[:, 0]

    ours = scores[rows.is_second]
    enough = [s for s in ours if (ours >= s - 1e-9).mean() >= 0.8]
    assert before.is_second.size == rows.is_second.size
    assert first.threshold == pytest.approx(max(enough), abs=1e-8)
    assert first.threshold <= max(enough)


def test_each_stage_ends_with_the_first_round_that_meets_the_rates():
    dataset = rare(6)
    params = params_of(false_alarm=0.5, seed=6)
    rounds = list(grow_cascade(dataset, params))
    tracker, alarms = StageTracker(dataset, params), []

    for round in rounds:
        has_ended = tracker.add_round(round.hypothesis, round.alpha)
        alarm = tracker.stages[-1].false_alarm if has_ended else tracker.measured[2]
        alarms.append((has_ended, alarm <= 0.5))

    assert {a == b for a, b in alarms} == {True}
    assert alarms[-1] == (True, True)


def test_cheap_features_come_first(ensemble):
    first = ensemble.cascade.stages[0]

    assert {
        hypothesis.feature_idx for hypothesis in ensemble.hypotheses[: first.length]
    } <= {0, 1}


def test_later_stages_are_trained_on_what_passes_the_earlier():
    dataset = rare(4)
    params = params_of(seed=4)
    rounds = list(grow_cascade(dataset, params))
    cascade = make_cascade(dataset, params, rounds)
    length = cascade.stages[0].length
    seen = dataset.take(split_rows(dataset, 4)[0])
    scores = np.zeros(seen.n_samples)
    for round in rounds[:length]:
        scores += round.alpha * hypothesis_votes(round.hypothesis, seen.values, 1)[:, 0]
    passed = scores >= cascade.stages[0].threshold
    votes = hypothesis_votes(rounds[length].hypothesis, seen.values, 1)[:, 0]
    signs = seen.signs
    edge = 0.0
    for sign in (-1, 1):
        mask = passed & (signs == sign)
        edge += (
            0.5 * seen.weights[mask] @ (votes[mask] * sign) / seen.weights[mask].sum()
        )

    assert 0 < passed.sum() < seen.n_samples
    assert rounds[length].edge == pytest.approx(edge)
    assert [round.number for round in rounds] == list(range(1, len(rounds) + 1))


def test_rounds_tell_what_features_cost_so_far():
    dataset = rare(5)
    read = set()
    for stage in grow_cascade(dataset, params_of(seed=5)):
        read |= set(stage.hypothesis.feature_idxs)
        assert stage.spent == sum(dataset.catalogue.features[idx].cost for idx in read)


def grouped() -> Dataset:
    """f0 rejects most of the first class, f1 and f2 alike the few who are left.

    f0 and f1 are of a group with a fee.
    """
    targets = np.arange(240) % 2
    is_left = (targets == 0) & (np.arange(240) % 12 == 0)
    alike = 1.0 - is_left
    values = np.column_stack((np.where(is_left, 1, targets), alike, alike))
    features = (
        Feature("f0", cost=MICROS, group="g"),
        Feature("f1", cost=MICROS, group="g"),
        Feature("f2", cost=3 * MICROS),
    )
    catalogue = Catalogue(features, (Group("g", fee=10 * MICROS),))
    return make_dataset(values, targets, 2, catalogue=catalogue)


def test_fee_paid_in_a_stage_does_not_count_in_the_next():
    params = params_of(stages=2, detection=1.0, false_alarm=0.4)

    rounds = list(grow_cascade(grouped(), params))

    # With the fee f1 would be dearer than f2.
    assert [round.hypothesis.feature_idx for round in rounds] == [0, 1]
    assert [round.spent for round in rounds] == [11 * MICROS, 12 * MICROS]
    for length in (1, 2):
        rest = grow_cascade(grouped(), params, rounds[:length])
        assert list(rest) == rounds[length:]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("n_stages", [1, 2, 3])
def test_stages_end_once_all_pass_as_few_as_wanted(n_stages, seed):
    """Viola and Jones (2004), Table 2: stages are added until the target is met."""
    dataset = rare(seed)
    params = params_of(stages=n_stages, false_alarm=0.7, seed=seed)
    ensemble = make_ensemble(dataset, params, list(grow_cascade(dataset, params)))

    stages = ensemble.cascade.stages
    alarms = [stage.false_alarm for stage in stages]
    for length in range(1, len(stages)):
        assert math.prod(alarms[:length]) > 0.7**n_stages
    assert len(stages) <= n_stages
    assert math.prod(alarms) <= 0.7**n_stages
    assert stages[-1].length == len(ensemble.hypotheses)


def test_there_are_fewer_stages_where_a_class_is_used_up():
    """The first stage rejects every row of the first class."""
    targets = np.arange(60) % 2
    dataset = make_dataset(targets[:, None] * 1.0, targets, 2)

    ensemble = grown(dataset, stages=5, detection=1.0, false_alarm=0.0)

    (stage,) = ensemble.cascade.stages
    assert (stage.detection, stage.false_alarm) == (1.0, 0.0)
    assert stage.chance_rejected == pytest.approx(1 / 12)
    assert ensemble.cascade.chance_passed == pytest.approx(11 / 12)


def test_rows_without_any_vote_pass_a_stage_that_is_set_by_the_others():
    """Half of the second class is not known, and more than half need not be kept."""
    targets = np.arange(120) % 2
    values = targets + np.arange(120) / 1000
    values[np.arange(120) % 4 == 1] = math.nan
    dataset = make_dataset(values[:, None], targets, 2)
    params = params_of(stages=1, detection=0.5, false_alarm=0.1)

    tracker = StageTracker(dataset, params)
    for one in grow_cascade(dataset, params):
        tracker.add_round(one.hypothesis, one.alpha)

    (stage,) = tracker.stages
    (alpha,) = (stage.alpha for stage in grow_cascade(dataset, params))
    assert stage.threshold == pytest.approx(alpha)
    assert (stage.detection, stage.false_alarm) == (1.0, 0.0)
    assert stage.chance_rejected < 0.1
    assert np.isnan(tracker.held_out.values).any()
    assert np.isnan(tracker.training.values).any()


def test_stage_without_a_vote_on_the_second_class_has_the_threshold_0():
    """Only the first class was ever measured; one value of two is more frequent."""
    targets = np.arange(120) % 2
    values = np.where(targets == 1, math.nan, np.arange(120) % 10 == 0)[:, None]

    ensemble = grown(make_dataset(values, targets, 2), stages=1)

    (stage,) = ensemble.cascade.stages
    assert stage.threshold == 0.0
    assert stage.detection == 1.0
    assert stage.false_alarm < 0.5
    assert play(ensemble, [0.0]).stop_reason == "rejected_early"
    assert play(ensemble, [math.nan]).stop_reason == "all_known"


def noise(n_samples=120, **more) -> Dataset:
    random = np.random.default_rng(9)
    values = random.normal(size=(n_samples, 2))
    return make_dataset(values, np.arange(n_samples) % 2, 2, **more)


def test_first_stage_that_misses_its_rates_is_named_with_what_it_reached():
    params = params_of(detection=0.99, false_alarm=0.2, rounds=7)
    dataset, alarms = noise(), []
    tracker = StageTracker(dataset, params)
    for one in grow_cascade(dataset, params, is_strict=False):
        tracker.add_round(one.hypothesis, one.alpha)
        alarms.append(tracker.measured)
    _, detection, alarm = min(alarms, key=lambda one: one[2])

    with pytest.raises(RefusedError) as caught:
        finish(train(dataset, params, folds=2))

    (refusal,) = caught.value.refusals
    assert refusal.field == "params.false_alarm"
    assert refusal.rule == (
        "stage 1 must pass at most 0.2 of the first class while it keeps 0.99 of the "
        f"second; in 7 rounds it reached {alarm:.3f} at {detection:.3f}"
    )


def test_later_stage_that_misses_its_rates_is_named():
    dataset = rare(7, gap=0.5)
    params = params_of(detection=0.9, false_alarm=0.75, stages=9, rounds=15)

    with pytest.raises(RefusedError) as caught:
        finish(train(dataset, params, folds=0))

    rule = r"stage [2-9] must .* in \d+ rounds it reached [01]\.\d{3} at [01]\.\d{3}$"
    (refusal,) = caught.value.refusals
    assert re.match(rule, refusal.rule)


def test_stage_without_any_hypothesis_reached_nothing():
    dataset = make_dataset(np.zeros((30, 1)), np.arange(30) % 2, 2)

    with pytest.raises(RefusedError, match=r"in 0 rounds it reached 1.000 at 1.000"):
        list(grow_cascade(dataset, params_of()))


def test_rates_missed_in_a_fold_make_its_last_stage():
    params = params_of(detection=0.99, false_alarm=0.2, rounds=7)
    dataset = noise()

    rounds = list(grow_cascade(dataset, params, is_strict=False))
    cascade = make_cascade(dataset, params, rounds)

    assert [stage.length for stage in cascade.stages] == [len(rounds)]
    assert cascade.stages[0].false_alarm > 0.2
    assert cascade.stages[0].detection >= 0.99


@pytest.mark.parametrize("n_tiny", [0, 1, 2, 3])
@pytest.mark.parametrize("tiny", [0, 1])
def test_tiny_class_is_refused_or_trained(tiny, n_tiny):
    for n_rest in range(20, 23):
        targets = np.r_[np.full(n_tiny, tiny), np.full(n_rest, 1 - tiny)]
        values = targets[:, None] + 0.0
        dataset = make_dataset(values, targets, 2)
        if n_tiny < 2:
            with pytest.raises(RefusedError, match="target: must give a cascade two"):
                list(grow_cascade(dataset, params_of()))
            rounds = list(grow_cascade(dataset, params_of(), is_strict=False))
            assert rounds == []
        else:
            assert len(grown(dataset).cascade.stages) == 1


def test_fold_with_a_tiny_class_has_no_stage_and_says_the_larger():
    targets = (np.arange(30) < 2).astype(np.int64)
    values = np.random.default_rng(1).normal(size=(30, 1)) + 9 * targets[:, None]
    dataset = make_dataset(values, targets, 2)

    model = finish(train(dataset, params_of(), folds=2))

    assert model.curve.errors[-1] == pytest.approx(2 / 30)
    empty = make_ensemble(dataset, params_of(), [])
    assert empty.cascade.stages == ()
    assert stage_votes(empty, np.array(0)) == 0
    state = machine.start(empty, None)
    assert state.stop_reason == "all_known"
    assert machine.forecast(empty, state).label == 0


def test_three_classes_are_refused():
    dataset = random_dataset(1, 3)

    with pytest.raises(RefusedError, match="algorithm: a cascade has two classes"):
        next(train(dataset, params_of()))
    columns = {"a": np.arange(9.0), "y": np.arange(9.0) % 3}
    spec = read_spec({"target": "y", "algorithm": "cascade"})
    with pytest.raises(RefusedError, match="algorithm: a cascade has two classes"):
        check_training(columns, spec)


@pytest.mark.slow
def test_groups_and_missing_values_are_no_obstacle():
    dataset = rare(8)
    features = tuple(
        replace(feature, cost=0 if idx > 1 else feature.cost, group="ab"[idx > 1])
        for idx, feature in enumerate(dataset.catalogue.features)
    )
    groups = (Group("a", fee=MICROS), Group("b", price=4 * MICROS))
    dataset = replace(dataset, catalogue=Catalogue(features, groups))
    dataset.values[::5, 0] = math.nan

    model = finish(train(dataset, params_of(false_alarm=0.8), folds=2))

    assert model.curve.max_spends[-1] <= 7.5 * MICROS
    assert model.curve.errors[-1] < 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "search"), [("stump", "lazy"), ("tree", "all"), ("product", "ucb")]
)
def test_cascade_goes_on_the_same_after_any_round(learner, search):
    dataset = rare(10, 150)
    params = params_of(
        learner=learner, search=search, search_size=2, leaves=3, factors=2, stages=2
    )
    expected = list(grow_cascade(dataset, params, is_strict=False))

    for length in range(len(expected) + 1):
        rest = list(grow_cascade(dataset, params, expected[:length], is_strict=False))
        assert rest == expected[length:]
