"""Panels of a model made before features could be hidden: as they were, to the bit.

`golden/older_panels.json` was written at c704b3a: a model, and sessions of it with what
was asked and predicted. Of features 0 and 2 no cell of its table was missing.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from askless.app.documents.model import model_from_json
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.state import Answer, State
from tests.documents import document_of
from tests.sessions import NEVER

TOLD: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "older_panels.json").read_text("utf-8")
)
SESSIONS = TOLD["sessions"]
EACH = pytest.mark.parametrize("session", SESSIONS, ids=range(len(SESSIONS)))


@pytest.fixture(scope="module")
def model() -> Model:
    return model_from_json(TOLD["model"])


def begin(model: Model, session: dict[str, Any]) -> State:
    ensemble, policy = model.ensemble, session["policy"]
    state = machine.start(ensemble, session["budget"], policy=policy, stop=NEVER)
    gone = [Answer(idx, outcome) for idx, outcome in session["gone"]]
    return machine.observe(ensemble, state, gone) if gone else state


def answer(model: Model, state: State, row: list[float | None]) -> State:
    """Answer the question by a row's cell."""
    idx = state.next_feature_idx
    assert idx is not None
    value = row[idx]
    given = Answer(idx, "unavailable" if value is None else "value", value)
    return machine.observe(model.ensemble, state, [given])


def play(model: Model, session: dict[str, Any]) -> list[dict[str, Any]]:
    """What is asked next, spent and predicted, answer after answer."""
    state, told = begin(model, session), []
    while True:
        told.append(
            {
                "next": state.next_feature_idx,
                "reason": state.stop_reason,
                "spent": state.spent,
                "probabilities": machine.forecast(model.ensemble, state).probabilities,
            }
        )
        if state.next_feature_idx is None:
            return told
        state = answer(model, state, session["row"])


def test_older_sessions_have_refusals_and_none():
    assert {bool(one["gone"]) for one in SESSIONS} == {True, False}
    assert {one["policy"] for one in SESSIONS} == {"panels", "adaptive"}


@EACH
def test_older_model_asks_and_spends_as_before(model, session):
    keys = "next", "reason", "spent"

    steps = play(model, session)

    before = [[one[key] for key in keys] for one in session["steps"]]
    assert [[one[key] for key in keys] for one in steps] == before


@EACH
def test_older_model_predicts_as_before(model, session):
    steps = play(model, session)

    # The last bit of a matrix product depends on the processor.
    before = [
        pytest.approx(one["probabilities"], rel=1e-12) for one in session["steps"]
    ]
    assert [list(one["probabilities"]) for one in steps] == before


def test_older_model_is_written_as_it_was_read_but_for_shares(model):
    document = document_of(model)

    for panel in document["panels"]["panels"]:
        if panel["blend"] is not None:
            shares = panel["blend"]["trees"].pop("shares")
            assert set(shares) <= {0.5}
    assert document["panels"] == TOLD["model"]["panels"]


@pytest.mark.parametrize("outcome", ["refused", "unavailable", "unknown"])
def test_older_model_does_not_tell_refused_from_missing(model, outcome):
    state = machine.start(model.ensemble, None, stop=NEVER)

    after = machine.observe(model.ensemble, state, [Answer(1, outcome)])

    lacking = machine.observe(model.ensemble, state, [Answer(1, "unavailable")])
    one, two = (machine.forecast(model.ensemble, these) for these in (after, lacking))
    assert one.probabilities == two.probabilities
    assert not any(map(math.isnan, one.probabilities))
