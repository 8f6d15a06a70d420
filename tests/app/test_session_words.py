"""How sessions of a model go, as its card tells it and pages say it."""

from dataclasses import replace

import pytest

from askless.app.documents.model.card import read_sessions
from askless.app.words.sessions import (
    build_session_cells,
    describe_lists,
    describe_note,
)
from askless.core.model.ensemble import BudgetRange
from askless.core.model.model import Model
from tests.sessions import small_ensemble
from tests.small import MICROS

RANGES = (BudgetRange(5 * MICROS, "worth"), BudgetRange(None, "adaptive"))
SAVED = {"spend": 10.666, "error": 0.021, "fixed_spend": 18.0, "fixed_error": 0.022}
TOLD = {
    "rows": 1200,
    "budgets": [0.0, 5.0, None],
    "lists": [1, 1, 3],
    "commonest": [1.0, 1.0, 0.4],
    "ended_after": [[1.0], [0.0, 0.0, 1.0], [0.0, 0.31, 0.0, 0.69]],
    "saved": [None, None, SAVED],
}


def model_of(**changes):
    return Model("m", small_ensemble((1, 2)), card={"sessions": TOLD | changes})


def test_each_budget_has_its_sentences():
    head, rows = build_session_cells(model_of())

    assert head == ("budget", "how cases go")
    assert rows == [
        ("0.00", "Nothing is asked."),
        ("5.00", "All cases are asked the same 2 questions."),
        (
            "unlimited",
            "Cases follow 3 different lists, 40 % of them the commonest one; "
            "31 % end after 1 question, 69 % end after 3 questions. Ending early "
            "spends 10.67 instead of 18.00, and errs in 2.1 % instead of 2.2 %.",
        ),
    ]
    assert "1,200 rows" in describe_note(model_of())


def test_what_own_questions_do_is_not_said_of_ending_early():
    ensemble = replace(small_ensemble((1, 2)), ranges=RANGES)
    card = {"sessions": TOLD | {"lists": [1, 3, 3], "saved": [None, SAVED, SAVED]}}

    _, rows = build_session_cells(Model("m", ensemble, card=card))

    spends = "spends 10.67 instead of 18.00, and errs in 2.1 % instead of 2.2 %."
    assert rows[1][1].endswith(f". Asking each case its own questions {spends}")
    assert rows[2][1].endswith(f". Ending early {spends}")


@pytest.mark.parametrize(
    ("n_lists", "ended_after", "words"),
    [
        (1, (0.0, 1.0), "All cases are asked the same question."),
        (1, (), "Nothing is asked."),
        (
            2,
            (0.0, 1.0),
            "Cases follow 2 different lists, 50 % of them the commonest "
            "one; each has 1 question.",
        ),
    ],
)
def test_lists_are_told_in_plain_words(n_lists, ended_after, words):
    assert describe_lists(n_lists, 0.5, ended_after) == words


def test_only_the_commonest_ends_are_told():
    words = describe_lists(9, 0.5, (0.0, 0.01, 0.02, 0.5, 0.2, 0.1, 0.17))

    assert "1 question," not in words
    assert words.count("end after") == 5


def test_nothing_is_saved_where_every_case_is_asked_the_same():
    _, rows = build_session_cells(model_of(saved=[None, SAVED, None]))

    assert rows[1] == ("5.00", "All cases are asked the same 2 questions.")


@pytest.mark.parametrize(
    "changes",
    [
        {"lists": [1, 1]},
        {"commonest": [1.0, 1.0, 1.5]},
        {"saved": "much"},
        {"rows": None},
    ],
)
def test_card_that_is_not_as_expected_tells_nothing(changes):
    assert read_sessions(model_of(**changes)) is None


@pytest.mark.parametrize("card", [{}, {"sessions": None}, {"sessions": [1]}])
def test_card_of_before_tells_nothing(card):
    model = replace(model_of(), card=card)

    assert build_session_cells(model) is None
    assert describe_note(model) == ""
