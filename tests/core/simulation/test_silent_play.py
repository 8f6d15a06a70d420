"""Silent play: losses given the same answers, spends where the log has all of them."""

from dataclasses import replace

import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.hypotheses import Stump
from askless.core.session import machine
from askless.core.session.state import Aim, Answer, StopRule
from askless.core.simulation.silent_play import ClosedCase, Rivals, play_silently
from tests.small import MICROS, ensemble_of

NO_STOP = StopRule(certain=False)


def ensemble_on(order, costs=(1, 1, 1), **fields):
    """Stumps whose vote for the second class is that the feature is above 0.5."""
    features = [Feature(f"f{i}", cost=cost * MICROS) for i, cost in enumerate(costs)]
    hypotheses = [Stump(idx, 0.5, (1,)) for idx in order]
    return ensemble_of(hypotheses, Catalogue(tuple(features)), **fields)


def play(ensemble, values, budget=None, stop=NO_STOP, **terms):
    """Return the end of a session in which each question gets its value, or none."""
    state = machine.start(ensemble, budget, stop=stop, **terms)
    while state.next_feature_idx is not None and state.stop_reason is None:
        idx = state.next_feature_idx
        outcome = "refused" if values[idx] is None else "value"
        answer = Answer(idx, outcome, values[idx])
        state = machine.observe(ensemble, state, [answer])
    return machine.stop(state)


def judged(ensemble, state, label="c1", texts=None):
    return ClosedCase(ensemble.catalogue, state, label, texts or {})


def test_losses_are_of_labels_given_all_that_was_learnt():
    champion, challenger = ensemble_on([0]), ensemble_on([1])
    state = play(ensemble_on([0, 1]), [0.0, 1.0, 0.0])

    played = play_silently(Rivals(champion, challenger), judged(champion, state))

    assert played.losses == (1.0, 0.0)


def test_a_model_against_itself_differs_in_nothing():
    ensemble = ensemble_on([2, 0, 1])
    state = play(ensemble, [0.0, 1.0, None], budget=2 * MICROS)

    played = play_silently(Rivals(ensemble, ensemble), judged(ensemble, state))

    assert played.losses[0] == played.losses[1]
    assert played.spends == (state.spent, state.spent)


def test_spends_are_those_of_own_sessions_under_the_budget_of_the_case():
    led, shorter = ensemble_on([2, 0, 1]), ensemble_on([2])
    state = play(led, [0.0, 1.0, 1.0], budget=2 * MICROS)

    played = play_silently(Rivals(led, shorter), judged(led, state))

    assert played.spends == (2 * MICROS, MICROS)


def test_there_is_no_spend_where_the_challenger_would_have_asked_something_else():
    champion, challenger = ensemble_on([2, 0, 1]), ensemble_on([2, 1, 0])
    state = play(champion, [0.0, 1.0, 1.0], budget=2 * MICROS)

    played = play_silently(Rivals(champion, challenger), judged(champion, state))

    assert played.spends is None
    assert len(played.losses) == 2


@pytest.mark.parametrize(
    "change", [{"aim": Aim(mean_budget=MICROS)}, {"stop": StopRule(disagreement=0.1)}]
)
def test_there_is_no_spend_of_sessions_that_need_more_than_a_budget(change):
    ensemble = ensemble_on([0, 1])
    state = replace(play(ensemble, [0.0, 1.0, 1.0]), **change)

    played = play_silently(Rivals(ensemble, ensemble), judged(ensemble, state))

    assert played.spends is None


def test_a_dearer_challenger_is_judged_by_all_answers_too():
    champion, dear = ensemble_on([0, 1]), ensemble_on([1], costs=(9, 9, 9))
    state = play(champion, [0.0, 1.0, 1.0], budget=2 * MICROS)

    played = play_silently(Rivals(champion, dear), judged(champion, state))

    assert played.losses[1] == 0.0


def test_losses_weigh_errors_by_the_costs_of_the_champion():
    # Of the second class a miss costs a quarter of the dearest error.
    costs = ((0.0, 8.0), (2.0, 0.0))
    champion, challenger = ensemble_on([0], error_costs=costs), ensemble_on([1])
    state = play(ensemble_on([0, 1]), [1.0, 0.0, 0.0])

    played = play_silently(Rivals(champion, challenger), judged(champion, state))

    assert played.losses == (0.0, 0.25)


def test_a_label_that_the_champion_lacks_costs_most():
    costs = ((0.0, 8.0), (2.0, 0.0))
    champion = ensemble_on([0], error_costs=costs)
    other = ensemble_on([0])
    classes = tuple(replace(label, label=f"x{label.label}") for label in other.classes)
    challenger = replace(other, classes=classes)
    state = play(champion, [1.0, 0.0, 0.0])

    played = play_silently(Rivals(champion, challenger), judged(champion, state))

    assert played.losses[1] == 1.0


def test_categories_are_matched_by_their_texts():
    def on(categories, code):
        feature = Feature("f0", "category", categories=categories)
        return ensemble_of([Stump(0, code, (1,), True)], Catalogue((feature,)))

    champion, challenger = on(("a", "b"), 1), on(("x", "b", "a"), 1)
    state = play(champion, [1.0])

    played = play_silently(Rivals(champion, challenger), judged(champion, state))

    assert played.losses == (0.0, 0.0)
