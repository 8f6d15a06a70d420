"""Trainings that select features first: over HTTP, cancelled, and taken over."""

from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.service.jobs import training_runs
from tests.app.clinic import Train
from tests.app.jobs import Jobs, Spec, noisy_spec, noisy_table, now, undisturbed
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

N_FEATURES = 3
# Enough rows for half of them to select something.
TABLE = noisy_table(300)


def spec_of(**selection: Any) -> Spec:
    chosen = {"rounds": 5, "significance": 0.5} | selection
    return noisy_spec(4) | {"selection": chosen}


def test_training_with_a_selection_succeeds(client: TestClient, train: Train) -> None:
    model_id = train(TABLE, spec_of(learner="stump"))

    model = client.get(f"/models/{model_id}").json()
    told = model["card"]["selection"]
    assert told["learner"] == "stump"
    assert told["features"]
    assert told["cost_micros"] == 1_000_000 * len(told["features"])
    assert set(model["card"]["features_used"]) <= set(told["features"])
    assert len(model["features"]) == N_FEATURES
    exported = client.get(f"/models/{model_id}/export")
    assert exported.text == undisturbed(TABLE, spec_of(learner="stump"))


def test_model_that_selects_nothing_asks_nothing(
    client: TestClient, train: Train
) -> None:
    model_id = train(b"a,b,y\n" + b"1,1,0\n1,1,1\n1,1,1\n" * 8, spec_of())

    session = client.post("/predict", json={"model": model_id, "budget": 5}).json()

    assert session["question"] is None
    assert session["prediction"]["label"] == "1"
    assert session["prediction"]["probability"] == pytest.approx(2 / 3)


def test_steps_inside_a_selection_bring_progress_and_no_checkpoint(jobs: Jobs) -> None:
    training = jobs.start(TABLE, spec_of())
    run = jobs.begin(training.id, 1)
    before = jobs.get(training.id).share

    for _ in range(N_FEATURES):
        assert jobs.advance(training.id, 1, run)

    assert jobs.n_checkpoints() == 0
    assert jobs.get(training.id).share > before
    told = [event.data for event in jobs.events(training.id)[2:]]
    assert len(told) == N_FEATURES
    assert all(data["part"] == 0 and "round" not in data for data in told)


def test_a_step_that_ends_in_the_next_selection_keeps_its_rounds(jobs: Jobs) -> None:
    training = jobs.start(TABLE, spec_of())
    run = jobs.begin(training.id, 1)
    steps = [run.pull(0.0)]
    while steps[-1].part == 0:
        steps.append(run.pull(0.0))
    rounds = {0: [step.rounds[0][0] for step in steps if step.rounds]}

    with transaction(jobs.engine) as db:
        last = replace(steps[-1], rounds=rounds)
        assert training_runs.save_rounds(db, replace(training, attempt=1), last, now())

    told = jobs.events(training.id)[-1].data
    assert (told["part"], told.get("round")) == (1, None)
    assert jobs.n_checkpoints() == 1
    assert [round.number for round in rounds[0]] == [1, 2, 3, 4]


def test_selection_is_cancelled_at_its_next_candidate(
    client: TestClient, jobs: Jobs
) -> None:
    training_id = jobs.start(TABLE, spec_of()).id
    run = jobs.begin(training_id, 1)
    assert jobs.advance(training_id, 1, run)

    cancelled = client.post(f"/train/{training_id}/cancel").json()
    assert cancelled["state"] == "cancelling"
    assert not jobs.advance(training_id, 1, run)

    assert client.get(f"/train/{training_id}").json()["state"] == "cancelled"
    assert jobs.events(training_id)[-1].type == "cancelled"
