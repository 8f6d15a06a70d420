"""Every algorithm, and several classes, from an upload to the end of a session."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.app.clinic import Json, Train

pytest_plugins = ["tests.app.conftest_http"]


def cases(n_rows: int = 240, *, is_noise: bool = False) -> bytes:
    """A quarter is ill: a cheap question hints at it, a dear test all but tells."""
    random = np.random.default_rng(5)
    rows = ["cough,scan,blood,state"]
    for _ in range(n_rows):
        is_ill = random.random() < 0.25
        shift = 0.0 if is_noise else float(is_ill)
        cough = "yes" if random.random() < 0.3 + 0.66 * shift else "no"
        scan = random.normal() + 4 * shift
        blood = random.normal() + shift
        rows.append(f"{cough},{scan:.3f},{blood:.3f},{'ill' if is_ill else 'well'}")
    return "\n".join([*rows, ""]).encode()


def spec_of_cases(algorithm: str = "cascade", **params: Any) -> Json:
    wanted: Json = {"rounds": 20}
    if algorithm == "cascade":
        wanted |= {"stages": 2, "detection": 0.85, "false_alarm": 0.4}
    return {
        "name": "cases",
        "target": "state",
        "positive": "ill",
        "cost_unit": "EUR",
        "costs": {"cough": 0.5, "scan": 40, "blood": 6},
        "algorithm": algorithm,
        "params": wanted | params,
        "validation": {"folds": 2},
    }


ILL: Json = {"cough": True, "scan": 4.5, "blood": 2.5}


@pytest.mark.parametrize("algorithm", ["cascade", "decision_tree", "random_forest"])
def test_every_algorithm_trains_and_asks(
    client: TestClient, train: Train, algorithm: str
) -> None:
    model_id = train(cases(), spec_of_cases(algorithm))
    model = client.get(f"/models/{model_id}").json()
    assert model["algorithm"] == algorithm
    wanted = {"model": model_id, "budget": 46, "stop": {"certain": False}}
    session = client.post("/predict", json=wanted).json()

    while session["question"] is not None:
        feature = session["question"]["feature"]
        answer = {"feature": feature, "outcome": "value", "value": ILL[feature]}
        path = f"/predict/{session['id']}/answers"
        session = client.post(path, json={"answers": [answer]}).json()

    assert session["prediction"]["label"] == "ill"
    assert session["budget"]["spent"] <= 46
    is_bagged = algorithm == "random_forest"
    assert ("out_of_bag_error" in model["card"]) == is_bagged
    assert client.get(f"/models/{model_id}/curve").status_code == 200
    exported = client.get(f"/models/{model_id}/export").json()
    assert client.post("/models?as_version=true", json=exported).status_code == 201


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


def spec_of_flowers(**params: Any) -> Json:
    return {
        "name": "flowers",
        "target": "kind",
        "classes": {"long": "long petals"},
        "cost_unit": "EUR",
        "costs": {"length": 2, "width": 3, "colour": 0.5},
        "algorithm": "adaboost_bt_smoothed",
        "params": {"rounds": 12, **params},
        "validation": {"folds": 2},
    }


def test_model_of_three_classes_has_no_positive_one_and_not_several_at_once(
    client: TestClient, train: Train
) -> None:
    address = f"/models/{train(flowers(), spec_of_flowers())}"
    model, exported = client.get(address).json(), client.get(f"{address}/export").json()
    refused = client.post("/models", json=exported | {"is_multilabel": True})

    assert model["positive"] is None
    assert [label["label"] for label in model["classes"]] == ["long", "small", "wide"]
    assert model["classes"][0]["display"] == "long petals"
    assert sum(label["share"] for label in model["classes"]) == pytest.approx(1.0)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "model.is_multilabel"


def test_plan_of_trees_lists_every_feature_they_may_read(
    client: TestClient, train: Train
) -> None:
    model_id = train(flowers(), spec_of_flowers(learner="tree", leaves=4))

    plan = client.get(f"/models/{model_id}/plan", params={"budget": 100}).json()

    assert {purchase["feature"] for purchase in plan["purchases"]} == {
        "length",
        "width",
        "colour",
    }
    assert plan["total"] == 5.5


def test_costs_of_errors_between_three_classes_move_the_label(
    client: TestClient, train: Train
) -> None:
    costs = {
        "small": {"wide": 1, "long": 50},
        "wide": {"small": 1, "long": 50},
        "long": {"small": 1, "wide": 1},
    }
    model_id = train(flowers(), spec_of_flowers() | {"error_costs": costs})

    session = client.post(
        "/predict", json={"model": model_id, "budget": 2, "known": {"length": 3.0}}
    ).json()

    prediction = session["prediction"]
    assert prediction["classes"][0]["label"] == "long"
    assert prediction["label"] != "long"


# The command line.


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cases.csv").write_bytes(cases())
    (tmp_path / "noise.csv").write_bytes(cases(is_noise=True))
    (tmp_path / "spec.json").write_text(json.dumps(spec_of_cases()))
    hard = spec_of_cases(detection=0.99, false_alarm=0.1, rounds=5)
    (tmp_path / "hard.json").write_text(json.dumps(hard))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("files")
def test_command_line_evaluates_a_cascade_by_each_policy(run: Any) -> None:
    code, _, err = run("train", "cases.csv", "--spec", "spec.json", "-o", "m.json")
    assert code == 0, err
    spends = {}
    for policy in ("cascade", "ordered", "sample"):
        more = ("--budgets", "inf", "--policy", policy, "--json")
        code, out, err = run("evaluate", "m.json", "cases.csv", *more)
        assert code == 0, err
        assert json.loads(out)["policy"] == policy
        (spends[policy],) = json.loads(out)["mean_spend"]

    assert spends["cascade"] < spends["ordered"] == spends["sample"]


@pytest.mark.usefixtures("files")
def test_command_line_says_which_stage_missed_its_rates(run: Any) -> None:
    code, _, err = run("train", "noise.csv", "--spec", "hard.json", "-o", "m.json")

    assert code == 2
    assert "params.false_alarm: stage 1 must pass at most 0.1" in err
    assert "in 5 rounds it reached " in err
    assert not Path("m.json").exists()
