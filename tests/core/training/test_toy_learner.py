"""A learner that a test adds by two classes trains, votes and is asked in sessions."""

from itertools import product

import numpy as np
import pytest

from askless.core.estimator.classifier import BudgetedBoostingClassifier
from askless.core.session import machine
from askless.core.simulation.simulate import class_votes, simulate
from askless.core.training.boosting import initial_weights
from askless.core.training.learners import LEARNERS
from askless.core.training.params import BoostParams
from tests.agreement import Agreement, AgreementLearner
from tests.rounds import run
from tests.sessions import NEVER, answer_from_row
from tests.small import finish, random_dataset, train

PARAMS = BoostParams("adaboost", rounds=6, learner="agreement")
BUDGETS = [0, 1_000_000, 2_000_000, None]


@pytest.fixture(autouse=True)
def agreement(monkeypatch):
    monkeypatch.setitem(LEARNERS, "agreement", AgreementLearner)


@pytest.fixture
def dataset():
    return random_dataset(3, 2, n_samples=60, share_missing=0.0)


@pytest.fixture
def ensemble(dataset):
    return finish(train(dataset, PARAMS, folds=2)).ensemble


def vote_by_hand(hypothesis: Agreement, row: np.ndarray) -> int:
    one, other = (
        stump.votes[0] * (1 if is_above(stump, row) else -1)
        for stump in hypothesis.stumps
    )
    return one if one == other else 0


def is_above(stump, row) -> bool:
    value = row[stump.feature_idx]
    return value == stump.cut if stump.is_category else value > stump.cut


def test_edges_are_those_of_votes_by_hand(dataset):
    signed = initial_weights(dataset)[:, 0]

    rounds = run(dataset, PARAMS)

    assert len(rounds) == PARAMS.rounds
    for round in rounds:
        votes = np.array([vote_by_hand(round.hypothesis, x) for x in dataset.values])
        assert (signed * votes).sum() == pytest.approx(round.edge)
        signed = signed * np.exp(-round.alpha * np.sign(signed) * votes)
        signed /= np.abs(signed).sum()


def test_interrupted_run_goes_on_the_same(dataset):
    whole = run(dataset, PARAMS)

    assert repr(run(dataset, PARAMS, done=whole[:3])) == repr(whole[3:])


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_sessions_end_as_walks_do(dataset, ensemble, policy):
    rows, streams = dataset.values[::9], range(len(dataset.values[::9]))

    walks = simulate(
        ensemble, rows, BUDGETS, policy, 3, needs_ranks=True, streams=streams
    )

    votes = class_votes(ensemble, walks)
    for (i, row), (j, budget) in product(enumerate(rows), enumerate(BUDGETS)):
        state = machine.start(ensemble, budget, 3, {}, policy, NEVER, i)
        state, asked = answer_from_row(ensemble, state, row)
        assert (state.spent, len(asked)) == (walks.spent[i, j], walks.n_asked[i, j])
        assert machine.forecast(ensemble, state).vote == votes[i, j]


def test_whole_vote_is_that_by_hand(dataset, ensemble):
    for row in dataset.values[::9]:
        state = machine.start(ensemble, None, policy="ordered", stop=NEVER)
        state, _ = answer_from_row(ensemble, state, row)

        votes = [vote_by_hand(hypothesis, row) for hypothesis in ensemble.hypotheses]
        margin = np.average(votes, weights=ensemble.alphas * np.abs(votes))
        assert machine.forecast(ensemble, state).margin == pytest.approx(margin)


def test_estimator_trains_by_its_name(dataset):
    estimator = BudgetedBoostingClassifier("adaboost", learner="agreement", rounds=4)

    estimator.fit(dataset.values, dataset.targets)

    assert isinstance(estimator.ensemble_.hypotheses[0], Agreement)
