"""Certificates and label sets in documents, over HTTP, in the terminal, by client."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from rich.console import Console

from askless.app.documents.model.model import model_from_json
from askless.app.documents.spec.spec import read_spec
from askless.app.terminal.transcript import print_certificate, print_end
from askless.core.errors import RefusedError
from askless.core.model.certificates import Certification, EarlyRule, Level
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.state import StopRule
from tests.app.clinic import UNIT, Answer, Put, Start, clinic
from tests.documents import document_of, state_from_json, state_to_json, through_json
from tests.sessions import answer_from_row, observe

pytest_plugins = ["tests.app.conftest_http"]

GOOD = (40, 40, 40, 0, 0, 0)
LEVEL = Level(
    budget=None,
    policy="ordered",
    bounds=(10 * UNIT, 20 * UNIT),
    guide=(GOOD,),
    guide_spends=(2 * UNIT,),
    counts=(GOOD,),
    mean_spends=(2 * UNIT,),
    mean_spend=30 * UNIT,
    n_covered=(120, 60),
)
CERTIFICATION = Certification(
    n_samples=120,
    n_guide=120,
    rules=(EarlyRule(0.6, (True, True, True)),),
    chances=(0.0, 0.2),
    levels=(LEVEL,),
)
WISH = {"certain": False, "disagreement": 0.1}


def certified() -> Ensemble:
    return replace(clinic(), certification=CERTIFICATION)


def test_certification_survives_the_round_trip() -> None:
    model = Model("m", certified(), "disease")

    assert through_json(model) == model


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("rules", []),
        ("rows", 0),
        ("rows", 10**10),
        ("guide_rows", 10**10),
        ("rules.0.opens", [False, False, False]),
        ("levels", []),
        ("levels.0.bounds_micros", [1]),
        ("levels.0.counts", []),
        ("levels.0.guide", [[1, 2, 3]]),
        ("levels.0.counts", [[40, 40, 41, 0, 0, 0]]),
        ("levels.0.counts", [[40, 40, 40, 41, 0, 0]]),
        ("levels.0.mean_spends_micros", []),
        ("levels.0.guide_spends_micros", []),
        ("levels.0.covered_rows", [121, 0]),
        ("levels.0.covered_rows", [3]),
    ],
)
def test_damaged_certification_is_refused_by_field(path: str, value: Any) -> None:
    document = document_of(Model("m", certified(), "disease"))
    place = document["certification"]
    *way, last = path.split(".")
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    place[last] = value

    with pytest.raises(RefusedError, match=rf"certification.*{last}"):
        model_from_json(document)


def test_state_keeps_its_wish_and_whether_it_is_led() -> None:
    ensemble = certified()
    wish = StopRule(certain=False, disagreement=0.1, delta=0.2)
    state = machine.start(ensemble, None, stop=wish, coverage=0.9)
    state = observe(ensemble, state, 1, "value", 1.0)

    raw = json.loads(json.dumps(state_to_json(state, ensemble.catalogue)))
    back = state_from_json(raw, ensemble.catalogue)

    assert (back.stop, back.coverage, back.is_led) == (wish, 0.9, False)


# Specs.


def test_spec_sets_rows_aside_only_if_it_says_so() -> None:
    plain = read_spec({"target": "y"})
    asked = read_spec({"target": "y", "certificate": {}})
    named = read_spec({"target": "y", "certificate": {"share": 0.5, "budgets": [2.5]}})

    assert (plain.certify_share, plain.certify_budgets) == (None, ())
    assert (asked.certify_share, asked.certify_budgets) == (0.25, ())
    assert (named.certify_share, named.certify_budgets) == (0.5, (2_500_000,))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"certificate": {"share": 0}}, "certificate.share"),
        ({"certificate": {"share": 0.6}}, "certificate.share"),
        ({"certificate": {"budgets": []}}, "certificate.budgets"),
        ({"certificate": {"budgets": [-1]}}, "certificate.budgets[0]"),
        ({"certificate": {"alpha": 0.1}}, "certificate.alpha"),
        ({"certificate": {}, "validation": None}, "certificate"),
        ({"certificate": {}, "validation": {"folds": 0}}, "certificate"),
    ],
)
def test_wrong_certificate_is_refused_by_field(given: Any, field: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read_spec({"target": "y"} | given)

    assert [refusal.field for refusal in caught.value.refusals] == [field]


# Over HTTP.


def test_session_tells_its_certificate_and_stops_by_it(
    start: Start, answer: Answer, put: Put
) -> None:
    session = start(None, model=put(certified(), "certified"), stop=WISH)

    after = answer(session, ("age", 63)).json()

    told = session["certificate"]
    assert (told["disagreement"], told["delta"], told["in_force"]) == (0.1, 0.1, True)
    assert (told["threshold"], told["rows"], told["budget"]) == (0.6, 120, None)
    assert told["strata"][1] == {
        "least_spend": 10.0,
        "open": True,
        "rows": 40,
        "differing": 0,
    }
    assert (told["mean_spend"], told["mean_spend_whole"]) == (2.0, 30.0)
    assert after["certificate"] == told
    assert (after["should_stop"], after["stop_reason"]) == (True, "certified")
    assert after["question"]["feature"] == "sex"


def test_refusal_takes_the_certificate_away_and_is_said_to(
    start: Start, answer: Answer, put: Put
) -> None:
    session = start(None, model=put(certified(), "certified"), stop=WISH)

    refused = answer(session, ("age", "refused")).json()["certificate"]

    assert session["certificate"]["in_force"]
    assert not refused["in_force"]
    assert refused["threshold"] is None
    assert refused["why"] == (
        "An answer was refused or unknown, and the sessions set aside had none."
    )


def test_session_without_a_certificate_says_why_and_asks_on(
    start: Start, answer: Answer
) -> None:
    session, without = start(None, stop=WISH), start(None)

    after = answer(session, ("age", 63)).json()

    assert without["certificate"] is None
    assert without["prediction"]["label_set"] is None
    assert not after["certificate"]["in_force"]
    assert "no rows set aside" in after["certificate"]["why"]
    assert not after["should_stop"]


def test_label_set_comes_with_the_end(start: Start, answer: Answer, put: Put) -> None:
    model = put(certified(), "certified")
    session = start(0.0, model=model, coverage=0.9, stop={"certain": False})
    open_session = start(None, model=model, coverage=0.9, stop={"certain": False})

    assert session["prediction"]["label_set"] is None
    assert open_session["coverage"] == 0.9
    while open_session["question"] is not None:
        asked = open_session["question"]["features"]
        answers = [(name, "unavailable") for name in asked]
        open_session = answer(open_session, *answers).json()
    assert open_session["prediction"]["label_set"] == ["0", "1"]


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"stop": {"disagreement": 0.1, "confidence": 0.9}}, "stop.disagreement"),
        ({"stop": {"disagreement": 0}}, "stop.disagreement"),
        ({"stop": {"disagreement": 0.6}}, "stop.disagreement"),
        ({"stop": {"disagreement": 0.1, "delta": 1}}, "stop.delta"),
        ({"coverage": 0.4}, "coverage"),
        ({"coverage": 1}, "coverage"),
    ],
)
def test_wrong_wish_is_refused_by_field(
    client: TestClient, put: Put, wish: Any, field: str
) -> None:
    body = {"model": put(), "budget": None} | wish

    refused = client.post("/predict", json=body)

    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == [field]


# In the terminal.


def said_by(say: Any, *values: Any) -> str:
    console = Console(file=io.StringIO(), width=200)
    say(console, *values)
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # a StringIO


def test_terminal_says_when_it_stops_early_or_why_not() -> None:
    stop = StopRule(certain=False, disagreement=0.1)
    texts = [
        said_by(print_certificate, one, machine.start(one, None, stop=stop))
        for one in (certified(), clinic())
    ]

    assert "from 60 % on; for 120 rows that took 2.00 CAD of 30.00 CAD" in texts[0]
    assert "No early stop: The model has no rows" in texts[1]
    plain = machine.start(clinic(), None)
    assert said_by(print_certificate, clinic(), plain) == ""


def test_terminal_says_the_label_set() -> None:
    ensemble = certified()
    state = machine.start(ensemble, None, stop=StopRule(certain=False), coverage=0.9)

    end, _ = answer_from_row(ensemble, state, [float("nan")] * 7)

    text = said_by(print_end, ensemble, end)
    assert "With a chance of 90 % it is one of: healthy, ill" in text
