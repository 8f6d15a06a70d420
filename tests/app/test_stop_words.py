"""Why a session asks no more: each sentence is true of the state that it is said of."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.app.words.stops import describe_stop, to_sentence
from askless.core.catalogue.prices import to_micros
from askless.core.model.ensemble import Ensemble, Knee
from askless.core.model.hypotheses import Product, Stump
from askless.core.session import machine
from askless.core.session.position import Position
from askless.core.session.state import State, StopReason
from askless.core.session.uses import list_unanswered
from tests import strategies
from tests.panels import make_ladder, with_panels
from tests.sessions import NEVER, begun, observe, observe_all, small_ensemble
from tests.small import MICROS, ensemble_of

ONE = MICROS
CHANGES = ("value", "ordered", "unavailable", "refused", "unknown", "budget")


def paneled(*costs: int) -> Ensemble:
    """A model that reads all features, and has a panel of the first one only."""
    ensemble = small_ensemble([cost * ONE for cost in costs], policy="panels")
    return replace(ensemble, panels=make_ladder(ensemble, [[0]]))


def complete(ensemble: Ensemble, budget: int | None) -> State:
    """A session of panels that has bought what helps."""
    limit = None if budget is None else budget * ONE
    state = machine.start(ensemble, limit, stop=NEVER)
    state = observe(ensemble, state, 0, "value", 1.0)
    assert state.stop_reason == "plan_complete"
    return state


@pytest.mark.parametrize(
    ("dearest", "budget", "words"),
    [
        (3, 7, "for the remaining 6.00 would lower the expected error"),
        (3, None, "would lower the expected error"),
        (
            40,
            7,
            "for the remaining 6.00 would lower the expected error; something dearer "
            "might",
        ),
    ],
)
def test_what_would_not_help_is_said_with_what_remains(dearest, budget, words):
    ensemble = paneled(1, 2, dearest)

    told = describe_stop(ensemble, complete(ensemble, budget))

    assert told == f"nothing that could still be asked {words}"


@pytest.mark.parametrize(
    ("gain", "budget"),
    # What lies between other budgets has not been measured of this one.
    [(None, 3 * ONE), (0.025, 4 * ONE)],
)
def test_what_is_not_worth_it_is_said_with_its_price(gain, budget):
    ensemble = paneled(1, 2)
    ladder = make_ladder(ensemble, [[0, 1]])
    knees = Knee(ONE, ONE), Knee(3 * ONE, ONE, gain, gain)
    ensemble = replace(ensemble, panels=ladder, knees=knees)
    state = machine.start(ensemble, budget, stop=NEVER)

    ended = observe(ensemble, state, 0, "value", 1.0)

    assert describe_stop(ensemble, ended) == (
        "going on is not worth it: 2.00 more, which training found not to pay"
    )


def test_gain_of_rows_that_answer_all_is_not_said_after_a_refusal():
    ensemble = paneled(1, 2, 4)
    ladder = make_ladder(ensemble, [[0, 1, 2]], can_hide=True)
    knees = Knee(ONE, ONE), Knee(7 * ONE, ONE, 0.025, 0.007)
    ensemble = replace(ensemble, panels=ladder, knees=knees)
    state = machine.start(ensemble, 7 * ONE, stop=NEVER)

    ended = observe(ensemble, state, 0, "refused")

    assert ended.stop_reason == "not_worth_it"
    assert describe_stop(ensemble, ended).endswith("which training found not to pay")


@pytest.mark.parametrize(
    ("gain", "standard_error", "costs", "words"),
    [
        (0.025, 0.007, None, "for 1 to 4 errors fewer in 100 cases"),
        (0.0, 0.004, None, "for at most 1 error fewer in 100 cases"),
        (-0.1, 0.001, None, "for no error fewer"),
        (2.0, 0.5, ((0, 1), (9, 0)), "for at most 2.98 of error costs saved in a case"),
    ],
)
def test_what_going_on_would_gain_is_said(gain, standard_error, costs, words):
    ensemble = paneled(1, 2, 4)
    ladder = make_ladder(ensemble, [[0, 1, 2]])
    knees = Knee(ONE, ONE), Knee(7 * ONE, ONE, gain, standard_error)
    ensemble = replace(ensemble, panels=ladder, knees=knees, error_costs=costs)
    state = machine.start(ensemble, 7 * ONE, stop=NEVER)

    ended = observe(ensemble, state, 0, "value", 1.0)

    more = "6.00 more, 2.00 for the next question"
    assert describe_stop(ensemble, ended) == (
        f"going on is not worth it: {more}, {words}"
    )
    going = machine.start(ensemble, 7 * ONE, stop=replace(NEVER, spend="all"))
    assert not describe_stop(ensemble, observe(ensemble, going, 0, "value", 1.0))


@pytest.mark.parametrize(
    ("costs", "budget", "reason", "words"),
    [
        (
            (4, 9, 2),
            8,
            "plan_complete",
            "what would be bought next costs more than the remaining 4.00, but "
            "something else is still affordable",
        ),
        (
            (4, 9),
            8,
            "budget_exhausted",
            "everything that could still be asked costs more than the remaining 4.00",
        ),
        ((4, 9), 4, "budget_exhausted", "nothing is left of the budget, and"),
    ],
)
def test_votes_that_are_too_dear_are_not_said_to_be_of_no_help(
    costs, budget, reason, words
):
    ensemble, state = begun([cost * ONE for cost in costs], budget=budget * ONE)

    state = observe(ensemble, state, 0, "value", 1.0)

    assert state.stop_reason == reason
    assert describe_stop(ensemble, state).startswith(words)


def test_product_that_is_too_dear_as_a_whole_is_what_would_be_bought_next():
    parts = tuple(Stump(idx, 0.5, (1,)) for idx in range(3))
    ensemble = ensemble_of([Product(parts)])
    state = machine.start(ensemble, 2 * ONE)

    assert state.stop_reason == "plan_complete"
    assert describe_stop(ensemble, state).startswith(
        "what would be bought next costs more"
    )


@pytest.mark.parametrize(
    ("outcome", "word"),
    [("refused", "answered"), ("ordered", "answered or ordered")],
)
def test_what_was_ordered_is_not_said_to_be_answered(outcome, word):
    ensemble, state = begun([1, 1], stop=NEVER)

    state = observe_all(ensemble, state, (0, outcome), (1, "value", 1.0))

    assert state.stop_reason == "all_known"
    assert describe_stop(ensemble, state).endswith(f"needs for this case is {word}")


def test_session_that_asks_on_gives_no_reason():
    ensemble, state = begun([1, 1], stop=NEVER)

    assert to_sentence(describe_stop(ensemble, state)) == ""


@pytest.mark.parametrize("reason", StopReason.__args__)
def test_every_reason_has_a_sentence(reason):
    ensemble, state = begun([1, 1], stop=NEVER)

    said = to_sentence(describe_stop(ensemble, replace(state, stop_reason=reason)))

    assert re.fullmatch(r"[A-Z][^.]*(\.\d+[^.]*)*\.", said)
    assert "fits what remains" not in said


@st.composite
def talks(draw):
    """A session of any policy after any answers, also to what was not asked."""
    ensemble = draw(strategies.ensembles())
    if draw(st.booleans()):
        ensemble = replace(
            draw(with_panels(strategies.ensembles(max_hypotheses=1))), policy="panels"
        )
    state = machine.start(ensemble, draw(strategies.budgets()), stop=NEVER)
    n_features = len(ensemble.catalogue.features)
    for _ in range(draw(st.integers(0, 2 * n_features))):
        state = move(ensemble, state, draw(st.sampled_from(CHANGES)), draw)
    return ensemble, state


def move(ensemble, state, change, draw):
    """Change the budget, or answer an affordable feature."""
    if change == "budget":
        more = draw(st.integers(0, 50))
        return machine.change_budget(ensemble, state, state.spent + more)
    is_affordable = Position.of(ensemble, state).is_affordable
    idxs = [i for i in list_unanswered(ensemble, state) if is_affordable[i]]
    if not idxs:
        return state
    value = 1.0 if change == "value" else None
    return observe(ensemble, state, draw(st.sampled_from(idxs)), change, value)


@given(talks())
def test_what_is_said_holds(talk):
    ensemble, state = talk
    position = Position.of(ensemble, state)
    prices = [int(position.prices[idx]) for idx in list_unanswered(ensemble, state)]
    left = np.inf if state.remaining is None else state.remaining

    said = describe_stop(ensemble, state)

    found = re.search(r"remaining ([\d.,]+\d)", said)
    if found is not None:
        assert to_micros(float(found[1].replace(",", ""))) == left
    if state.stop_reason == "budget_exhausted":
        assert all(price > left for price in prices)
        assert (left == 0) == said.startswith("nothing is left")
    if state.stop_reason == "plan_complete":
        assert any(price <= left for price in prices)
        is_less = any(price > left for price in prices)
        assert is_less or "something dearer" not in said
    if state.stop_reason == "all_known":
        assert bool(state.pending) == said.endswith("or ordered")
