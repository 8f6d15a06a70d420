"""A model goes on learning over HTTP: jobs, versions, refusals, turns."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from threading import Event
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.errors import ConflictError
from askless.app.service.jobs import queue, table_jobs
from askless.app.store import models as store
from askless.app.worker.computing import Computer
from tests.app.clinic import Make, Train
from tests.app.jobs import Jobs, now
from tests.app.learners import SPEC, Json, as_csv, make_rows
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]

Learn = Callable[..., Any]
UNSTORABLE = ("\ud800", "red\0")
ON_SQLITE = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


@pytest.fixture
def model(train: Train) -> str:
    return train(as_csv(make_rows(60)), SPEC)


@pytest.fixture
def learn(client: TestClient, model: str) -> Learn:
    def send(rows: Any, key: str = model, **more: Any) -> Any:
        return client.post(f"/models/{key}/learn", json={"rows": rows}, **more)

    return send


def versions(client: TestClient) -> list[tuple[int, str | None]]:
    found = client.get("/models").json()["items"]
    return [(model["version"], model["learnt_from"]) for model in found]


@ON_SQLITE
def test_rows_spelt_otherwise_are_learnt_only_where_the_caller_says_so(
    client: TestClient, learn: Learn, model: str
) -> None:
    rows = [row | {"colour": "RED"} for row in make_rows(12, 5)]
    wish = {"rows": rows, "accept_unseen": True}

    refused = learn(rows)
    taken = client.post(f"/models/{model}/learn", json=wish)

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "column colour"
    assert "take them as they are: accept_unseen" in refused.text
    assert taken.status_code == 202, taken.text
    assert taken.json()["order"] == {"accept_unseen": True}


def test_rows_make_the_next_version_and_the_one_before_stays(
    client: TestClient, jobs: Jobs, learn: Learn, model: str
) -> None:
    before = client.get(f"/models/{model}/export").text
    rows = make_rows(12, 5)
    # A row may lack features, and have them as null.
    del rows[3]["a"]
    rows[4]["colour"] = None

    made = learn(rows)

    assert made.status_code == 202, made.text
    job = made.json()
    assert made.headers["Location"] == f"/jobs/{job['id']}"
    assert (job["kind"], job["state"], job["order"]) == ("learn", "queued", {})
    assert jobs.worker().work() == "succeeded"
    ended = client.get(f"/jobs/{job['id']}").json()
    new = ended["result"]["model_id"]
    assert ended["model_id"] == model
    assert versions(client) == [(2, model), (1, None)]
    assert client.get("/models/signs").json()["id"] == new
    card = client.get(f"/models/{new}").json()["card"]
    assert card["learnt"]["rows"] == 12
    assert client.get(f"/models/{new}/curve").status_code == 404
    assert client.get(f"/models/{model}/export").text == before
    report = client.get(f"/jobs/{job['id']}/result").json()
    assert (report["rows"], report["rows_since_training"]) == (12, 12)
    events = client.get(f"/jobs/{job['id']}/events").text
    assert events.index("event: running") < events.index("event: succeeded")
    opened = client.post("/predict", json={"model": new, "budget": 2})
    assert opened.status_code == 201


@ON_SQLITE
def test_ways_to_send_rows_make_the_same_model(
    client: TestClient, jobs: Jobs, model: str
) -> None:
    rows = make_rows(30, 3)
    table = {"dataset": ("t.csv", as_csv(rows))}
    dataset = client.post("/datasets", files=table).json()["id"]
    call = {"json": {"dataset_id": dataset}}

    made = []
    for more in (
        {"json": {"rows": rows}},
        {"files": table, "data": {"order": "{}"}},
        call,
    ):
        sent = client.post(f"/models/{model}/learn", **more)
        assert sent.status_code == 202, sent.text
        assert jobs.worker().work() == "succeeded"
        job = client.get(sent.headers["Location"]).json()
        made.append(client.get(f"/models/{job['result']['model_id']}/export").text)

    assert made[0] == made[1] == made[2]


BAD = [
    ({"a": 1.0, "y": "perhaps"}, "column y"),
    ({"a": 1.0}, "target"),
    ({"a": 1.0, "y": None}, "column y"),
    ({"a": 1.0, "hue": "red", "y": "no"}, "column hue"),
    ({"a": "many", "y": "no"}, "column a"),
    ({"a": "inf", "y": "no"}, "column a"),
    ({"y": "no"}, "table"),
]


@ON_SQLITE
def test_wrong_row_is_refused_by_name_and_nothing_is_learnt(
    client: TestClient, learn: Learn
) -> None:
    for row, field in BAD:
        # A lone row lacks what the others have; together with them a cell is empty.
        rows = [row] if field in ("target", "table") else [*make_rows(3), row]

        answer = learn(rows)

        assert answer.status_code == 422, answer.text
        assert field in [error["field"] for error in answer.json()["errors"]]
        assert client.get("/jobs").json()["items"] == []
        assert len(client.get("/datasets").json()["items"]) == 1


@ON_SQLITE
def test_wrong_body_is_refused_by_field(client: TestClient, model: str) -> None:
    for body, field in [
        ({}, "rows"),
        ({"rows": []}, "order.rows"),
        ({"rows": [[1, 2]]}, "order.rows[0]"),
        ({"rows": [{"a": [1]}]}, "order.rows[0].a"),
        *(
            ({"rows": [{"a": value, "y": "no"}]}, "order.rows[0].a")
            for value in UNSTORABLE
        ),
        *(
            ({"rows": [{value: 1.0, "y": "no"}]}, "order.rows[0]")
            for value in UNSTORABLE
        ),
        *(({"dataset_id": value}, "dataset_id") for value in UNSTORABLE),
        ({"rows": [{"a": 1, "y": "no"}], "dataset_id": "dat_1"}, "rows"),
        ({"rows": [{"a": 1, "y": "no"}], "budgets": [1]}, "order.budgets"),
        ([], "order"),
    ]:
        # The client would write half a character as UTF-8, which no parser takes.
        answer = client.post(
            f"/models/{model}/learn",
            content=json.dumps(body),
            headers={"Content-Type": "application/json"},
        )

        assert answer.status_code == 422, answer.text
        fields = [error["field"] for error in answer.json()["errors"]]
        assert any(one.startswith(field) for one in fields), fields


@ON_SQLITE
def test_model_that_cannot_learn_is_refused_with_what_to_do(
    client: TestClient, train: Train
) -> None:
    spec = SPEC | {"algorithm": "adaboost", "name": "fixed"}
    train(as_csv(make_rows(60)), spec)

    answer = client.post("/models/fixed/learn", json={"rows": make_rows(2)})

    (error,) = answer.json()["errors"]
    assert error["field"] == "model"
    assert 'the algorithm "online"' in error["rule"]


def test_two_at_once_take_turns_and_the_next_goes_on_from_the_first(
    client: TestClient, jobs: Jobs, learn: Learn, model: str
) -> None:
    first = learn(make_rows(8), "signs")
    second = learn(make_rows(8, 8), "signs")
    by_id = learn(make_rows(8, 8), model)

    assert (first.status_code, second.status_code, by_id.status_code) == (202, 409, 409)
    assert second.json()["type"] == "/problems/conflict"
    assert jobs.worker().work() == "succeeded"
    again = learn(make_rows(8, 8), "signs")
    assert jobs.worker().work() == "succeeded"
    one, two = (
        client.get(made.headers["Location"]).json()["result"]["model_id"]
        for made in (first, again)
    )
    assert versions(client) == [(3, one), (2, model), (1, None)]
    assert client.get(f"/models/{two}").json()["card"]["learnt"]["rows"] == 16


@pytest.mark.parametrize(
    ("is_bare", "order", "state"),
    [
        (True, {}, "failed"),
        (False, {}, "succeeded"),
        (False, {"newest": True}, "failed"),
    ],
)
def test_version_that_came_meanwhile_is_not_hidden_unless_an_older_one_was_named(
    client: TestClient, jobs: Jobs, model: str, is_bare: bool, order: Json, state: str
) -> None:
    body = {"rows": make_rows(8)} | order
    made = client.post(f"/models/{'signs' if is_bare else model}/learn", json=body)
    assert made.status_code == 202, made.text
    with transaction(jobs.engine) as db:
        stored = store.get(db, model)
        second = store.insert(db, "signs", stored.document, now()).id

    assert jobs.worker().work() == state

    ended = client.get(made.headers["Location"]).json()
    third = [(3, model)] if state == "succeeded" else []
    assert versions(client) == [*third, (2, None), (1, None)]
    if state == "failed":
        assert client.get("/models/signs").json()["id"] == second
        (error,) = ended["error"]["errors"]
        assert error["field"] == "model"
        assert "version 2 came while the rows were learnt" in error["rule"]
        assert client.post("/models/signs/learn", json=body).status_code == 202


def test_champion_stays_what_the_name_means_and_learning_goes_on_from_the_newest(
    client: TestClient, jobs: Jobs, learn: Learn, model: str
) -> None:
    assert client.put(f"/models/{model}/champion").status_code in (200, 204)
    for start in (0, 8):
        assert learn(make_rows(8, start), "signs").status_code == 202
        assert jobs.worker().work() == "succeeded"

    assert client.get("/models/signs").json()["id"] == model
    newest = client.get("/models/signs@3").json()
    assert newest["card"]["learnt"]["rows"] == 16
    assert learn(make_rows(8), "signs@1").status_code == 202


def test_lost_and_cancelled_jobs_have_learnt_nothing(
    client: TestClient, jobs: Jobs, learn: Learn
) -> None:
    lost = learn(make_rows(8)).json()["id"]
    with transaction(jobs.engine) as db:
        claimed = queue.claim(db, "wrk_dead", now())
    assert claimed is not None
    assert jobs.sweep() == [(lost, "queued")]
    assert versions(client) == [(1, None)]
    assert jobs.worker().work() == "succeeded"
    assert len(versions(client)) == 2
    cancelled = learn(make_rows(8)).json()["id"]
    assert client.post(f"/jobs/{cancelled}/cancel").json()["state"] == "cancelled"
    assert jobs.worker().work() is None

    assert len(versions(client)) == 2
    # The turn is free again.
    assert learn(make_rows(8)).status_code == 202


def test_saving_twice_makes_one_version_and_an_old_attempt_none(
    client: TestClient, jobs: Jobs, learn: Learn
) -> None:
    learn(make_rows(8))
    with transaction(jobs.engine) as db:
        old = queue.claim(db, "wrk_old", now())
    assert old is not None
    computer = Computer(jobs.settings, jobs.engine, jobs.blobs, Event())
    with ExitStack() as opened:
        step = computer.open(old, opened).pull(60.0)
    assert step.is_last
    with transaction(jobs.engine) as db:
        assert step.store(db, old, now())
    with transaction(jobs.engine) as db:
        assert step.store(db, old, now())

    assert len(versions(client)) == 2


@ON_SQLITE
def test_repeated_request_with_its_key_learns_once(
    client: TestClient, jobs: Jobs, learn: Learn
) -> None:
    headers = {"Idempotency-Key": "case 17"}
    first = learn(make_rows(8), headers=headers)
    assert jobs.worker().work() == "succeeded"

    again = learn(make_rows(8), headers=headers)
    other = learn(make_rows(9), headers=headers)

    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.status_code == 422
    assert jobs.worker().work() is None
    assert len(versions(client)) == 2


@ON_SQLITE
def test_only_who_may_train_may_let_learn_and_no_other_tenant(
    client: TestClient, model: str, key: Make
) -> None:
    body = {"rows": make_rows(3)}
    address = f"/models/{model}/learn"

    reader = client.post(address, json=body, headers=key("predict:write", "train:read"))
    stranger = client.post(address, json=body, headers=key(tenant="other"))
    trainer = client.post(address, json=body, headers=key("train:write"))

    assert reader.status_code == 403
    assert "train:write" in reader.text
    assert (stranger.status_code, trainer.status_code) == (404, 202)


@ON_SQLITE
def test_newer_version_meanwhile_is_no_basis_of_old_checks(
    client: TestClient, jobs: Jobs, learn: Learn, model: str
) -> None:
    dataset_id = client.get("/datasets").json()["items"][0]["id"]
    order = table_jobs.JobOrder("learn", model, {})
    learn(make_rows(3), "signs")
    assert jobs.worker().work() == "succeeded"

    with (
        pytest.raises(ConflictError, match="newer version"),
        transaction(jobs.engine) as db,
    ):
        table_jobs.start(db, order, dataset_id, now(), "signs")


@ON_SQLITE
def test_weight_column_of_training_weighs_rows_to_learn(
    client: TestClient, jobs: Jobs, train: Train
) -> None:
    def weigh(rows: list[Json], weight: object) -> list[Json]:
        return [{"w": weight} | row for row in rows]

    text = "\n".join(
        ["w,a,b,colour,y"]
        + [",".join(map(str, row.values())) for row in weigh(make_rows(60), 3.0)]
    )
    model = train(text.encode(), SPEC | {"weight": "w"})
    address = f"/models/{model}/learn"

    for weight in (-1, "much", None, 1e9):
        refused = client.post(address, json={"rows": weigh(make_rows(3), weight)})
        assert refused.status_code == 422, refused.text
        assert refused.json()["errors"][0]["field"] == "column w"
    documents = []
    for rows in (weigh(make_rows(9), 3.0), make_rows(9), weigh(make_rows(9), 6.0)):
        made = client.post(address, json={"rows": rows})
        assert made.status_code == 202, made.text
        assert jobs.worker().work() == "succeeded"
        new = client.get(made.headers["Location"]).json()["result"]["model_id"]
        documents.append(json.loads(client.get(f"/models/{new}/export").text))
    assert documents[0]["learning"]["weight_unit"] == pytest.approx(3.0)
    # A row without a weight counts as the mean row of training.
    assert documents[0] == documents[1] != documents[2]


@ON_SQLITE
def test_columns_that_training_ignored_may_come_again(
    client: TestClient, jobs: Jobs, train: Train
) -> None:
    rows = [{"id": k} | row for k, row in enumerate(make_rows(60))]
    text = "\n".join(
        ["id,a,b,colour,y", *(",".join(map(str, row.values())) for row in rows), ""]
    )
    model = train(text.encode(), SPEC | {"ignore": ["id"]})

    files = {"dataset": ("t.csv", text.encode())}
    made = client.post(f"/models/{model}/learn", files=files, data={"order": "{}"})

    assert made.status_code == 202, made.text
    assert jobs.worker().work() == "succeeded"
