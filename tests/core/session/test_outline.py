"""What a session asks on paper."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from askless.core.model.values import middle_values
from askless.core.session import machine
from askless.core.session.plans.outline import outline
from tests.panels import make_ladder
from tests.sessions import FEE, NEVER, observe, small_ensemble

PLAIN = small_ensemble([1, 2, 3], [(0, 1.0), (2, 0.8), (1, 0.7)], {1: FEE})


@given(budget=st.none() | st.integers(0, 30))
def test_outline_is_what_a_session_of_middle_values_asks(budget):
    questions = outline(PLAIN, budget)

    state = machine.start(PLAIN, budget, stop=NEVER)
    for question in questions:
        assert question == machine.next_question(PLAIN, state)
        state = observe(PLAIN, state, question.feature_idx, "value", 0.5)
    assert machine.next_question(PLAIN, state) is None
    assert state.spent == sum(question.price for question in questions)


def test_policy_may_be_named():
    both = replace(PLAIN, panels=make_ladder(PLAIN, [(1, 2)]), policy="panels")

    asked, named = (
        [entry.feature_idx for entry in outline(both, None, policy)]
        for policy in (None, "ordered")
    )

    assert asked == [1, 2]
    assert named == [0, 2, 1]


def test_middle_values_are_means_of_panels_or_middle_cuts():
    ladder = make_ladder(PLAIN, [(1,)])
    blend = next(panel.blend for panel in ladder.panels if panel.blend is not None)
    mean = float(blend.columns.means[0])

    assert middle_values(replace(PLAIN, panels=ladder)) == [0.5, mean, 0.5]
    assert middle_values(replace(PLAIN, hypotheses=(), alphas=())) == [0.0, 0.0, 0.0]
