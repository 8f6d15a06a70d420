"""Sessions: what a question says, and its alternatives."""

from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from tests.sessions import BLOOD, ECHO, FEE, begun, observe, small_ensemble


def test_question_says_what_it_asks_and_at_which_price():
    ensemble = small_ensemble(
        [7, 5, 3], members={1: FEE, 2: FEE}, hypotheses=[(1, 1.0), (2, 2.0), (1, -1.0)]
    )
    state = machine.start(ensemble, 100)

    question = machine.next_question(ensemble, state)

    assert (question.number, question.feature_idx, question.feature_idxs) == (
        1,
        1,
        (1,),
    )
    assert (question.price, question.is_group_paid) == (25, False)
    assert (question.n_hypotheses, question.open_share) == (2, 0.5)
    assert question.alternatives == ((2, 23),)


def test_question_knows_that_the_fee_is_paid():
    ensemble = small_ensemble([7, 5], members=BLOOD)
    state = observe(ensemble, machine.start(ensemble, 100), 0, "value", 1.0)

    question = machine.next_question(ensemble, state)

    assert (question.price, question.is_group_paid) == (5, True)


def test_question_about_a_bundle_names_all_its_open_members():
    ensemble, state = begun([0, 0, 0], members=ECHO, known={0: 1.0})

    question = machine.next_question(ensemble, state)

    assert (question.feature_idxs, question.price) == ((1, 2), 90)


def test_share_of_question_is_of_the_plan_for_ordered_and_of_all_for_sample():
    ensemble = small_ensemble([1, 100], hypotheses=[(0, 1.0), (1, 3.0)])

    shares = {
        policy: machine.next_question(
            ensemble, machine.start(ensemble, 10, policy=policy, seed=seed)
        ).open_share
        for policy, seed in (("ordered", 0), ("sample", seed_that_asks_first(ensemble)))
    }

    assert shares == {"ordered": 1.0, "sample": 0.25}


def seed_that_asks_first(ensemble: Ensemble) -> int:
    return next(
        seed
        for seed in range(100)
        if machine.start(ensemble, 10, policy="sample", seed=seed).next_feature_idx == 0
    )


def test_alternatives_are_open_affordable_features_that_hypotheses_read():
    ensemble = small_ensemble(
        [1, 2, 3, 500, 4], hypotheses=[(0, 1.0), (3, 1.0), (2, 1.0), (1, 1.0), (2, 1.0)]
    )
    state = machine.start(ensemble, 10, known={1: 0.0})

    question = machine.next_question(ensemble, state)

    assert question.alternatives == ((2, 3),)
