"""A session over HTTP is the same as in core."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.core.catalogue.prices import from_micros
from askless.core.errors import (
    AnswerError,
    ClosedError,
    OverBudgetError,
    UselessAnswerError,
)
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import LEAF, Product, Stump, Tree
from askless.core.session import machine
from askless.core.session.state import Answer as OneAnswer
from askless.core.session.state import State
from tests.app.clinic import (
    CLINIC,
    OUTCOMES,
    UNIT,
    Json,
    Put,
    clinic,
    said,
)
from tests.app.test_http_predictions import charges
from tests.cascades import staged
from tests.small import ensemble_of

pytest_plugins = ["tests.app.conftest_http"]


def several_classes() -> Ensemble:
    """A tree, a product and stumps for three classes."""
    stumps = [
        Stump(0, 50.5, (1, -1, 1)),
        Stump(1, 1.0, (-1, 1, 1), is_category=True),
        Stump(2, 240.5, (1, 1, -1)),
        Stump(5, 1.5, (-1, -1, 1)),
    ]
    tree = Tree(tuple(stumps[:3]), ((1, 2), (LEAF, LEAF), (LEAF, LEAF)))
    hypotheses = [tree, Product(tuple(stumps[2:])), *stumps]
    alphas = (1.0, 0.9, 0.7, 0.5, 0.3, 0.2)
    return ensemble_of(hypotheses, CLINIC, n_classes=3, alphas=alphas)


def in_stages() -> Ensemble:
    """The clinic's stumps as a cascade."""
    plain = clinic()
    return staged(plain.hypotheses, plain.alphas, (2, 5, 8), (-0.5, 0.1, 0.3), CLINIC)


# By seed, of which odd ones insist on useless answers.
KNOWN = {1: {1: "male"}, 2: {0: 60.0, 3: True}}


# Both engines store a session of each model; what it asks is not theirs.
@pytest.mark.parametrize(
    ("ensemble", "policy", "engine_name", "budget"),
    [
        (clinic, "ordered", "sqlite", None),
        (clinic, "sample", "postgresql", 14.0),
        (several_classes, "ordered", "sqlite", 14.0),
        (several_classes, "sample", "postgresql", None),
        (in_stages, "ordered", "sqlite", None),
        (in_stages, "sample", "sqlite", 14.0),
        (in_stages, "cascade", "sqlite", None),
        (in_stages, "cascade", "postgresql", 14.0),
    ],
    indirect=["engine_name"],
)
def test_a_session_over_http_equals_the_same_in_core(
    client: TestClient, put: Put, ensemble: Any, policy: str, budget: float | None
) -> None:
    ensemble = replace(ensemble(), policy=policy)
    put(ensemble)
    limit = None if budget is None else int(budget * UNIT)
    for seed, known in KNOWN.items():
        given = {CLINIC.features[idx].name: value for idx, value in known.items()}
        body = {"model": "clinic", "budget": budget, "seed": seed, "known": given}
        session = client.post("/predict", json=body).json()
        codes = {idx: code_of(idx, value) for idx, value in known.items()}
        state, random = machine.start(ensemble, limit, seed, codes), Random(seed)
        for _ in range(9):
            assert shown(session) == expected(ensemble, state, limit)
            idx = random.randrange(len(CLINIC.features))
            if state.next_feature_idx is not None and random.random() < 0.7:
                idx = state.next_feature_idx
            answer = said_at_random(idx, random)
            value = code_of(idx, answer.get("value"))
            told, insist = [OneAnswer(idx, answer["outcome"], value)], bool(seed % 2)
            try:
                state = machine.observe(ensemble, state, told, is_insistent=insist)
                status = 200
            except (ClosedError, OverBudgetError, UselessAnswerError):
                status = 409
            except AnswerError:
                status = 422
            path = f"/predict/{session['id']}/answers"
            body = {"answers": [answer], "insist": insist}
            response = client.post(path, json=body)
            assert response.status_code == status
            if status == 200:
                session = response.json()
        assert charges(client, session) == [
            (CLINIC.features[charge.feature_idx].name, from_micros(charge.amount))
            for charge in state.charges
        ]


def code_of(idx: int, value: Any) -> float | None:
    if value is None:
        return None
    categories = CLINIC.features[idx].categories
    return float(categories.index(value) if categories else value)


def said_at_random(idx: int, random: Random) -> Json:
    feature = CLINIC.features[idx]
    if random.random() < 0.3:
        return said(feature.name, random.choice(OUTCOMES))
    if feature.type == "category":
        return said(feature.name, random.choice(feature.categories))
    if feature.type == "boolean":
        return said(feature.name, random.random() < 0.5)
    return said(feature.name, random.choice([0, 2, 3.25, 45, 70, 300]))


def shown(session: Json) -> Json:
    question, prediction = session["question"], session["prediction"]
    by_label = {label["label"]: label["probability"] for label in prediction["classes"]}
    return {
        "question": None if question is None else question["feature"],
        "price": None if question is None else question["price"],
        "number": None if question is None else question["number"],
        "alternatives": None if question is None else question["alternatives"],
        "budget": session["budget"],
        "answers": [
            (answer["feature"], answer["outcome"], answer["charged"])
            for answer in session["answers"]
        ],
        "label": prediction["label"],
        "margin": prediction["margin"],
        "display": prediction["display"],
        "probabilities": by_label,
        "n_draws": prediction["n_draws"],
        "hoeffding_p": prediction["hoeffding_p"],
        "reason": session["stop_reason"],
        "is_waiting": session["state"] == "waiting",
        "is_closed": session["state"] == "closed",
        "pending": session["pending"],
    }


def expected(ensemble: Ensemble, state: State, limit: int | None) -> Json:
    features = ensemble.catalogue.features
    question = machine.next_question(ensemble, state)
    forecast = machine.forecast(ensemble, state)
    charged = {charge.feature_idx: charge.amount for charge in state.charges}
    known = [idx for idx, outcome in enumerate(state.outcomes) if outcome == "known"]
    answered = [question.feature_idx for question in state.history]
    asked: Json = dict.fromkeys(("question", "price", "number", "alternatives"))
    if question is not None:
        asked = {
            "question": features[question.feature_idx].name,
            "price": from_micros(question.price),
            "number": question.number,
            "alternatives": [
                {"feature": features[idx].name, "price": from_micros(price)}
                for idx, price in question.alternatives
            ],
        }
    return {
        **asked,
        "budget": {
            "limit": None if limit is None else from_micros(limit),
            "spent": from_micros(state.spent),
            "remaining": None if limit is None else from_micros(limit - state.spent),
            "unit": "CAD",
        },
        "answers": [
            (features[idx].name, state.outcomes[idx], from_micros(charged.get(idx, 0)))
            for idx in dict.fromkeys((*known, *answered, *charged))
        ],
        "label": ensemble.classes[forecast.label].label,
        "display": ensemble.classes[forecast.label].display,
        "margin": forecast.margin,
        "probabilities": {
            label.label: chance
            for label, chance in zip(
                ensemble.classes, forecast.probabilities, strict=True
            )
        },
        "n_draws": forecast.n_draws,
        "hoeffding_p": forecast.hoeffding_p,
        "reason": state.stop_reason,
        "is_waiting": question is None and bool(state.pending),
        "is_closed": machine.is_closed(state),
        "pending": [features[idx].name for idx in state.pending],
    }
