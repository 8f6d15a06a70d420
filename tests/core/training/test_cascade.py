"""Attentional cascades: how stages are made, and sessions that they reject early."""

import json
import math
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.documents.model import model_from_json, model_to_json
from app.documents.spec import read_spec
from app.documents.state import state_from_json, state_to_json
from core.errors import RefusedError
from core.model.ensemble import Cascade, Ensemble, Stage
from core.model.hypotheses import Stump
from core.model.model import Model
from core.model.votes import hypothesis_votes
from core.pipeline.check import check_training
from core.pipeline.train import train
from core.session import curves, machine, simulate
from core.session.answers import check_policy
from core.session.policies.cascade import count_passed
from core.session.position import Position
from core.session.probability import decide, stage_chances, stage_votes
from core.session.state import StopRule
from core.table.catalogue import Catalogue, Feature, Group
from core.table.dataset import Dataset
from core.table.folds import part_rows
from core.training.algorithms import make_ensemble
from core.training.cascade import grow_cascade, lay_cascade
from core.training.params import BoostParams
from core.training.stages import Stager
from tests import strategies
from tests import strategies_classes as made
from tests.conftest import IS_COMPILED
from tests.sessions import observe
from tests.small import finish

MICROS = 1_000_000
CLASSES = made.classes_of(2)


def params_of(**more) -> BoostParams:
    rates = {"stages": 3, "detection": 0.9, "false_alarm": 0.6}
    return BoostParams("cascade", **({"rounds": 30} | rates | more))


def rare(seed=0, n_samples=500, share=0.3, gap=1.0, **more) -> Dataset:
    """A cheap feature tells the rare class badly, dearer ones better."""
    random = np.random.default_rng(seed)
    targets = (random.random(n_samples) < share).astype(np.int64)
    values = random.normal(size=(n_samples, 4)) + gap * np.outer(
        targets, [1, 1.5, 2, 2]
    )
    costs = (0.5, 2, 5, 9)
    catalogue = Catalogue(
        tuple(
            Feature(f"f{idx}", cost=int(cost * MICROS))
            for idx, cost in enumerate(costs)
        )
    )
    return made.make_dataset(values, targets, 2, catalogue=catalogue, **more)


def grown(dataset: Dataset, **more) -> Ensemble:
    params = params_of(**more)
    return make_ensemble(dataset, params, list(grow_cascade(dataset, params)))


@pytest.fixture(scope="module")
def ensemble():
    return grown(rare())


def staged(hypotheses, alphas, lengths, thresholds, catalogue=None, **more) -> Ensemble:
    """Give a cascade by hand; its chances fall and rise by a tenth per stage."""
    if catalogue is None:
        n_features = 1 + max(max(one.feature_idxs) for one in hypotheses)
        catalogue = Catalogue(tuple(Feature(f"f{idx}") for idx in range(n_features)))
    stages = tuple(
        Stage(length, threshold, 1.0, 0.5, 0.2 + 0.1 * idx, 0.1 + 0.01 * idx)
        for idx, (length, threshold) in enumerate(zip(lengths, thresholds, strict=True))
    )
    plain = {"priors": (0.7, 0.3), "algorithm": "cascade", "policy": "cascade"}
    return Ensemble(
        catalogue,
        CLASSES,
        tuple(hypotheses),
        tuple(alphas),
        cascade=Cascade(stages, 0.9),
        **(plain | more),
    )


@st.composite
def cascades(draw, kinds=made.hypotheses, max_hypotheses=5) -> Ensemble:
    """Give any cascade over any catalogue; votes are sums of eighths."""
    one = draw(
        made.ensembles(
            n_classes=2,
            policy="ordered",
            kinds=kinds,
            max_hypotheses=max_hypotheses,
            min_hypotheses=0,
        )
    )
    n_hypotheses = len(one.hypotheses)
    lengths = draw(st.sets(st.integers(1, max(n_hypotheses, 1))))
    lengths = sorted({*lengths, n_hypotheses}) if n_hypotheses else []
    chances = st.integers(1, 15).map(lambda k: k / 16)
    stages = tuple(
        Stage(
            length,
            # Never a sum of eighths: no vote is at a threshold.
            draw(st.integers(-16, 16)) / 8 + 1 / 16,
            draw(chances),
            draw(chances),
            draw(chances),
            draw(chances),
        )
        for length in lengths
    )
    return replace(
        one,
        algorithm="cascade",
        policy="cascade",
        cascade=Cascade(stages, draw(chances)),
    )


def play(ensemble: Ensemble, row, budget=None, **more):
    """Answer every question from a row; without advice to stop."""
    more = {"stop": StopRule(certain=False)} | more
    state = machine.start(ensemble, budget, **more)
    while state.next_feature_idx is not None:
        state = answer(ensemble, state, row)
    return state


def answer(ensemble: Ensemble, state, row):
    """Answer what is asked next; of a bundle all members, those there first."""
    asked = machine.next_question(ensemble, state).feature_idxs
    for idx in sorted(asked, key=lambda idx: math.isnan(row[idx])):
        if machine.is_closed(state):
            break
        if math.isnan(row[idx]):
            state = observe(ensemble, state, idx, "unavailable")
        else:
            state = observe(ensemble, state, idx, "value", float(row[idx]))
    return state


# How rows are parted.


@pytest.mark.parametrize("n_samples", range(4, 40))
def test_third_of_each_class_is_held_out(n_samples):
    targets = (np.arange(n_samples) < n_samples // 3 + 1).astype(np.int64)
    dataset = made.make_dataset(np.zeros((n_samples, 1)), targets, 2)

    seen, unseen = part_rows(dataset, seed=n_samples)

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

    seen, unseen = part_rows(dataset, seed)

    assert not set(row_groups[seen]) & set(row_groups[unseen])
    n_row_groups = np.unique(row_groups).size
    assert abs(np.unique(row_groups[unseen]).size - n_row_groups / 3) <= 1


def test_gaps_between_units_change_nothing():
    row_groups = np.arange(90) // 3
    parts = [
        part_rows(rare(1, 90, row_groups=numbers), seed=2)[0].tolist()
        for numbers in (row_groups, row_groups * 7 + 5)
    ]

    assert parts[0] == parts[1]


def test_seed_decides_which_rows_are_held_out():
    dataset = rare()

    assert part_rows(dataset, 1)[1].tolist() == part_rows(dataset, 1)[1].tolist()
    assert part_rows(dataset, 1)[1].tolist() != part_rows(dataset, 2)[1].tolist()


# How stages are made.


def judged(ensemble: Ensemble, values: np.ndarray) -> list[tuple[int, int]]:
    """`count_passed` of rows, and the stages that didn't reject each; by plain sums."""
    ends = []
    for row in values:
        code, start, n_survived = 0, 0, 0
        for stage in ensemble.cascade.stages:
            part = slice(start, stage.length)
            votes = [
                alpha * hypothesis_votes(one, row[None], 1)[0, 0]
                for one, alpha in zip(
                    ensemble.hypotheses[part], ensemble.alphas[part], strict=True
                )
            ]
            if any(votes) and sum(votes) < stage.threshold:
                code = -1 - n_survived
                break
            n_survived, start = n_survived + 1, stage.length
            code = n_survived if any(votes) else code
        ends.append((code, n_survived))
    return ends


@pytest.mark.parametrize("learner", ["stump", "tree", "product"])
@pytest.mark.parametrize("seed", range(3))
def test_stages_keep_the_wanted_rates_on_held_out_rows(seed, learner):
    random = np.random.default_rng(seed)
    dataset = rare(seed, weights=random.uniform(0.5, 2, 500))
    dataset.values[random.random((500, 4)) < 0.1] = math.nan
    params = params_of(seed=seed, learner=learner, leaves=3, factors=2)
    ensemble = make_ensemble(dataset, params, list(grow_cascade(dataset, params)))
    held_out = dataset.take(part_rows(dataset, seed)[1])
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
    stager = Stager(dataset, params)
    rounds = list(grow_cascade(dataset, params))
    rows = stager.held_out
    for one in rounds:
        before = stager.held_out
        if stager.feed(one.hypothesis, one.alpha):
            break
    first = stager.stages[0]
    scores = np.zeros(rows.is_second.size)
    for one in rounds[: first.length]:
        scores += one.alpha * hypothesis_votes(one.hypothesis, rows.values, 1)[:, 0]

    ours = scores[rows.is_second]
    enough = [s for s in ours if (ours >= s - 1e-9).mean() >= 0.8]
    assert before.is_second.size == rows.is_second.size
    assert first.threshold == pytest.approx(max(enough), abs=1e-8)
    assert first.threshold <= max(enough)


def test_each_stage_ends_with_the_first_round_that_meets_the_rates():
    dataset = rare(6)
    params = params_of(false_alarm=0.5, seed=6)
    rounds = list(grow_cascade(dataset, params))
    stager, alarms = Stager(dataset, params), []

    for one in rounds:
        has_ended = stager.feed(one.hypothesis, one.alpha)
        alarm = stager.stages[-1].false_alarm if has_ended else stager.measured[2]
        alarms.append((has_ended, alarm <= 0.5))

    assert {a == b for a, b in alarms} == {True}
    assert alarms[-1] == (True, True)


def test_cheap_features_come_first(ensemble):
    first = ensemble.cascade.stages[0]

    assert {one.feature_idx for one in ensemble.hypotheses[: first.length]} <= {0, 1}


def test_later_stages_are_trained_on_what_passes_the_earlier():
    dataset = rare(4)
    params = params_of(seed=4)
    rounds = list(grow_cascade(dataset, params))
    cascade = lay_cascade(dataset, params, rounds)
    length = cascade.stages[0].length
    seen = dataset.take(part_rows(dataset, 4)[0])
    scores = np.zeros(seen.n_samples)
    for one in rounds[:length]:
        scores += one.alpha * hypothesis_votes(one.hypothesis, seen.values, 1)[:, 0]
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
    assert [one.number for one in rounds] == list(range(1, len(rounds) + 1))


def test_rounds_tell_what_features_cost_so_far():
    dataset = rare(5)
    read = set()
    for one in grow_cascade(dataset, params_of(seed=5)):
        read |= set(one.hypothesis.feature_idxs)
        assert one.spent == sum(dataset.catalogue.features[idx].cost for idx in read)


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
    return made.make_dataset(values, targets, 2, catalogue=catalogue)


def test_fee_paid_in_a_stage_does_not_count_in_the_next():
    params = params_of(stages=2, detection=1.0, false_alarm=0.4)

    rounds = list(grow_cascade(grouped(), params))

    # With the fee f1 would be dearer than f2.
    assert [one.hypothesis.feature_idx for one in rounds] == [0, 1]
    assert [one.spent for one in rounds] == [11 * MICROS, 12 * MICROS]
    for length in (1, 2):
        rest = grow_cascade(grouped(), params, rounds[:length])
        assert list(rest) == rounds[length:]


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
    dataset = made.make_dataset(targets[:, None] * 1.0, targets, 2)

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
    dataset = made.make_dataset(values[:, None], targets, 2)
    params = params_of(stages=1, detection=0.5, false_alarm=0.1)

    stager = Stager(dataset, params)
    for one in grow_cascade(dataset, params):
        stager.feed(one.hypothesis, one.alpha)

    (stage,) = stager.stages
    (alpha,) = (one.alpha for one in grow_cascade(dataset, params))
    assert stage.threshold == pytest.approx(alpha)
    assert (stage.detection, stage.false_alarm) == (1.0, 0.0)
    assert stage.chance_rejected < 0.1
    assert np.isnan(stager.held_out.values).any()
    assert np.isnan(stager.training.values).any()


def test_stage_without_a_vote_on_the_second_class_has_the_threshold_0():
    """Only the first class was ever measured; one value of two is more frequent."""
    targets = np.arange(120) % 2
    values = np.where(targets == 1, math.nan, np.arange(120) % 10 == 0)[:, None]

    ensemble = grown(made.make_dataset(values, targets, 2), stages=1)

    (stage,) = ensemble.cascade.stages
    assert stage.threshold == 0.0
    assert stage.detection == 1.0
    assert stage.false_alarm < 0.5
    assert play(ensemble, [0.0]).stop_reason == "rejected_early"
    assert play(ensemble, [math.nan]).stop_reason == "all_known"


def noise(n_samples=120, **more) -> Dataset:
    random = np.random.default_rng(9)
    values = random.normal(size=(n_samples, 2))
    return made.make_dataset(values, np.arange(n_samples) % 2, 2, **more)


def test_first_stage_that_misses_its_rates_is_named_with_what_it_reached():
    params = params_of(detection=0.99, false_alarm=0.2, rounds=7)
    dataset, alarms = noise(), []
    stager = Stager(dataset, params)
    for one in grow_cascade(dataset, params, is_strict=False):
        stager.feed(one.hypothesis, one.alpha)
        alarms.append(stager.measured)
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
    dataset = made.make_dataset(np.zeros((30, 1)), np.arange(30) % 2, 2)

    with pytest.raises(RefusedError, match=r"in 0 rounds it reached 1.000 at 1.000"):
        list(grow_cascade(dataset, params_of()))


def test_rates_missed_in_a_fold_make_its_last_stage():
    params = params_of(detection=0.99, false_alarm=0.2, rounds=7)
    dataset = noise()

    rounds = list(grow_cascade(dataset, params, is_strict=False))
    cascade = lay_cascade(dataset, params, rounds)

    assert [stage.length for stage in cascade.stages] == [len(rounds)]
    assert cascade.stages[0].false_alarm > 0.2
    assert cascade.stages[0].detection >= 0.99


@pytest.mark.parametrize("n_tiny", [0, 1, 2, 3])
@pytest.mark.parametrize("tiny", [0, 1])
def test_tiny_class_is_refused_or_trained(tiny, n_tiny):
    for n_rest in range(20, 23):
        targets = np.r_[np.full(n_tiny, tiny), np.full(n_rest, 1 - tiny)]
        values = targets[:, None] + 0.0
        dataset = made.make_dataset(values, targets, 2)
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
    dataset = made.make_dataset(values, targets, 2)

    model = finish(train(dataset, params_of(), folds=2))

    assert model.curve.errors[-1] == pytest.approx(2 / 30)
    empty = make_ensemble(dataset, params_of(), [])
    assert empty.cascade.stages == ()
    assert stage_votes(empty, np.array(0)) == 0
    state = machine.start(empty, None)
    assert state.stop_reason == "all_known"
    assert machine.forecast(empty, state).label == 0


def test_three_classes_are_refused():
    dataset = made.random_dataset(1, 3)

    with pytest.raises(RefusedError, match="algorithm: a cascade has two classes"):
        next(train(dataset, params_of()))
    columns = {"a": np.arange(9.0), "y": np.arange(9.0) % 3}
    spec = read_spec({"target": "y", "algorithm": "cascade"})
    with pytest.raises(RefusedError, match="algorithm: a cascade has two classes"):
        check_training(columns, spec)


def test_groups_and_missing_values_are_no_obstacle():
    dataset = rare(8)
    features = tuple(
        replace(one, cost=0 if idx > 1 else one.cost, group="ab"[idx > 1])
        for idx, one in enumerate(dataset.catalogue.features)
    )
    groups = (Group("a", fee=MICROS), Group("b", price=4 * MICROS))
    dataset = replace(dataset, catalogue=Catalogue(features, groups))
    dataset.values[::5, 0] = math.nan

    model = finish(train(dataset, params_of(false_alarm=0.8), folds=2))

    assert model.curve.max_spends[-1] <= 7.5 * MICROS
    assert model.curve.errors[-1] < 0.3


@pytest.mark.parametrize("learner", ["stump", "tree", "product"])
@pytest.mark.parametrize("search", ["all", "ucb", "lazy"])
def test_cascade_goes_on_the_same_after_any_round(learner, search):
    dataset = rare(10, 150)
    params = params_of(
        learner=learner, search=search, search_size=2, leaves=3, factors=2, stages=2
    )
    expected = list(grow_cascade(dataset, params, is_strict=False))

    for length in range(len(expected) + 1):
        rest = list(grow_cascade(dataset, params, expected[:length], is_strict=False))
        assert rest == expected[length:]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stages", 0),
        ("stages", 51),
        ("stages", 1.5),
        ("detection", 0.4),
        ("detection", 1.1),
        ("false_alarm", -0.1),
        ("false_alarm", 2),
        ("false_alarm", "half"),
    ],
)
def test_wanted_rates_out_of_range_are_refused(field, value):
    raw = {"target": "y", "algorithm": "cascade", "params": {field: value}}

    with pytest.raises(RefusedError, match=rf"params\.{field}"):
        read_spec(raw)


def test_wanted_rates_are_read():
    wanted = {"stages": 4, "detection": 0.95, "false_alarm": 0.25}

    params = read_spec({"target": "y", "algorithm": "cascade", "params": wanted}).boost

    assert (params.stages, params.detection, params.false_alarm) == (4, 0.95, 0.25)


# Sessions.


def two_stages(**more) -> Ensemble:
    """Reject where f0 is low; then where f1 and f2 are."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(3)]
    return staged(stumps, (1.0, 1.0, 1.0), (1, 3), (0.0, -0.5), **more)


def test_session_is_rejected_early():
    ensemble = two_stages()

    state = play(ensemble, [0.0, 1.0, 1.0])

    assert state.stop_reason == "rejected_early"
    assert state.is_ended
    assert state.spent == MICROS
    forecast = machine.forecast(ensemble, state)
    assert (forecast.label, forecast.vote) == (0, 0)
    assert forecast.probabilities == pytest.approx((0.9, 0.1))


def test_session_that_passes_every_stage_knows_all():
    ensemble = two_stages()

    state = play(ensemble, [1.0, 1.0, 1.0])

    assert state.stop_reason == "all_known"
    assert state.spent == 3 * MICROS
    forecast = machine.forecast(ensemble, state)
    assert (forecast.label, forecast.vote) == (1, 1)
    assert forecast.probabilities == pytest.approx((0.1, 0.9))


def test_stage_after_the_first_rejects_with_its_own_chance():
    ensemble = two_stages()

    state = play(ensemble, [1.0, 0.0, 0.0])

    assert state.stop_reason == "rejected_early"
    forecast = machine.forecast(ensemble, state)
    assert forecast.probabilities == pytest.approx((0.89, 0.11))


def test_session_between_stages_has_the_chance_of_those_that_reach_it():
    ensemble = two_stages()
    state = machine.start(ensemble, None)
    assert machine.forecast(ensemble, state).probabilities == pytest.approx((0.8, 0.2))

    state = observe(ensemble, state, 0, "value", 1.0)

    forecast = machine.forecast(ensemble, state)
    assert forecast.probabilities == pytest.approx((0.7, 0.3))
    assert (forecast.label, forecast.vote) == (0, 0)


def test_budget_that_ends_a_session_within_a_stage():
    state = play(two_stages(), [1.0, 1.0, 1.0], 2 * MICROS)

    assert state.stop_reason == "budget_exhausted"
    assert state.spent == 2 * MICROS
    forecast = machine.forecast(two_stages(), state)
    assert forecast.probabilities == pytest.approx((0.7, 0.3))


def test_vote_at_the_threshold_passes():
    ensemble = staged([Stump(0, 0.5, (1,))], (1.0,), (1,), (1.0,))

    assert play(ensemble, [1.0]).stop_reason == "all_known"
    assert play(ensemble, [0.0]).stop_reason == "rejected_early"


def test_features_that_are_missing_abstain():
    ensemble = two_stages()

    state = play(ensemble, [math.nan, math.nan, 0.0])

    assert state.stop_reason == "rejected_early"
    assert state.spent == MICROS
    assert count_passed(Position.of(ensemble, state)) == -2


def strict_stages(**more) -> Ensemble:
    """Reject where f0 is not high, then where f1 is not; both thresholds are above 0.

    The second class has a chance of 0.2 at first, then 0.3, in the end 0.9.
    """
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(2)]
    return staged(stumps, (1.0, 1.0), (1, 2), (0.5, 0.5), **more)


@pytest.mark.parametrize(
    ("row", "passed", "reason", "chance"),
    [
        ([math.nan, math.nan], 0, "all_known", 0.2),
        ([1.0, math.nan], 1, "all_known", 0.3),
        ([math.nan, 1.0], 2, "all_known", 0.9),
        ([math.nan, 0.0], -2, "rejected_early", 0.11),
        ([0.0, math.nan], -1, "rejected_early", 0.1),
    ],
)
def test_stage_without_any_vote_neither_rejects_nor_passes(row, passed, reason, chance):
    ensemble = strict_stages()

    state = play(ensemble, row)

    assert state.stop_reason == reason
    assert count_passed(Position.of(ensemble, state)) == passed
    forecast = machine.forecast(ensemble, state)
    assert forecast.probabilities == pytest.approx((1 - chance, chance))
    assert forecast.vote == (1 if passed == 2 else 0)
    walks = simulate.walk(ensemble, np.array([row]), [None])
    assert walks.marks.tolist() == [[passed]]


@pytest.mark.parametrize("outcome", ["refused", "unavailable", "unknown"])
def test_case_of_which_nothing_is_known_is_not_rejected(outcome):
    ensemble = strict_stages(priors=(0.2, 0.8))
    first, second = ensemble.cascade.stages
    likely = Cascade((replace(first, chance_reaching=0.8), second), 0.9)
    ensemble = replace(ensemble, cascade=likely)
    state = machine.start(ensemble, None)

    while state.next_feature_idx is not None:
        state = observe(ensemble, state, state.next_feature_idx, outcome)

    assert state.stop_reason == "all_known"
    forecast = machine.forecast(ensemble, state)
    assert (forecast.label, forecast.vote) == (1, 1)
    assert forecast.probabilities == pytest.approx((0.2, 0.8))


def test_budget_that_ends_a_session_after_a_stage_without_any_vote():
    state = play(strict_stages(), [math.nan, 1.0], MICROS // 2)
    assert state.stop_reason == "budget_exhausted"
    features = (Feature("f0", cost=0), Feature("f1", cost=MICROS))
    ensemble = strict_stages(catalogue=Catalogue(features))

    state = play(ensemble, [math.nan, 1.0], MICROS // 2)

    assert state.stop_reason == "budget_exhausted"
    assert count_passed(Position.of(ensemble, state)) == 0
    walks = simulate.walk(ensemble, np.array([[math.nan, 1.0]]), [MICROS // 2])
    assert walks.marks.tolist() == [[0]]


def test_what_is_known_at_the_start_can_reject_at_once():
    state = machine.start(two_stages(), None, known={0: 0.0})

    assert state.stop_reason == "rejected_early"
    assert state.spent == 0


def test_pending_result_is_waited_for():
    ensemble = two_stages()
    state = machine.start(ensemble, None, stop=StopRule(certain=False))
    state = observe(ensemble, state, 0, "ordered")
    assert not state.is_ended
    assert state.next_feature_idx == 1

    state = observe(ensemble, state, 0, "value", 0.0)

    assert state.stop_reason == "rejected_early"


def test_correction_of_a_pending_result_reopens_a_session():
    ensemble = two_stages()
    state = machine.start(ensemble, None, stop=StopRule(certain=False))
    state = observe(ensemble, state, 2, "ordered")
    state = observe(ensemble, state, 0, "value", 0.0)
    assert state.stop_reason == "rejected_early"

    state = observe(ensemble, state, 0, "value", 1.0)

    assert state.stop_reason is None
    assert state.next_feature_idx == 1


def test_costs_of_errors_move_the_label_but_not_the_vote():
    costs = ((0.0, 1.0), (50.0, 0.0))
    ensemble = two_stages(error_costs=costs)

    forecast = machine.forecast(ensemble, play(ensemble, [0.0, 1.0, 1.0]))

    assert (forecast.label, forecast.vote) == (1, 0)


def test_confident_session_may_stop_before_a_stage_ends():
    rule = StopRule(certain=False, confidence=0.75)

    state = machine.start(two_stages(), None, stop=rule)

    assert state.stop_reason == "confident"
    assert state.next_feature_idx == 0


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_other_policies_ask_for_all_of_a_cascade(policy):
    ensemble = two_stages()

    state = play(ensemble, [0.0, 1.0, 1.0], policy=policy)

    assert state.stop_reason == "all_known"
    assert state.spent == 3 * MICROS
    assert machine.forecast(ensemble, state).vote == 1
    walks = simulate.walk(ensemble, np.array([[0.0, 1.0, 1.0]]), [None], policy)
    assert walks.spent.tolist() == [[3 * MICROS]]
    assert simulate.class_votes(ensemble, walks, policy).tolist() == [[1]]
    curve = curves.evaluate(ensemble, rare_rows(), [0, MICROS, None], policy)
    assert curve.max_spends == (0, MICROS, 3 * MICROS)


def rare_rows() -> Dataset:
    values = np.array(list(product([0.0, 1.0], repeat=3)))
    return made.make_dataset(values, np.arange(8) % 2, 2)


def test_rejection_costs_less_than_the_whole(ensemble):
    dataset = rare(50)

    made = [
        curves.evaluate(ensemble, dataset, [None], policy)
        for policy in ("cascade", "ordered")
    ]

    assert made[0].mean_spends[0] < 0.8 * made[1].mean_spends[0]
    walks = simulate.walk(ensemble, dataset.values, [None])
    is_rejected = walks.marks[:, 0] < 0
    assert is_rejected.mean() > 0.4
    assert walks.spent[is_rejected, 0].mean() < walks.spent[~is_rejected, 0].mean()
    codes = [code for code, _ in judged(ensemble, dataset.values)]
    assert codes == walks.marks[:, 0].tolist()


@given(st.data())
def test_walks_equal_sessions_row_by_row(data):
    ensemble = data.draw(cascades())
    values = data.draw(made.tables(ensemble.catalogue, max_rows=4))
    limits = data.draw(st.lists(strategies.budgets(), min_size=1, max_size=4))

    walks = simulate.walk(ensemble, values, limits)

    labels = decide(ensemble, simulate.class_probabilities(ensemble, walks))
    votes = stage_votes(ensemble, walks.marks)
    for row, at in product(range(values.shape[0]), range(len(limits))):
        state = play(ensemble, values[row], limits[at])
        arrays = Position.of(ensemble, state)
        forecast = machine.forecast(ensemble, state)
        assert count_passed(arrays) == walks.marks[row, at]
        assert state.spent == walks.spent[row, at]
        if not ensemble.catalogue.is_bundle.any():
            n_asked = sum(outcome is not None for outcome in state.outcomes)
            assert n_asked == walks.n_asked[row, at]
        assert forecast.label == labels[row, at]
        assert forecast.vote == votes[row, at]
        assert limits[at] is None or state.spent <= limits[at]
        is_rejected = walks.marks[row, at] < 0
        assert (state.stop_reason == "rejected_early") == is_rejected


@given(st.data())
def test_curve_is_that_of_the_sessions(data):
    ensemble = data.draw(cascades())
    dataset = data.draw(strategies.datasets(ensemble.catalogue))
    limits = [0, 3 * MICROS, None]

    curve = curves.evaluate(ensemble, dataset, limits)

    for at, limit in enumerate(limits):
        wrong = spent = 0.0
        for row in range(dataset.n_samples):
            state = play(ensemble, dataset.values[row], limit)
            vote = machine.forecast(ensemble, state).vote
            wrong += dataset.weights[row] * (vote != dataset.targets[row])
            spent += dataset.weights[row] * state.spent
        assert curve.errors[at] == pytest.approx(wrong)
        assert curve.mean_spends[at] == pytest.approx(spent)


@given(st.data())
def test_session_goes_on_the_same_after_the_codec(data):
    ensemble = data.draw(cascades())
    row = data.draw(made.tables(ensemble.catalogue, max_rows=1))[0]
    again = through_json(Model("m", ensemble)).ensemble
    state = machine.start(ensemble, data.draw(strategies.budgets()))

    while state.next_feature_idx is not None:
        raw = json.loads(json.dumps(state_to_json(state, ensemble.catalogue)))
        stored = state_from_json(raw, again.catalogue)
        state = answer(ensemble, state, row)
        after = answer(again, stored, row)
        assert repr(after) == repr(state)
        assert machine.forecast(again, after) == machine.forecast(ensemble, state)


# Certainty.


def completions(ensemble: Ensemble, state):
    """Every state that answers can lead to; open features may stay open in between."""
    options = made.all_options(ensemble)
    used = set(np.flatnonzero(ensemble.is_used).tolist())
    free = [i for i in used if state.outcomes[i] in (None, "ordered")]
    for chosen in product(*(options[idx] for idx in free)):
        row = list(state.values)
        for idx, value in zip(free, chosen, strict=True):
            row[idx] = math.nan if value is None else value
        yield row, free


MAX_COMPLETIONS = 300 if IS_COMPILED else 60


@given(st.data())
def test_once_certain_no_answers_change_vote_or_label(data):
    ensemble = data.draw(cascades(max_hypotheses=4))
    row = data.draw(made.tables(ensemble.catalogue, max_rows=1))[0]
    budget = data.draw(strategies.budgets())
    state = machine.start(ensemble, budget)
    while state.next_feature_idx is not None and state.stop_reason != "certain":
        state = answer(ensemble, state, row)
    if state.stop_reason != "certain":
        return
    now = machine.forecast(ensemble, state)

    for count, (completed, _) in enumerate(completions(ensemble, state)):
        after = state
        while after.next_feature_idx is not None:
            after = answer(ensemble, after, completed)
            then = machine.forecast(ensemble, after)
            assert (then.vote, then.label) == (now.vote, now.label)
        if count > MAX_COMPLETIONS:
            break


def test_certain_once_a_stage_must_reject():
    """Two of three stumps against it: the stage can't pass any more."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(3)]
    ensemble = staged(stumps, (1.0, 1.0, 1.0), (3,), (0.0,))
    state = machine.start(ensemble, None)
    state = observe(ensemble, state, 0, "value", 0.0)
    assert state.stop_reason is None

    state = observe(ensemble, state, 1, "value", 0.0)

    # The third may still be missing or against it, but not outweigh both.
    assert state.stop_reason == "certain"
    assert state.is_decided
    assert machine.forecast(ensemble, state).label == 0


def test_not_certain_while_the_label_of_a_rejection_would_differ():
    """The stage must reject, but most rows that reach it are of the second class."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(3)]
    ensemble = staged(stumps, (1.0, 1.0, 1.0), (3,), (0.0,))
    (stage,) = ensemble.cascade.stages
    likely = Cascade((replace(stage, chance_reaching=0.8),), 0.9)
    ensemble = replace(ensemble, cascade=likely)
    state = machine.start(ensemble, None)
    for idx in (0, 1):
        state = observe(ensemble, state, idx, "value", 0.0)
    assert machine.forecast(ensemble, state).label == 1
    assert state.stop_reason is None

    state = observe(ensemble, state, 2, "value", 1.0)

    assert state.stop_reason == "rejected_early"
    assert machine.forecast(ensemble, state).label == 0


def test_certain_once_every_stage_must_pass():
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(2)]
    ensemble = staged(stumps, (1.0, 1.0), (1, 2), (0.0, -3.0))
    (first, second) = ensemble.cascade.stages
    likely = Cascade((first, replace(second, chance_reaching=0.6)), 0.9)
    ensemble = replace(ensemble, cascade=likely)
    state = machine.start(ensemble, None)
    assert state.stop_reason is None

    state = observe(ensemble, state, 0, "value", 1.0)

    # The second stage passes whatever it hears.
    assert state.stop_reason == "certain"
    assert machine.forecast(ensemble, state).label == 1


def test_not_certain_while_a_stage_may_be_gone_past_without_any_vote():
    """No value passes the first stage, but who lacks it is judged by the second."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(2)]
    ensemble = staged(stumps, (1.0, 1.0), (1, 2), (5.0, -3.0))

    assert machine.start(ensemble, None).stop_reason is None


def test_stage_gone_past_without_any_vote_leaves_certainty_to_the_next():
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(2)]
    ensemble = staged(stumps, (1.0, 1.0), (1, 2), (5.0, -3.0))
    first, second = ensemble.cascade.stages
    likely = Cascade((replace(first, chance_reaching=0.6), second), 0.9)
    ensemble = replace(ensemble, cascade=likely)
    state = machine.start(ensemble, None)
    assert state.stop_reason is None

    state = observe(ensemble, state, 0, "refused")

    # The second stage can't reject; with or without its vote the label is the same.
    assert state.stop_reason == "certain"
    assert machine.forecast(ensemble, state).label == 1


# Policies and the codec.


@pytest.mark.parametrize("name", ["cascade", "ordered", "sample"])
def test_policy_of_a_cascade_may_be_any(name):
    assert check_policy(name, two_stages(), "policy") == name


def test_policy_cascade_is_refused_where_there_is_none():
    ensemble = replace(two_stages(), cascade=None, policy="ordered")
    assert check_policy("sample", ensemble, "policy") == "sample"

    with pytest.raises(RefusedError, match=r"^policy: must be one of ordered, sample"):
        check_policy("cascade", ensemble, "policy")


def test_unknown_policy_is_refused():
    with pytest.raises(RefusedError, match=r"--policy: must be one of .*'best'"):
        check_policy("best", two_stages(), "--policy")


def through_json(model: Model) -> Model:
    return model_from_json(json.loads(json.dumps(model_to_json(model))))


@given(st.data())
def test_any_cascade_survives_the_codec(data):
    model = Model("m", data.draw(cascades()))

    assert through_json(model) == model


def test_trained_cascade_survives_the_codec():
    model = finish(train(rare(12), params_of(false_alarm=0.7), folds=2, seed=1))

    assert through_json(model) == model
    assert model.params["detection"] == 0.9


def document():
    return json.loads(json.dumps(model_to_json(Model("m", two_stages()))))


@pytest.mark.parametrize(
    ("stage", "field", "value"),
    [
        (0, "length", 0),
        (0, "length", 4),
        (0, "length", 1.5),
        (0, "length", None),
        (0, "length", True),
        (1, "threshold", None),
        (1, "threshold", "0"),
        (1, "threshold", 1e13),
        (0, "detection", 1.1),
        (0, "false_alarm", -0.1),
        (1, "chance_reaching", 2),
        (1, "chance_rejected", None),
    ],
)
def test_damaged_stage_is_refused_by_field(stage, field, value):
    raw = document()
    raw["cascade"]["stages"][stage][field] = value

    with pytest.raises(RefusedError, match=rf"cascade\.stages\[{stage}\]\.{field}"):
        model_from_json(raw)


@pytest.mark.parametrize(
    "lengths",
    [[1, 2], [2, 1], [3, 3], [1], [3, 1], []],
    ids=lambda lengths: str(lengths),
)
def test_stages_that_do_not_part_the_hypotheses_are_refused(lengths):
    raw = document()
    one = raw["cascade"]["stages"][0]
    raw["cascade"]["stages"] = [one | {"length": length} for length in lengths]

    with pytest.raises(RefusedError, match=r"cascade\.stages: must end"):
        model_from_json(raw)


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"stages": None, "chance_passed": 0.5}, "stages"),
        ({"stages": [3], "chance_passed": 0.5}, "stages"),
        ([], "cascade"),
        ("none", "cascade"),
    ],
)
def test_cascade_of_another_shape_is_refused(value, where):
    with pytest.raises(RefusedError, match=where):
        model_from_json(document() | {"cascade": value})


@pytest.mark.parametrize("value", [None, -0.1, 1.5, "1", math.nan])
def test_damaged_chance_is_refused(value):
    raw = document()
    raw["cascade"]["chance_passed"] = value

    with pytest.raises(RefusedError, match=r"cascade\.chance_passed"):
        model_from_json(raw)


def test_policy_cascade_without_a_cascade_is_refused():
    with pytest.raises(RefusedError, match="policy: must not be cascade"):
        model_from_json(document() | {"cascade": None})


def test_cascade_of_three_classes_is_refused():
    ensemble = replace(
        two_stages(policy="ordered"),
        classes=made.classes_of(3),
        priors=(0.5, 0.25, 0.25),
        hypotheses=tuple(Stump(idx, 0.5, (1, -1, 1)) for idx in range(3)),
    )
    raw = json.loads(json.dumps(model_to_json(Model("m", ensemble))))

    with pytest.raises(RefusedError, match=r"cascade\.stages"):
        model_from_json(raw)


def test_chances_follow_the_stages():
    ensemble = two_stages()
    codes = np.array([0, 1, 2, -1, -2])

    assert stage_chances(ensemble, codes)[:, 1] == pytest.approx(
        [0.2, 0.3, 0.9, 0.1, 0.11]
    )
    assert stage_votes(ensemble, codes).tolist() == [0, 0, 1, 0, 0]
