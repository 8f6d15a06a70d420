"""`askless ask` beside its questions: refusals, advice to stop, other features."""

from dataclasses import replace

import pytest

from askless.app.cli.models import parse_known
from askless.core.catalogue.catalogue import Feature
from askless.core.errors import RefusedError, UselessAnswerError
from tests.app.clinic import ageless
from tests.app.test_ask import AGE, voters
from tests.small import MICROS
from tests.talks import play

ADVICE = "We suggest stopping: "
DEAR = Feature("scan", label="Scan", cost=40 * MICROS)
CHEAP = Feature("pulse", label="Pulse", cost=2 * MICROS)


def stuck(*lines, **options):
    """Play a session that can't pay its next vote, but the one after it."""
    return play(voters(AGE, DEAR, CHEAP), "60", *lines, budget=9 * MICROS, **options)


def test_useless_answer_is_refused_with_the_way_to_insist():
    state, said = play(ageless(), "age = 63", "stop", is_terminal=True)

    assert "age: this answer can't be used" in said
    assert "it was not charged. To pay for it all the same: age! = ANSWER" in said
    assert state.spent == 0


@pytest.mark.parametrize("line", ["age! = 63", "age!=63", "age ! = ordered"])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_useless_answer_is_charged_where_one_insists(line, is_terminal):
    state, said = play(ageless(), line, "stop", is_terminal=is_terminal)

    assert "can't be used" not in said
    assert state.spent == MICROS


def test_useless_answer_over_a_pipe_ends_the_script():
    with pytest.raises(UselessAnswerError):
        play(ageless(), "age = 63")


def test_feature_that_is_called_with_the_mark_is_itself():
    marked = Feature("age!", label="Age with a mark")

    state, _ = play(voters(AGE, marked), "age! = 63", "stop")

    assert [question.feature_idx for question in state.history] == [1]


def test_known_value_knows_no_insisting():
    with pytest.raises(RefusedError, match="must be NAME=VALUE with a feature"):
        parse_known(["age!=63"], voters(AGE))


def test_help_tells_of_insisting_and_of_what_outcomes_say():
    _, said = play(voters(AGE), "help", "?", "stop")

    assert "NAME! = ANSWER    charge it also where it can't be used" in said
    assert "refused, unknown  they say nothing about the case." in said
    assert "not available / refused / unknown / ordered: see help" in said


def test_list_has_what_is_affordable_and_says_what_is_of_no_use():
    _, said = play(ageless(), "list", "stop", budget=8 * MICROS)

    assert "chol: chol, 7.27 CAD" in said
    assert "Nothing that the model asks depends on Age, " in said
    assert "age: Age" not in said


def test_list_leaves_out_what_is_too_dear_and_what_is_asked():
    _, said = play(voters(AGE, DEAR, CHEAP), "list", "stop", budget=9 * MICROS)

    assert "pulse: Pulse, 2.00" in said
    assert "scan:" not in said
    assert "age: Age," not in said


def test_another_feature_is_answered_where_nothing_is_asked():
    state, said = stuck("list", "pulse = 70", is_terminal=True)

    assert f"{ADVICE}what would be bought next costs more than the remaining" in said
    assert "pulse: Pulse, 2.00" in said
    assert "go on" not in said
    assert state.spent == 3 * MICROS
    assert state.stop_reason == "budget_exhausted"


@pytest.mark.parametrize("line", ["", "stop"])
def test_who_follows_the_advice_keeps_its_reason(line):
    state, said = stuck(line, is_terminal=True)

    assert state.stop_reason == "plan_complete"
    assert "Stopped: what would be bought next costs more" in said


def test_nothing_is_offered_where_nothing_is_affordable():
    _, said = play(
        voters(AGE, DEAR), "60", budget=9 * MICROS, is_terminal=True, goes_on=False
    )

    assert ADVICE not in said
    assert "Stopped: everything that could still be asked costs more than" in said


def test_over_a_pipe_nothing_is_offered():
    state, said = stuck("pulse = 70")

    assert ADVICE not in said
    assert state.spent == MICROS


def test_one_goes_on_where_something_is_asked():
    ensemble = replace(voters(AGE, Feature("bmi"), CHEAP), alphas=(9.0, 1.0, 1.0))
    lines = ("60", "go on", "1", "70")

    state, said = play(ensemble, *lines, is_terminal=True, goes_on=False)

    assert f"{ADVICE}no answer of the plan at this budget" in said
    assert "go on to be asked bmi, 1.00" in said
    assert len(state.history) == 3


def test_over_a_pipe_the_option_that_goes_on_is_named_at_the_end():
    ensemble = replace(voters(AGE, Feature("bmi"), CHEAP), alphas=(9.0, 1.0, 1.0))

    _, stopped = play(ensemble, "60", goes_on=False)
    _, gone_on = play(ensemble, "60", "1", "70", goes_on=True)

    assert stopped.rstrip().endswith("--go-on asks on: bmi, 1.00")
    assert "--go-on" not in gone_on


def test_going_on_is_refused_where_nothing_is_asked():
    _, said = stuck("go on", "stop", is_terminal=True)

    assert "must be NAME = ANSWER, or stop" in said
