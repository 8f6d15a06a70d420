"""Several classes, trees and products, from an upload to the end of a session."""

import json
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.documents.model import model_from_json
from core.session import machine
from tests.app.clinic import Json
from tests.app.jobs import Jobs
from tests.sessions import observe

pytest_plugins = ["tests.app.conftest_http"]


PETALS = ("small", "wide", "long")


def flowers(n_rows: int = 90) -> bytes:
    """Three kinds that two noisy measures and a colour tell apart."""
    random = np.random.default_rng(3)
    rows = ["length,width,colour,kind"]
    for row in range(n_rows):
        kind = row % 3
        length = 2.0 * kind + random.normal()
        width = 2.0 * (kind == 1) + random.normal()
        colour = random.choice(["blue", "red", "white"] if kind else ["blue", "red"])
        rows.append(f"{length:.3f},{width:.3f},{colour},{PETALS[kind]}")
    return "\n".join([*rows, ""]).encode()


def spec(**params: Any) -> Json:
    return {
        "name": "flowers",
        "target": "kind",
        "classes": {"long": "long petals"},
        "cost_unit": "EUR",
        "costs": {"length": 2, "width": 3, "colour": 0.5},
        "params": {"rounds": 25, **params},
        "validation": {"folds": 3},
    }


def upload(client: TestClient, raw: Json, **query: Any) -> Any:
    files = {"dataset": ("flowers.csv", flowers())}
    return client.post(
        "/train", files=files, data={"spec": json.dumps(raw)}, params=query
    )


def train(client: TestClient, jobs: Jobs, raw: Json) -> str:
    started = upload(client, raw)
    assert started.status_code == 202, started.text
    training_id = started.json()["id"]
    jobs.worker().work()
    ended = client.get(f"/train/{training_id}").json()
    assert ended["state"] == "succeeded", ended
    return str(ended["model_id"])


VALUES = {"length": 3.9, "width": -0.2, "colour": "white"}


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@pytest.mark.parametrize(
    "params",
    [{}, {"learner": "tree", "leaves": 4}, {"learner": "product", "search": "ucb"}],
    ids=["stump", "tree", "product"],
)
def test_session_of_three_classes_equals_core_answer_by_answer(
    client: TestClient, jobs: Jobs, params: Json, policy: str
) -> None:
    model_id = train(client, jobs, spec(**params))
    exported = client.get(f"/models/{model_id}/export").json()
    ensemble = model_from_json(exported).ensemble
    names = [one.name for one in ensemble.catalogue.features]
    opened = client.post(
        "/predict",
        json={"model": model_id, "budget": 5.0, "policy": policy, "seed": 11},
    )
    session = opened.json()
    state = machine.start(ensemble, 5_000_000, 11, policy=policy)

    while session["question"] is not None:
        assert_same(session, ensemble, state)
        feature = session["question"]["feature"]
        value = VALUES[feature]
        answer = {"feature": feature, "outcome": "value", "value": value}
        response = client.post(
            f"/predict/{session['id']}/answers", json={"answers": [answer]}
        )
        assert response.status_code == 200, response.text
        session = response.json()
        idx = names.index(feature)
        known = ensemble.catalogue.features[idx].categories
        code = float(known.index(value)) if known else value
        state = observe(ensemble, state, idx, "value", code)

    assert session["question"] is None
    assert_same(session, ensemble, state)
    assert session["prediction"]["label"] == "long"
    assert session["prediction"]["display"] == "long petals"


def assert_same(session: Json, ensemble: Any, state: Any) -> None:
    forecast = machine.forecast(ensemble, state)
    question = machine.next_question(ensemble, state)
    prediction = session["prediction"]
    chances = {one["label"]: one["probability"] for one in prediction["classes"]}
    labels = [one.label for one in ensemble.classes]
    assert [chances[label] for label in labels] == list(forecast.probabilities)
    assert prediction["label"] == labels[forecast.label]
    assert prediction["margin"] == forecast.margin
    assert session["budget"]["spent"] == state.spent / 1_000_000
    assert session["stop_reason"] == state.stop_reason
    if question is None:
        assert session["question"] is None
    else:
        names = [one.name for one in ensemble.catalogue.features]
        assert session["question"]["feature"] == names[question.feature_idx]
        assert session["question"]["price"] == question.price / 1_000_000


def test_model_of_three_classes_has_no_positive_one(
    client: TestClient, jobs: Jobs
) -> None:
    model = client.get(f"/models/{train(client, jobs, spec())}").json()

    assert model["positive"] is None
    assert [one["label"] for one in model["classes"]] == ["long", "small", "wide"]
    assert model["classes"][0]["display"] == "long petals"
    assert sum(one["share"] for one in model["classes"]) == pytest.approx(1.0)


def test_plan_of_trees_lists_every_feature_they_may_read(
    client: TestClient, jobs: Jobs
) -> None:
    model_id = train(client, jobs, spec(learner="tree", leaves=4))

    plan = client.get(f"/models/{model_id}/plan", params={"budget": 100}).json()

    assert {one["feature"] for one in plan["purchases"]} == set(VALUES)
    assert plan["total"] == 5.5


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"positive": "long"}, "positive"),
        ({"params": {"learner": "forest"}}, "params.learner"),
        ({"params": {"search": "random"}}, "params.search"),
        ({"params": {"leaves": 1}}, "params.leaves"),
        ({"params": {"factors": 9}}, "params.factors"),
        ({"params": {"search_size": 0}}, "params.search_size"),
        ({"params": {"label_weights": 1}}, "params.label_weights"),
        ({"error_costs": {"long": {"tiny": 1}}}, "error_costs"),
    ],
)
def test_what_does_not_fit_several_classes_is_refused_by_name(
    client: TestClient, change: Json, where: str
) -> None:
    refused = upload(client, spec() | {"costs": {}} | change, validate_only=True)

    errors = refused.json()["errors"]
    assert [one["field"] for one in errors] == [where]


def test_costs_of_errors_between_three_classes_move_the_label(
    client: TestClient, jobs: Jobs
) -> None:
    costs = {
        "small": {"wide": 1, "long": 50},
        "wide": {"small": 1, "long": 50},
        "long": {"small": 1, "wide": 1},
    }
    model_id = train(client, jobs, spec() | {"error_costs": costs})

    session = client.post(
        "/predict", json={"model": model_id, "budget": 2, "known": {"length": 3.0}}
    ).json()

    prediction = session["prediction"]
    assert prediction["classes"][0]["label"] == "long"
    assert prediction["label"] != "long"


def test_multilabel_model_is_refused(client: TestClient, jobs: Jobs) -> None:
    model_id = train(client, jobs, spec())
    exported = client.get(f"/models/{model_id}/export").json()

    refused = client.post("/models", json=exported | {"is_multilabel": True})

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "model.is_multilabel"
