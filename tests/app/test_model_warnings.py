"""A model of before refusals could be worked around says so wherever it is met."""

import io
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from askless.app.documents.files import model_text
from askless.app.words.wording import OLDER_PANELS, RULES_OFF, why
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.session import machine
from tests.app.clinic import Put, clinic
from tests.panels import make_ladder, make_stopping
from tests.sessions import NEVER, observe

pytest_plugins = ["tests.app.conftest_http"]

BOTH = pytest.mark.parametrize("can_hide", [False, True])


def panelled(*, can_hide: bool) -> Ensemble:
    """Panels with rises and a space, or without."""
    ladder = make_ladder(clinic(), [(0, 1, 2)], can_hide=can_hide)
    return replace(clinic(), panels=ladder, policy="panels")


def ruled(*, can_hide: bool) -> Ensemble:
    """The same with rules for ending early; no missing value is information."""
    ensemble = panelled(can_hide=can_hide)
    assert ensemble.panels is not None
    plain = (replace(one, may_lack=frozenset()) for one in ensemble.panels.panels)
    stopping = make_stopping(len(ensemble.panels.panels))
    ladder = replace(ensemble.panels, panels=tuple(plain), stopping=stopping)
    return replace(ensemble, panels=ladder, policy="adaptive")


@BOTH
def test_show_and_ask_warn_once_of_an_older_model(
    run, tmp_path, monkeypatch, can_hide
) -> None:
    path = tmp_path / "model.json"
    path.write_text(model_text(Model("m", panelled(can_hide=can_hide), "ill")))
    monkeypatch.setattr("sys.stdin", io.StringIO("stop\n"))

    told = [
        " ".join(one.err.split())
        for one in (run("show", path), run("ask", path, "--budget", "20"))
    ]

    assert [one.count(OLDER_PANELS) for one in told] == [int(not can_hide)] * 2


@BOTH
def test_service_and_page_warn_of_an_older_model(
    client: TestClient, put: Put, can_hide
) -> None:
    model_id = put(panelled(can_hide=can_hide), "older")

    told = client.get(f"/models/{model_id}").json()["warnings"]
    page = client.get(f"/ui/models/{model_id}").text

    assert told == ([] if can_hide else [OLDER_PANELS])
    assert (OLDER_PANELS in page) == (not can_hide)


def test_model_without_panels_has_no_warnings(client: TestClient, put: Put) -> None:
    assert client.get(f"/models/{put()}").json()["warnings"] == []


@pytest.mark.parametrize(
    ("outcome", "can_hide", "is_off"),
    [
        ("refused", True, True),
        ("unknown", True, True),
        ("unavailable", True, True),
        ("refused", False, False),
    ],
)
def test_question_says_that_rules_are_off_after_an_answer_without_a_value(
    outcome, can_hide, is_off
) -> None:
    ensemble = ruled(can_hide=can_hide)
    state = machine.start(ensemble, None, stop=NEVER)
    first = machine.next_question(ensemble, state)
    assert first is not None

    after = observe(ensemble, state, first.feature_idx, outcome)
    question = machine.next_question(ensemble, after)

    assert RULES_OFF not in why(ensemble, first)
    if is_off:
        assert question is not None
        assert RULES_OFF in why(ensemble, question)
    else:
        assert question is None or RULES_OFF not in why(ensemble, question)


def test_question_of_panels_says_nothing_of_rules() -> None:
    ensemble = panelled(can_hide=True)
    state = machine.start(ensemble, None, stop=NEVER)

    after = observe(ensemble, state, 0, "refused")
    question = machine.next_question(ensemble, after)

    assert question is not None
    assert RULES_OFF not in why(ensemble, question)
