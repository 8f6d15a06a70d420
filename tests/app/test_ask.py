"""What may be typed in `askless ask`, and what it asks then."""

import json
import os
import re
import select
import subprocess
import sys

import pytest

from askless.app.cli.models import parse_known
from askless.app.terminal.lines import answer_hint, parse_category, read_answer
from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature, Group
from askless.core.errors import RefusedError
from askless.core.model.hypotheses import Stump
from tests.app.clinic import model_json
from tests.small import ensemble_of
from tests.talks import play

PAIN = Feature(
    "cp",
    "category",
    label="Chest pain",
    categories=("Asymptomatic", "Atypical", "None", "typical"),
)
LABELLED = Feature(
    "cp",
    "category",
    categories=("asympt", "atyp", "typ"),
    category_labels=("No symptoms", "Atypical angina", "Unknown"),
)
SEX = Feature(
    "sex", "category", categories=("1", "2"), category_labels=("Male", "Female")
)
CODES = Feature("code", "category", categories=("0", "10", "2"))
AGE = Feature("age", label="Age", value_range=(29.0, 77.0))


def voters(*features, groups=()):
    """A model with one stump on each feature, in their order."""
    stumps = [
        Stump(idx, 1.0, (1,), is_category=feature.type == "category")
        for idx, feature in enumerate(features)
    ]
    return ensemble_of(stumps, Catalogue(features, groups))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Atypical", "Atypical"),
        ("ATYPICAL", "Atypical"),
        ("2", "Atypical"),
        ("asy", "Asymptomatic"),
        ("t", "typical"),
        ("none", "None"),
        ("0", "0"),
        ("5", "5"),
        ("other", "other"),
    ],
)
def test_category_is_meant_by_itself_its_number_or_its_beginning(text, meant):
    assert parse_category(PAIN, text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [("Atypical ANGINA", "atyp"), ("no", "asympt"), ("3", "typ"), ("at", "atyp")],
)
def test_category_is_meant_by_its_label_too(text, meant):
    assert parse_category(LABELLED, text) == meant
    assert answer_hint(LABELLED) == "1 No symptoms / 2 Atypical angina / 3 Unknown"


def test_a_beginning_of_two_labels_names_both():
    with pytest.raises(RefusedError, match="may be No symptoms or Atypical angina"):
        parse_category(LABELLED, "A")


def test_a_label_beats_the_word_for_an_outcome():
    ensemble = voters(LABELLED)
    assert read_answer(ensemble, 0, "Unknown").value == 2.0
    assert read_answer(ensemble, 0, "unknown").outcome == "unknown"


def test_labels_of_numbers_stand_beside_them():
    assert answer_hint(SEX) == "1 Male / 2 Female"
    assert [parse_category(SEX, text) for text in ("2", "female")] == ["2", "2"]


@pytest.mark.parametrize("text", ["1", "3"])
def test_categories_that_are_numbers_have_neither_numbers_nor_beginnings(text):
    assert parse_category(CODES, text) == text
    assert answer_hint(CODES) == "0 / 10 / 2"


def test_beginning_of_two_categories_is_refused_with_both():
    with pytest.raises(RefusedError, match="cp: may be Asymptomatic or Atypical"):
        parse_category(PAIN, "A")


def test_category_with_white_space_is_found_without():
    spaced = Feature("c", "category", categories=(" go", "stay"))

    assert parse_category(spaced, "go") == "go"


def test_known_categories_go_before_those_counted_as_other():
    other = Feature("c", "category", categories=("Lyon", "other"), has_other=True)

    assert parse_category(other, "ly") == "Lyon"


def test_all_categories_are_listed_on_request():
    many = Feature("c", "category", categories=tuple(f"kind {i:02}" for i in range(9)))

    _, said = play(voters(many), "?", "stop")

    assert "9 kind 08" in said
    assert answer_hint(many).endswith("... (? for all)")


@pytest.mark.parametrize(
    ("feature", "words"), [(AGE, "saw 29 to 77"), (Feature("b", "boolean"), "yes / no")]
)
def test_what_may_be_answered_is_told_of_every_type(feature, words):
    _, said = play(voters(feature), "?", "stop")

    assert words in said


@pytest.mark.parametrize(
    ("features", "lines", "value"),
    [
        ((AGE, PAIN), ("630", "63"), 63.0),
        ((AGE, PAIN), ("78", "78"), 78.0),
        ((PAIN, AGE), ("purple", "purple"), UNSEEN),
        # Two slips are no repetition.
        ((PAIN, AGE), ("purple", "pruple", "typical"), 3.0),
    ],
)
def test_value_that_training_did_not_see_is_kept_when_repeated(features, lines, value):
    state, said = play(voters(*features), *lines, "stop", is_terminal=True)

    assert "To keep it, repeat it." in said
    assert [question.value for question in state.history] == [value]


def test_value_outside_the_range_is_taken_from_a_pipe_with_a_word():
    state, said = play(voters(AGE, PAIN), "78")

    assert "Training saw 29 to 77 only." in said
    assert [question.value for question in state.history] == [78.0]


def test_new_category_from_a_pipe_is_refused_unless_it_is_to_be_accepted():
    with pytest.raises(RefusedError) as caught:
        play(voters(PAIN, AGE), "purple")

    assert str(caught.value) == (
        "cp: must be a category that training saw (1 Asymptomatic / 2 Atypical / "
        "3 None / 4 typical), or use --accept-unseen; found 'purple'"
    )
    state, _ = play(voters(PAIN, AGE), "purple", accepts_unseen=True)
    assert [question.value for question in state.history] == [UNSEEN]


def test_refused_number_names_the_range_that_training_saw():
    with pytest.raises(RefusedError) as caught:
        play(voters(AGE, PAIN), "sixty")

    assert str(caught.value) == (
        "age: must be a finite number; training saw 29 to 77; found 'sixty'"
    )


def test_known_category_is_meant_as_at_the_prompt_and_refused_like_there():
    ensemble = voters(PAIN, AGE)

    assert parse_known(["cp = asy", "age=60"], ensemble) == {0: 0.0, 1: 60.0}
    assert parse_known(["cp=new"], ensemble, accepts_unseen=True) == {0: UNSEEN}
    for entry, rule in (("cp=new", "training saw"), ("cp=refused", "left out")):
        with pytest.raises(RefusedError, match=rule):
            parse_known([entry], ensemble)


def test_category_counted_as_other_is_taken_from_a_pipe():
    other = Feature("c", "category", categories=("Lyon", "other"), has_other=True)

    state, said = play(voters(other, AGE), "Paris")

    assert "Training saw no such category." in said
    assert [question.value for question in state.history] == [1.0]


def bundled():
    echo = Group("echo", price=90)
    members = (
        Feature("ef", cost=0, label="Ejection fraction", unit="%", group="echo"),
        Feature("wall", cost=0, label="Wall motion", group="echo"),
    )
    return voters(AGE, *members, PAIN, groups=(echo,))


def test_members_of_a_bundle_are_asked_when_it_is_bought():
    state, said = play(bundled(), "60", "55", "2", "typical")

    assert [question.feature_idx for question in state.history] == [0, 1, 2, 3]
    titles = re.findall(r"^(\d\. |also bought: )(.*?) {2,}", said, re.MULTILINE)
    assert titles == [
        ("1. ", "Age"),
        ("2. ", "Ejection fraction (%)"),
        ("also bought: ", "Wall motion"),
        ("3. ", "Chest pain"),
    ]


def test_bundle_that_is_ordered_is_waited_for():
    state, said = play(bundled(), "60", "ordered", "typical")

    assert state.pending == (1, 2)
    assert "also bought" not in said
    assert "Waiting for ef, wall" in said


def test_member_of_a_bundle_may_come_later():
    state, _ = play(bundled(), "60", "55", "ordered", "typical", "wall = 3")

    assert state.pending == ()
    assert [question.feature_idx for question in state.history] == [0, 1, 3, 2]


def test_undone_question_takes_the_next_answer():
    state, said = play(voters(AGE, PAIN, CODES), "36", "undo", "63", "typical")

    values = [question.value for question in state.history]
    assert values == [36.0, None, 63.0, 3.0]
    assert said.count("Age") >= 2
    assert "1. again: Age   paid" in said
    assert state.spent == 2_000_000


def test_undo_goes_back_answer_by_answer():
    lines = ("60", "typical", "undo", "undo", "61", "cp=None")

    state, _ = play(voters(AGE, PAIN, CODES), *lines)

    assert state.values[:2] == (61.0, 2.0)


def test_undo_of_a_correction_brings_back_the_answer_before():
    state, _ = play(voters(AGE, PAIN), "60", "age = 61", "undo", "stop")

    assert state.values[0] == 60.0


def test_undone_answer_without_a_value_has_its_price_still():
    state, said = play(voters(AGE, PAIN), "refused", "undo", "60", "stop")

    assert "1. again: Age   1.00" in said
    assert state.spent == 1_000_000


def test_questions_have_numbers_without_holes():
    lines = ("code = 2", "60", "typical")

    _, said = play(voters(AGE, PAIN, CODES), *lines)

    assert re.findall(r"^(\d)\. ", said, re.MULTILINE) == ["1", "2"]


class Terminal:
    """The command in a real terminal: a pseudo-terminal of its own."""

    def __init__(self, *words):
        self.end, far = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "askless.app.cli", *map(str, words)],
            stdin=far,
            stdout=far,
            stderr=far,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "120"},
        )
        os.close(far)

    def expect(self, words):
        """Read until some words come; fail where the command ends without them."""
        said = ""
        while words not in said:
            ready, _, _ = select.select([self.end], [], [], 60)
            assert ready, f"{words!r} did not come: {said}"
            try:
                said += os.read(self.end, 4096).decode()
            except OSError:
                raise AssertionError(f"{words!r} did not come: {said}") from None
        return said

    def type(self, line):
        os.write(self.end, f"{line}\n".encode())

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.end)


@pytest.fixture
def terminal(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model_json(voters(AGE, PAIN, CODES), "cases")))
    opened = Terminal("ask", path, "--budget", "inf", "--go-on")
    yield opened
    opened.close()


@pytest.mark.full
def test_case_is_worked_through_in_a_terminal(terminal):
    terminal.expect("a number > ")
    terminal.type("630")
    terminal.expect("To keep it, repeat it.")
    terminal.type("36")
    terminal.expect("1 Asymptomatic / 2 Atypical / 3 None / 4 typical > ")
    terminal.type("undo")
    terminal.expect("1. again: Age")
    terminal.type("63")
    terminal.expect("4 typical > ")
    terminal.type("a")
    terminal.expect("may be Asymptomatic or Atypical")
    terminal.type("4")
    terminal.expect("0 / 10 / 2 > ")
    terminal.type("stop")
    told = terminal.expect("Chest pain, typical")

    assert "Age, 63" in told
    assert terminal.process.wait() == 0
