"""What answers did and may do, in words and over HTTP."""

import io
import json
import re
from dataclasses import replace

import pytest
import sqlalchemy as sa
from rich.console import Console

from askless.app.terminal.transcript import print_end, print_question, print_standing
from askless.app.words.wording import (
    describe_error_change,
    describe_step,
    explain_question,
)
from askless.core.session import machine
from askless.core.session.steps import AnswerStep, compute_prospect
from tests.panels import make_ladder
from tests.sessions import CLASSES, begun, observe_all, small_ensemble

pytest_plugins = ["tests.app.conftest_http"]


def told(before, after, class_idx=1):
    ensemble = replace(small_ensemble([1]), classes=CLASSES)
    chances = ((1 - before, before), (1 - after, after))
    return describe_step(ensemble, AnswerStep(0, "value", 1.0, *chances), class_idx)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0.12, 0.18, "raised the chance of yes from 12 to 18 %"),
        (0.18, 0.12, "lowered the chance of yes from 18 to 12 %"),
        (0.181, 0.179, "left the chance of yes at 18 %"),
        (0.02, 0.001, "lowered the chance of yes from 2 to < 1 %"),
    ],
)
def test_step_is_told_in_percents(before, after, words):
    assert told(before, after) == words


def test_step_may_be_told_of_any_class():
    assert told(0.2, 0.3, class_idx=0) == "lowered the chance of no from 80 to 70 %"


def test_why_is_in_chances_where_the_answer_alone_moves_something():
    ensemble, state = begun([1, 2])
    question = machine.next_question(ensemble, state)
    prospect = compute_prospect(ensemble, state, question.feature_idx)

    words = explain_question(replace(ensemble, classes=CLASSES), question, prospect)

    assert re.fullmatch(
        r"Depending on the answer, the chance of yes goes from 50 % to between .*\.",
        words,
    )


def test_why_of_what_moves_nothing_alone_is_what_is_expected_of_it():
    ensemble = small_ensemble([1, 2, 3])
    ladder = make_ladder(ensemble, [(1, 2)])
    kept = tuple(panel for panel in ladder.panels if len(panel.feature_idxs) != 1)
    ensemble = replace(ensemble, panels=replace(ladder, panels=kept), policy="panels")
    question = machine.next_question(ensemble, machine.start(ensemble, None))

    assert explain_question(ensemble, question).startswith("It is to bring ")


@pytest.mark.parametrize(
    ("then", "words"),
    [
        (0.2, "fall from 30 % to 20 %."),
        (0.299, "stay at 30 %."),
    ],
)
def test_what_is_expected_of_a_purchase_is_told_in_percents(then, words):
    ensemble = small_ensemble([1])

    assert describe_error_change(ensemble, 0.3, then, "it").endswith(
        f"prediction should {words}"
    )


def lines_of(say, *given):
    said = io.StringIO()
    say(Console(file=said, soft_wrap=True, highlight=False), *given)
    return said.getvalue().splitlines()


def test_end_tells_what_spoke_for_and_against_in_the_order_given():
    ensemble, state = begun([1, 2, 3, 4], [(0, 1.0), (1, -0.5), (2, 0.2), (3, 1e-6)])
    ensemble = replace(ensemble, classes=CLASSES)
    answers = ((0, "value", 1.0), (1, "value", 1.0), (2, "value", 1.0))
    state = observe_all(ensemble, state, *answers, (3, "refused"))

    lines = lines_of(print_end, ensemble, machine.stop(state))

    heads = [lines.index(f"{head} yes:") for head in ("For", "Against")]
    assert lines[heads[0] + 1].startswith("   f0, 1: 50 to 88 % (+2.00)")
    assert lines[heads[0] + 2].startswith("   f2, 1: ")
    assert lines[heads[1] + 1].startswith("   f1, 1: 88 to 73 % (-1.00)")
    assert not [line for line in lines if line.startswith("   f3")]


def test_answer_without_a_value_may_speak_too():
    ensemble = replace(small_ensemble([1, 2]), classes=CLASSES)
    ladder = make_ladder(ensemble, [(0, 1)])
    first = replace(ladder.panels[0], may_lack=frozenset({0, 1}))
    ladder = replace(ladder, panels=(first, *ladder.panels[1:]))
    ensemble = replace(ensemble, panels=ladder, policy="panels")
    state = machine.start(ensemble, None)
    state = observe_all(ensemble, state, (1, "value", 2.0), (0, "unavailable"))

    lines = lines_of(print_end, ensemble, state)

    assert [line for line in lines if line.startswith("   f0, unavailable: ")]


def test_session_without_answers_has_nothing_for_or_against():
    ensemble, state = begun([1])

    lines = lines_of(print_end, ensemble, machine.stop(state))

    assert not [line for line in lines if line.startswith(("For", "Against", "What"))]


def test_each_answer_is_told_with_what_it_did():
    ensemble, state = begun([1, 2])
    ensemble = replace(ensemble, classes=CLASSES)
    state = observe_all(ensemble, state, (0, "value", 1.0))

    first, second = lines_of(print_standing, ensemble, state)
    question = machine.next_question(ensemble, state)
    asked = lines_of(print_question, ensemble, state, question)

    assert first == "   raised the chance of yes from 50 to 88 %"
    assert second.startswith("   spent ")
    assert "the chance of yes goes from 88 %" in asked[-1]


def test_service_tells_the_steps_and_the_prospect(start, answer):
    session = start(60.0)

    after = answer(session, ("age", 63), ("sex", "refused")).json()

    assert session["prediction"]["steps"] == []
    first, second = after["prediction"]["steps"]
    chances = {
        label["label"]: label["probability"] for label in after["prediction"]["classes"]
    }
    assert (first["feature"], second["outcome"]) == ("age", "refused")
    assert first["after"] == second["before"]
    assert second["after"] == chances[second["label"]]
    assert first["words"].startswith(("raised", "lowered", "left"))
    prospect = after["question"]["prospect"]
    assert prospect["low"] < prospect["now"] < prospect["high"]
    assert f"the chance of {prospect['display']}" in after["question"]["why"]


def test_session_stored_before_steps_were_tells_the_same(start, answer, client, engine):
    session = start(60.0, known={"sex": "male"})
    after = answer(session, (session["question"]["feature"], 63))
    with engine.begin() as connection:
        stored = connection.scalar(sa.text("SELECT document FROM sessions"))
        document = json.loads(stored)
        assert len(document.pop("told")) == 3
        change = sa.text("UPDATE sessions SET document = :document")
        connection.execute(change, {"document": json.dumps(document)})

    again = client.get(f"/predict/{session['id']}")

    assert again.content == after.content
