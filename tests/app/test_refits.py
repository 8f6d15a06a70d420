"""Models trained anew at the prices of sessions, once for each price list."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.main import create_app
from askless.app.service.sessions import refits
from askless.app.settings.settings import Settings
from askless.app.store.database.tables import trainings
from tests.app.clinic import Json, Train, local_client
from tests.app.jobs import Jobs, noisy_spec, noisy_table, undisturbed
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

SPEC = noisy_spec(8) | {
    "algorithm": "adaboost_bt_greedy",
    "groups": [{"name": "visit", "fee": 2, "members": ["b"]}],
}
DEAR_A: Json = {
    "costs": {"a": 9, "b": 0.5, "c": 1},
    "groups": [{"name": "visit", "fee": 0.25}],
}
TWICE: Json = {
    "costs": {"a": 2, "b": 2, "c": 2},
    "groups": [{"name": "visit", "fee": 4}],
}

Ask = Callable[..., Json]
only_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


@pytest.fixture
def model(train: Train) -> str:
    return train(noisy_table(), SPEC)


@pytest.fixture
def ask(client: TestClient, model: str) -> Ask:
    """Start a session at prices."""

    def start(prices: Json, **more: Any) -> Json:
        body = {"model": model, "budget": 9, "seed": 1, "prices": prices} | more
        response = client.post("/predict", json=body)
        assert response.status_code == 201, response.text
        made: Json = response.json()
        return made

    return start


def refits_in(engine: sa.Engine) -> list[tuple[str, str]]:
    """The trainings at prices of lists, with their states."""
    with transaction(engine, is_read=True) as db:
        wanted = sa.select(trainings.c.id, trainings.c.state)
        rows = db.execute(wanted.where(trainings.c.refit_of.is_not(None))).all()
    return [(row.id, row.state) for row in rows]


def other_costs(number: int) -> Json:
    return DEAR_A | {"costs": {"a": 9, "b": 0.5, "c": number}}


@only_sqlite
def test_refit_that_is_deleted_while_a_session_begins_is_passed_over(
    ask: Ask, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(DEAR_A)
    jobs.worker().work()
    find = refits.find_refit
    found = iter(["mdl_deleted"])
    monkeypatch.setattr(
        refits, "find_refit", lambda *to: next(found, None) or find(*to)
    )

    after = ask(DEAR_A)

    assert after["prices"]["refit"] == "used"


def test_model_is_refitted_once_and_new_sessions_use_it(
    client: TestClient, jobs: Jobs, engine: sa.Engine, model: str, ask: Ask
) -> None:
    before = [ask(DEAR_A), ask(DEAR_A)]
    [(training_id, _)] = refits_in(engine)
    jobs.worker().work()

    after = ask(DEAR_A)

    assert [one["model"]["id"] for one in before] == [model, model]
    assert {one["prices"]["refit"] for one in before} == {"running"}
    assert after["prices"]["refit"] == "used"
    assert after["prices"]["training_id"] == training_id
    refitted = client.get(f"/models/{after['model']['id']}").json()
    assert (refitted["refit_of"], refitted["training_id"]) == (model, training_id)
    assert [one["cost"] for one in refitted["features"]] == [9, 0.5, 1]
    assert refitted["groups"][0]["fee"] == 0.25
    # The session that has begun keeps its model.
    same = client.get(f"/predict/{before[0]['id']}").json()
    assert (same["model"]["id"], same["prices"]["refit"]) == (model, "ready")
    assert len(refits_in(engine)) == 1


@only_sqlite
def test_refitted_model_is_what_a_training_at_these_prices_makes(
    jobs: Jobs, engine: sa.Engine, ask: Ask
) -> None:
    ask(DEAR_A)
    [(training_id, _)] = refits_in(engine)
    jobs.worker().work()

    expected = undisturbed(
        noisy_table(),
        SPEC
        | {
            "costs": DEAR_A["costs"],
            "groups": [SPEC["groups"][0] | {"fee": 0.25}],
        },
    )

    assert jobs.document(training_id) == expected


@only_sqlite
def test_session_of_a_refitted_model_charges_its_list(
    client: TestClient, jobs: Jobs, ask: Ask
) -> None:
    ask(DEAR_A)
    jobs.worker().work()
    session = ask(DEAR_A)
    given = {"feature": "b", "outcome": "value", "value": 1}

    path = f"/predict/{session['id']}/answers"
    after = client.post(path, json={"answers": [given]}).json()

    assert after["budget"]["spent"] == 0.75


def test_refitted_models_are_not_listed_nor_found_by_name(
    client: TestClient, jobs: Jobs, model: str, ask: Ask
) -> None:
    ask(DEAR_A)
    jobs.worker().work()

    listed = client.get("/models").json()["items"]
    session = client.post("/predict", json={"model": "noisy", "budget": 9}).json()

    assert [one["id"] for one in listed] == [model]
    assert session["model"]["id"] == model


@only_sqlite
@pytest.mark.parametrize(
    "prices", [{"costs": {"a": 1, "b": 1, "c": 1}}, TWICE], ids=["own", "twice"]
)
def test_prices_in_proportion_need_no_refit(
    engine: sa.Engine, ask: Ask, prices: Json
) -> None:
    session = ask(prices)

    assert session["prices"]["refit"] == "unneeded"
    assert session["prices"]["training_id"] is None
    assert refits_in(engine) == []


@only_sqlite
def test_proportion_does_not_count_where_an_amount_stays(
    client: TestClient, train: Train
) -> None:
    floored = SPEC | {"params": {"rounds": 8, "cost_floor": 0.5}}
    body = {"model": train(noisy_table(), floored), "budget": 9, "prices": TWICE}

    session = client.post("/predict", json=body).json()

    assert session["prices"]["refit"] == "running"


@only_sqlite
def test_imported_model_is_never_refitted(
    client: TestClient, engine: sa.Engine, model: str, ask: Ask
) -> None:
    document = client.get(f"/models/{model}/export").json()
    imported = client.post("/models?as_version=true", json=document).json()["id"]

    session = ask(DEAR_A, model=imported)

    assert session["prices"]["refit"] == "unavailable"
    assert refits_in(engine) == []


@only_sqlite
def test_model_without_its_dataset_is_not_refitted(
    client: TestClient, engine: sa.Engine, ask: Ask
) -> None:
    [dataset] = client.get("/datasets").json()["items"]
    client.delete(f"/datasets/{dataset['id']}")

    session = ask(DEAR_A)

    assert session["prices"]["refit"] == "unavailable"
    assert refits_in(engine) == []


@only_sqlite
def test_failed_refit_is_said_and_not_repeated(
    client: TestClient, jobs: Jobs, engine: sa.Engine, ask: Ask
) -> None:
    ask(DEAR_A)
    [dataset] = client.get("/datasets").json()["items"]
    jobs.blobs.remove(dataset["id"])
    jobs.worker().work()

    sessions = [ask(DEAR_A), ask(DEAR_A)]

    assert [one["prices"]["refit"] for one in sessions] == ["failed", "failed"]
    assert [state for _, state in refits_in(engine)] == ["failed"]


def test_as_many_lists_are_refitted_as_the_setting_says(
    settings: Settings, model: str, engine: sa.Engine
) -> None:
    few = settings.model_copy(update={"max_refits": 2})
    body = {"model": model, "budget": 9}

    with local_client(create_app(few, is_local=True)) as client:
        found = [
            client.post("/predict", json=body | {"prices": other_costs(number)})
            for number in (2, 3, 4, 2)
        ]

    told = [one.json()["prices"]["refit"] for one in found]
    assert told == ["running", "running", "limited", "running"]
    assert len(refits_in(engine)) == 2


def test_user_s_own_training_comes_before_a_refit(jobs: Jobs, ask: Ask) -> None:
    ask(DEAR_A)
    own = jobs.start(noisy_table(), SPEC)

    jobs.worker().work()

    assert jobs.get(own.id).state == "succeeded"


def test_model_takes_its_refits_along(
    client: TestClient, jobs: Jobs, engine: sa.Engine, model: str, ask: Ask
) -> None:
    sessions = [ask(DEAR_A)]
    jobs.worker().work()
    sessions += [ask(DEAR_A), ask(other_costs(2))]

    refused = client.delete(f"/models/{model}")
    for session in sessions:
        client.post(f"/predict/{session['id']}/stop")
    deleted = client.delete(f"/models/{model}")

    assert (refused.status_code, deleted.status_code) == (409, 204)
    refitted = sessions[1]["model"]["id"]
    assert client.get(f"/models/{refitted}").status_code == 404
    assert sorted(state for _, state in refits_in(engine)) == ["cancelled", "succeeded"]
    again = client.get(f"/predict/{sessions[1]['id']}").json()
    assert again["prices"]["refit"] == "used"


def test_list_whose_refit_is_deleted_gets_another(
    client: TestClient, jobs: Jobs, engine: sa.Engine, ask: Ask
) -> None:
    ask(DEAR_A)
    jobs.worker().work()
    first = ask(DEAR_A)
    client.post(f"/predict/{first['id']}/stop")

    assert client.delete(f"/models/{first['model']['id']}").status_code == 204
    again = ask(DEAR_A)

    assert again["prices"]["refit"] == "running"
    assert [state for _, state in refits_in(engine)].count("queued") == 1


@only_sqlite
def test_refitted_model_is_not_refitted_itself(jobs: Jobs, ask: Ask) -> None:
    ask(DEAR_A)
    jobs.worker().work()
    refitted = ask(DEAR_A)["model"]["id"]

    session = ask(other_costs(3), model=refitted)

    assert session["model"]["id"] == refitted
    assert session["prices"]["refit"] == "unavailable"
