"""Cascades and baselines from an upload to the end of a session."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.documents.model import model_from_json
from core.session import machine
from core.session.state import StopRule
from core.training.baselines import BASELINES
from tests.app.clinic import Json, clinic, model_json
from tests.app.jobs import Jobs
from tests.sessions import observe

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


def spec(algorithm: str = "cascade", **params: Any) -> Json:
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


def upload(
    client: TestClient, raw: Json, table: bytes | None = None, **query: Any
) -> Any:
    files = {"dataset": ("cases.csv", table or cases())}
    return client.post(
        "/train", files=files, data={"spec": json.dumps(raw)}, params=query
    )


def end(client: TestClient, jobs: Jobs, raw: Json, table: bytes | None = None) -> Json:
    """Train, and give the training as it has ended."""
    started = upload(client, raw, table)
    assert started.status_code == 202, started.text
    jobs.worker().work()
    ended: Json = client.get(f"/train/{started.json()['id']}").json()
    return ended


def train(client: TestClient, jobs: Jobs, raw: Json) -> str:
    ended = end(client, jobs, raw)
    assert ended["state"] == "succeeded", ended
    return str(ended["model_id"])


def play(client: TestClient, session: Json, values: Json) -> Json:
    while session["question"] is not None:
        feature = session["question"]["feature"]
        answer = {"feature": feature, "outcome": "value", "value": values[feature]}
        response = client.post(
            f"/predict/{session['id']}/answers", json={"answers": [answer]}
        )
        assert response.status_code == 200, response.text
        session = response.json()
    return session


def start(client: TestClient, model_id: str, **more: Any) -> Any:
    wanted: Json = {"model": model_id, "budget": None, "stop": {"certain": False}}
    return client.post("/predict", json=wanted | more)


WELL: Json = {"cough": False, "scan": -1.0, "blood": -1.0}
ILL: Json = {"cough": True, "scan": 4.5, "blood": 2.5}


def test_session_rejected_early_costs_less_and_says_the_first_class(
    client: TestClient, jobs: Jobs
) -> None:
    model_id = train(client, jobs, spec())
    exported = client.get(f"/models/{model_id}/export").json()
    ensemble = model_from_json(exported).ensemble
    assert ensemble.cascade is not None
    assert client.get(f"/models/{model_id}").json()["policy"] == "cascade"

    rejected = play(client, start(client, model_id).json(), WELL)
    passed = play(client, start(client, model_id).json(), ILL)

    assert rejected["question"] is passed["question"] is None
    assert rejected["stop_reason"] == "rejected_early"
    assert passed["stop_reason"] == "all_known"
    assert rejected["budget"]["spent"] < passed["budget"]["spent"]
    assert rejected["prediction"]["label"] == "well"
    assert passed["prediction"]["label"] == "ill"
    chances = {
        one["label"]: one["probability"] for one in rejected["prediction"]["classes"]
    }
    stages = ensemble.cascade.stages
    assert chances["ill"] in [stage.chance_rejected for stage in stages]


def test_session_of_a_cascade_equals_core_answer_by_answer(
    client: TestClient, jobs: Jobs
) -> None:
    model_id = train(client, jobs, spec())
    exported = client.get(f"/models/{model_id}/export").json()
    ensemble = model_from_json(exported).ensemble
    names = [one.name for one in ensemble.catalogue.features]
    session = start(client, model_id, budget=20).json()
    state = machine.start(ensemble, 20_000_000, stop=StopRule(certain=False))

    while session["question"] is not None:
        feature = session["question"]["feature"]
        assert state.next_feature_idx == names.index(feature)
        answer = {"feature": feature, "outcome": "value", "value": ILL[feature]}
        session = client.post(
            f"/predict/{session['id']}/answers", json={"answers": [answer]}
        ).json()
        state = observe(
            ensemble, state, names.index(feature), "value", float(ILL[feature])
        )

    forecast = machine.forecast(ensemble, state)
    chance = {
        one["label"]: one["probability"] for one in session["prediction"]["classes"]
    }
    labels = [one.label for one in ensemble.classes]
    assert [chance[label] for label in labels] == list(forecast.probabilities)
    assert session["stop_reason"] == state.stop_reason == "budget_exhausted"


@pytest.mark.parametrize("policy", ["ordered", "sample", "cascade"])
def test_session_of_a_cascade_may_take_any_policy(
    client: TestClient, jobs: Jobs, policy: str
) -> None:
    model_id = train(client, jobs, spec())

    session = play(client, start(client, model_id, policy=policy).json(), WELL)

    expected = "rejected_early" if policy == "cascade" else "all_known"
    assert session["stop_reason"] == expected


def test_policy_cascade_without_one_is_refused(client: TestClient) -> None:
    model = client.post("/models", json=model_json(clinic(), "clinic")).json()

    refused = start(client, model["id"], policy="cascade")

    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"] == "policy"
    assert error["rule"].startswith("must be one of ordered, sample")


def test_rates_that_cannot_be_met_fail_with_the_stage_and_what_it_reached(
    client: TestClient, jobs: Jobs
) -> None:
    raw = spec(detection=0.99, false_alarm=0.1, rounds=5)

    ended = end(client, jobs, raw, cases(is_noise=True))

    assert ended["state"] == "failed"
    assert ended["error"]["type"] == "/problems/invalid-request"
    (error,) = ended["error"]["errors"]
    assert error["field"] == "params.false_alarm"
    assert error["rule"].startswith(
        "stage 1 must pass at most 0.1 of the first class while it keeps 0.99 of the "
        "second; in 5 rounds it reached "
    )


def test_cascade_of_three_classes_is_refused_at_once(client: TestClient) -> None:
    table = cases().replace(b",well\n", b",fine\n", 20)
    raw = spec() | {"positive": None}

    for query in ({}, {"validate_only": True}):
        refused = upload(client, raw, table, **query)
        assert [one["field"] for one in refused.json()["errors"]] == ["algorithm"]


@pytest.mark.parametrize("field", ["stages", "detection", "false_alarm"])
def test_wanted_rates_out_of_range_are_refused_by_name(
    client: TestClient, field: str
) -> None:
    refused = upload(client, spec(**{field: -1}), validate_only=True)

    assert [one["field"] for one in refused.json()["errors"]] == [f"params.{field}"]


@pytest.mark.parametrize("algorithm", ["cascade", *BASELINES])
def test_every_algorithm_trains_and_asks(
    client: TestClient, jobs: Jobs, algorithm: str
) -> None:
    model_id = train(client, jobs, spec(algorithm))
    model = client.get(f"/models/{model_id}").json()
    assert model["algorithm"] == algorithm

    session = play(client, start(client, model_id, budget=46).json(), ILL)

    assert session["prediction"]["label"] == "ill"
    assert session["budget"]["spent"] <= 46
    is_bagged = algorithm in ("bagging", "random_forest")
    assert ("out_of_bag_error" in model["card"]) == is_bagged
    assert client.get(f"/models/{model_id}/curve").status_code == 200
    exported = client.get(f"/models/{model_id}/export").json()
    assert client.post("/models", json=exported).status_code == 201


@pytest.mark.parametrize("algorithm", ["cascade", "bagging"])
def test_progress_never_passes_the_whole(jobs: Jobs, algorithm: str) -> None:
    training = jobs.start(cases(), spec(algorithm))
    jobs.worker(step_s=0.0).work()

    shares = [one.data["progress"] for one in jobs.events(training.id)]

    assert len(shares) > 4
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("algorithm", ["cascade", "random_forest", "decision_tree"])
def test_takeover_makes_the_same_model(jobs: Jobs, algorithm: str) -> None:
    documents = []
    for n_rounds in (0, 1, 3):
        training = jobs.start(cases(), spec(algorithm))
        if n_rounds:
            run = jobs.begin(training.id, 1)
            assert jobs.advance(training.id, 1, run, min(n_rounds, 2))
            assert jobs.sweep() == [(training.id, "queued")]
        assert jobs.worker().work() == "succeeded"
        documents.append(jobs.document(training.id))

    assert len(set(documents)) == 1


# The command line.


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cases.csv").write_bytes(cases())
    (tmp_path / "noise.csv").write_bytes(cases(is_noise=True))
    (tmp_path / "spec.json").write_text(json.dumps(spec()))
    (tmp_path / "plain.json").write_text(json.dumps(spec("decision_tree")))
    hard = spec(detection=0.99, false_alarm=0.1, rounds=5)
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
def test_command_line_refuses_the_policy_where_there_is_no_cascade(run: Any) -> None:
    assert run("train", "cases.csv", "--spec", "plain.json", "-o", "m.json")[0] == 0

    code, _, err = run(
        "evaluate", "m.json", "cases.csv", "--budgets", "inf", "--policy", "cascade"
    )

    assert code == 2
    assert "--policy: must be one of ordered, sample for this model" in err


@pytest.mark.usefixtures("files")
def test_command_line_says_which_stage_missed_its_rates(run: Any) -> None:
    code, _, err = run("train", "noise.csv", "--spec", "hard.json", "-o", "m.json")

    assert code == 2
    assert "params.false_alarm: stage 1 must pass at most 0.1" in err
    assert "in 5 rounds it reached " in err
    assert not Path("m.json").exists()
