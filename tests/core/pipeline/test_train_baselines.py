"""Every algorithm by one interface; baselines through the codec."""

import json
import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.app.documents.model.checkpoint import rounds_from_json, rounds_to_json
from askless.core.codes.binned_table import code_table
from askless.core.errors import RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import raw_classes
from askless.core.session import machine, probability
from askless.core.session.state import StopRule
from askless.core.simulation import curves, simulate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import ALGORITHMS, grow_ensemble
from askless.core.training.baselines import BASELINES
from askless.core.training.rules import RULES
from tests import strategies
from tests.baselines import BAGGED, MICROS, grow, grown, mixed, params_of
from tests.documents import through_json
from tests.sessions import observe
from tests.small import finish, train

pytestmark = pytest.mark.usefixtures("short_pruning", "short_calibrations")


def test_algorithms_are_the_rules_a_cascade_and_the_baselines():
    assert list(ALGORITHMS) == [
        "auto",
        "panels",
        *RULES,
        "cascade",
        "online",
        *BASELINES,
    ]
    assert ALGORITHMS["adaboost_rs"].policy == "sample"
    assert ALGORITHMS["cascade"].policy == "cascade"
    assert {ALGORITHMS[name].policy for name in BASELINES} == {"ordered"}


def play(ensemble: Ensemble, row: np.ndarray, budget: int | None, **more):
    stop = StopRule(certain=False)
    state = machine.start(ensemble, budget, stop=stop, **more)
    while state.next_feature_idx is not None and state.stop_reason != "not_worth_it":
        idx = state.next_feature_idx
        is_gone = math.isnan(row[idx])
        answer = ("unavailable", None) if is_gone else ("value", float(row[idx]))
        state = observe(ensemble, state, idx, *answer)
        assert budget is None or state.spent <= budget
    return state


BUDGETS = [0, MICROS, 2 * MICROS, 4 * MICROS + 5, 7 * MICROS, None]


@pytest.mark.usefixtures("short_panels")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "n_classes"),
    [
        *(
            (name, 2 + number % 2)
            for number, name in enumerate(ALGORITHMS)
            if name != "auto"  # It is panels: test_auto.py.
        ),
        ("cascade", 3 - [*ALGORITHMS].index("cascade") % 2),
    ],
)
def test_every_algorithm_trains_evaluates_is_stored_and_plays(algorithm, n_classes):
    dataset = mixed(23, n_classes, n_samples=60, share_missing=0.1)
    training = train(dataset, params_of(algorithm), folds=2, seed=1)
    if ALGORITHMS[algorithm].is_binary and n_classes > 2:
        with pytest.raises(RefusedError, match="algorithm: a cascade has two classes"):
            next(training)
        return
    shares, model = [0.0], None
    while model is None:
        try:
            shares.append(next(training).share)
        except StopIteration as stop:
            model = stop.value

    assert all(0 <= a <= b <= 1 for a, b in pairwise(shares))
    assert through_json(model) == model
    ensemble = model.ensemble
    assert ensemble.policy == ALGORITHMS[algorithm].policy
    fresh = mixed(24, n_classes, n_samples=4, share_missing=0.2)
    curve = curves.evaluate(ensemble, fresh, BUDGETS)
    walks = simulate.simulate(ensemble, fresh.values, BUDGETS, seed=0)
    labels = probability.decide_label(
        ensemble, simulate.class_probabilities(ensemble, walks)
    )
    for at, budget in enumerate(BUDGETS):
        assert budget is None or curve.max_spends[at] <= budget
        for row, values in enumerate(fresh.values):
            state = play(ensemble, values, budget, seed=0, stream=row)
            forecast = machine.forecast(ensemble, state)
            assert state.spent == walks.spent[row, at]
            assert forecast.label == labels[row, at]


@cache
def grown_once(algorithm: str, seed: int, n_classes: int) -> tuple[Dataset, Ensemble]:
    dataset = mixed(seed, n_classes, share_missing=0.2)
    return dataset, grown(dataset, algorithm, rounds=3, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", BASELINES)
@given(st.data())
def test_trees_under_any_budget_walk_as_sessions_do(algorithm, data):
    seed = data.draw(st.integers(0, 5))
    dataset, ensemble = grown_once(algorithm, seed, data.draw(st.integers(2, 3)))
    budget = data.draw(st.integers(0, 9 * MICROS) | st.none())
    row = data.draw(strategies.tables(dataset.catalogue, max_rows=1))

    walks = simulate.simulate(ensemble, row, [budget])

    state = play(ensemble, row[0], budget)
    forecast = machine.forecast(ensemble, state)
    assert state.spent == walks.spent[0, 0]
    margins = walks.margins[0, 0] * walks.known_shares[0, 0] * ensemble.alpha_sums[-1]
    assert forecast.vote == raw_classes(ensemble, margins)


def stored(rounds, dataset: Dataset):
    """Rounds as a checkpoint gives them back."""
    raw = json.loads(json.dumps(rounds_to_json(rounds)))
    return rounds_from_json(raw, dataset.catalogue, 1)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rounds_go_on_the_same_after_any_of_them(algorithm):
    dataset = mixed(29, n_samples=60, share_missing=0.05, noise=0.4)
    params = params_of(algorithm, rounds=4, detection=0.8, seed=3)
    table = code_table(dataset)
    expected = list(grow_ensemble(table, params, (), is_strict=True))

    for length in range(len(expected) + 1):
        done = stored(expected[:length], dataset)
        rest = grow_ensemble(table, params, done, is_strict=True)
        assert list(rest) == expected[length:]


# Rounds of every algorithm go on the same, above: here one of each way to grow is cut
# within its parts.
@pytest.mark.usefixtures("short_panels")
@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm",
    ["panels", "adaboost_bt_smoothed", "cascade", "online", "random_forest"],
)
def test_training_goes_on_to_the_same_model(algorithm):
    dataset = mixed(29, n_samples=40, share_missing=0.05, noise=0.4)
    params = params_of(algorithm, rounds=3, detection=0.8, seed=3)
    training, done = train(dataset, params, folds=2), {}
    while sum(map(len, done.values())) < 2:
        progress = next(training)
        if progress.added is not None:
            done.setdefault(progress.part, []).append(progress.added)
    done = {part: stored(some, dataset) for part, some in done.items()}

    resumed = finish(train(dataset, params, folds=2, done=done))

    assert resumed == finish(training)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", BASELINES)
def test_seed_decides_the_trees(algorithm):
    dataset = mixed(31)
    same = [grow(dataset, algorithm, seed=seed) for seed in (1, 1, 2)]

    assert same[0] == same[1]
    if algorithm in BAGGED:
        assert same[0] != same[2]


def test_more_trees_begin_with_the_same_ones():
    dataset = mixed(33)

    assert grow(dataset, "bagging", rounds=5)[:3] == grow(dataset, "bagging", rounds=3)


@pytest.mark.parametrize("algorithm", BASELINES)
def test_rounds_tell_what_features_cost_so_far(algorithm):
    dataset = mixed(35)

    rounds = grow(dataset, algorithm)

    read = set()
    for round in rounds:
        read |= set(round.hypothesis.feature_idxs)
        costs = sum(dataset.catalogue.features[idx].cost for idx in read)
        assert round.spent == costs + MICROS * bool(read & {0, 1})
        assert 0 <= round.edge <= 1 + 1e-9
