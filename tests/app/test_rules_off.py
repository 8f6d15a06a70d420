"""A question says whether the rules for ending early hold."""

from dataclasses import replace

import pytest

from askless.app.words.wording import RULES_OFF, explain_question
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from tests.app.clinic import clinic
from tests.panels import make_ladder, make_stopping
from tests.sessions import NEVER, observe


def panelled() -> Ensemble:
    ladder = make_ladder(clinic(), [(0, 1, 2)], can_hide=True)
    return replace(clinic(), panels=ladder, policy="panels")


def ruled() -> Ensemble:
    """The same with rules for ending early; no missing value is information."""
    ensemble = panelled()
    assert ensemble.panels is not None
    plain = (replace(panel, may_lack=frozenset()) for panel in ensemble.panels.panels)
    stopping = make_stopping(len(ensemble.panels.panels))
    ladder = replace(ensemble.panels, panels=tuple(plain), stopping=stopping)
    return replace(ensemble, panels=ladder, policy="adaptive")


@pytest.mark.parametrize("outcome", ["refused", "unknown", "unavailable"])
def test_question_says_that_rules_are_off_after_an_answer_without_a_value(
    outcome,
) -> None:
    ensemble = ruled()
    state = machine.start(ensemble, None, stop=NEVER)
    first = machine.next_question(ensemble, state)
    assert first is not None

    after = observe(ensemble, state, first.feature_idx, outcome)
    question = machine.next_question(ensemble, after)

    assert RULES_OFF not in explain_question(ensemble, first)
    assert question is not None
    assert RULES_OFF in explain_question(ensemble, question)


def test_question_of_panels_says_nothing_of_rules() -> None:
    ensemble = panelled()
    state = machine.start(ensemble, None, stop=NEVER)

    after = observe(ensemble, state, 0, "refused")
    question = machine.next_question(ensemble, after)

    assert question is not None
    assert RULES_OFF not in explain_question(ensemble, question)
