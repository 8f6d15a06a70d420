"""Datasets and trainings over HTTP."""

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar

import httpx2 as httpx
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel

from askless.app.documents.spec.spec import SPEC_EXAMPLE, SpecDocument, read_spec
from askless.app.http.plumbing.following import JOB_EVENTS, Events, Watch
from askless.app.records import JobEvent
from askless.app.server import Server
from tests.app.clinic import Json
from tests.app.jobs import Jobs, Spec, noisy_spec, noisy_table, undisturbed

pytest_plugins = ["tests.app.conftest_http"]


def form(table: bytes, spec: Spec | str) -> Json:
    text = spec if isinstance(spec, str) else json.dumps(spec)
    return {"files": {"dataset": ("heart.csv", table)}, "data": {"spec": text}}


def test_upload_is_trained_on_and_followed(
    client: TestClient, jobs: Jobs, table: bytes, spec: Spec
) -> None:
    response = client.post("/train", **form(table, spec))
    assert response.status_code == 202
    started = response.json()
    assert response.headers["location"] == f"/train/{started['id']}"
    assert (started["state"], started["progress"]) == ("queued", 0.0)

    jobs.worker().work()

    ended = client.get(f"/train/{started['id']}").json()
    assert (ended["state"], ended["progress"]) == ("succeeded", 1.0)
    assert ended["spec"] == spec
    exported = client.get(f"/models/{ended['model_id']}/export")
    assert exported.text == undisturbed(table, spec)
    listed = client.get("/train").json()
    assert [item["id"] for item in listed["items"]] == [started["id"]]


def test_answer_says_what_the_name_will_mean(
    client: TestClient, jobs: Jobs, table: bytes, spec: Spec
) -> None:
    name = spec["name"]

    def start() -> str:
        started = client.post("/train", **form(table, spec)).json()
        jobs.worker().work()
        ended = client.get(f"/train/{started['id']}").json()
        ids.append(ended["model_id"])
        return str(started["name_will_mean"])

    ids: list[str] = []
    first, second = start(), start()
    newest = client.get(f"/models/{name}").json()["id"]
    client.put(f"/models/{ids[0]}/champion")
    third = start()

    assert first.startswith(f"{name} will mean the model of this training")
    assert second.startswith(f"{name} means version 1 until this training")
    assert newest == ids[1]
    assert third.startswith(f"{name} goes on meaning version 1, its champion.")
    assert client.get(f"/models/{name}").json()["id"] == ids[0]


def test_spec_may_be_a_file_of_the_form(
    client: TestClient, table: bytes, spec: Spec
) -> None:
    files = {"dataset": ("d.csv", table), "spec": ("s.json", json.dumps(spec))}

    assert client.post("/train", files=files).status_code == 202


def test_dataset_is_uploaded_once_and_trained_on_often(
    client: TestClient, jobs: Jobs, table: bytes, spec: Spec
) -> None:
    response = client.post("/datasets", files={"dataset": ("heart.csv", table)})
    assert response.status_code == 201
    dataset = response.json()
    assert response.headers["location"] == f"/datasets/{dataset['id']}"
    assert dataset["name"] == "heart.csv"
    assert (dataset["n_rows"], dataset["n_bytes"]) == (40, len(table))
    assert dataset["columns"] == ["age", "chol", "disease"]
    assert client.get(f"/datasets/{dataset['id']}").json() == dataset
    assert client.get("/datasets").json() == {"items": [dataset], "next": None}

    order = {"dataset_id": dataset["id"], **spec}
    ids = [client.post("/train", json=order).json()["id"] for _ in range(2)]
    refused = client.delete(f"/datasets/{dataset['id']}")
    assert refused.status_code == 409
    assert refused.json()["type"] == "/problems/dataset-in-use"

    for _ in ids:
        jobs.worker().work()
    assert client.delete(f"/datasets/{dataset['id']}").status_code == 204
    assert client.get(f"/datasets/{dataset['id']}").status_code == 404
    assert list(jobs.blobs.names(before=datetime.max.replace(tzinfo=UTC))) == []
    assert client.get(f"/train/{ids[0]}").json()["dataset_id"] is None
    assert client.post("/train", json=order).status_code == 404


def test_validation_tells_everything_and_stores_nothing(
    client: TestClient, table: bytes, spec: Spec
) -> None:
    good = client.post("/train?validate_only=true", **form(table, spec))
    assert good.status_code == 200
    assert good.json()["valid"]
    assert good.json()["features"] == ["age", "chol"]
    assert good.json()["rows"] == 40
    assert good.json()["warnings"]

    wrong = spec | {"target": "", "seed": -1, "colour": "red"}
    bad = client.post("/train?validate_only=true", **form(table + b"1\n", wrong))
    assert bad.status_code == 200
    assert not bad.json()["valid"]
    fields = {error["field"] for error in bad.json()["errors"]}
    assert fields >= {"target", "seed", "colour", "table"}
    assert "red" not in bad.text

    for noun in ("train", "datasets"):
        assert client.get(f"/{noun}").json()["items"] == []


@pytest.mark.parametrize(("algorithm", "n_notes"), [("panels", 1), ("adaboost", 0)])
def test_validation_tells_where_missing_values_are_information(
    client: TestClient, algorithm: str, n_notes: int
) -> None:
    rows = (f"{'' if row < 25 else row % 7},{row % 2}\n" for row in range(60))
    spec = {"target": "y", "algorithm": algorithm}

    order = form(("ca,y\n" + "".join(rows)).encode(), spec)
    told = client.post("/train?validate_only=true", **order).json()["warnings"]

    note = "Missing values count as information in ca."
    assert told == [note] * n_notes


def test_stray_word_is_told_by_its_row_and_not_repeated(client: TestClient) -> None:
    messy = b"a,y\n1,no\n2,yes\n$5,no\n3,yes\n"

    wrong = client.post("/train?validate_only=true", **form(messy, {"target": "y"}))
    mended = {"target": "y", "missing": ["$5"]}
    right = client.post("/train?validate_only=true", **form(messy, mended))

    (error,) = wrong.json()["errors"]
    assert error["field"] == "column a"
    assert "`missing`, or say type category; not so in row 3" in error["rule"]
    assert "$5" not in wrong.text
    assert right.json()["valid"]


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_wrong_spec_is_refused_and_nothing_is_stored(
    client: TestClient, table: bytes
) -> None:
    for text, field in [
        ("", "spec"),
        ('{"target": "disease", "seed": NaN}', "spec"),
        ('{"target": "disease", "name": "a\\ud800"}', "name"),
        ("[" * 50_000, "spec"),
        ('{"target": "disease", "seed": ' + "9" * 5000 + "}", "spec"),
        ('{"target": "disease", "name": "a\\nb"}', "name"),
        ('{"target": "nothing"}', "target"),
        ('{"target": "disease", "costs": {"age": -1}}', "costs.age"),
    ]:
        response = client.post("/train", **form(table, text))

        assert response.status_code == 422, response.text
        assert response.headers["content-type"] == "application/problem+json"
        assert field in {error["field"] for error in response.json()["errors"]}
        for noun in ("train", "datasets"):
            assert client.get(f"/{noun}").json()["items"] == []


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_wrong_body_is_refused(client: TestClient) -> None:
    for request_, status in [
        ({"data": {"spec": "{}"}, "files": {"other": ("a", b"a")}}, 422),
        ({"files": {"dataset": ("a.csv", b"a,b\n1,2\n")}}, 422),
        ({"files": {"dataset": ("a.csv", b"")}, "data": {"spec": "{}"}}, 422),
        ({"json": {"target": "disease"}}, 422),
        ({"json": {"target": "disease", "dataset_id": 7}}, 422),
        ({"json": {"target": "disease", "dataset_id": "dat_none"}}, 404),
        ({"content": b"x", "headers": {"Content-Type": "text/plain"}}, 415),
        ({"content": b"x"}, 415),
        (
            {
                "content": b"garbage",
                "headers": {"Content-Type": "multipart/form-data; boundary=x"},
            },
            422,
        ),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 422),
    ]:
        response = client.post("/train", **request_)

        assert response.status_code == status, response.text
        assert response.headers["content-type"] == "application/problem+json"


def test_training_is_cancelled_once(
    client: TestClient, table: bytes, spec: Spec
) -> None:
    training_id = client.post("/train", **form(table, spec)).json()["id"]

    first = client.post(f"/train/{training_id}/cancel")
    second = client.post(f"/train/{training_id}/cancel")

    assert (first.status_code, first.json()["state"]) == (200, "cancelled")
    assert second.status_code == 409
    assert second.json()["type"] == "/problems/training-finished"


def test_failed_training_shows_its_problem(
    client: TestClient, jobs: Jobs, table: bytes, spec: Spec
) -> None:
    started = client.post("/train", **form(table, spec)).json()
    jobs.blobs.remove(started["dataset_id"])
    jobs.worker().work()

    ended = client.get(f"/train/{started['id']}").json()

    assert ended["state"] == "failed"
    assert ended["error"]["type"] == "/problems/training-failed"


def sent(text: str) -> list[tuple[int, str, Json]]:
    """Parse a stream of events."""
    found = []
    for block in text.strip().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith(":")]
        fields = dict(line.split(": ", 1) for line in lines)
        if fields:
            data = json.loads(fields["data"])
            found.append((int(fields["id"]), fields["event"], data))
    return found


def test_events_resume_after_the_last_one_seen(
    client: TestClient, jobs: Jobs, table: bytes, spec: Spec
) -> None:
    training_id = client.post("/train", **form(table, spec)).json()["id"]
    jobs.worker(step_s=0.0001).work()
    path = f"/train/{training_id}/events"

    response = client.get(path)
    rest = client.get(path, headers={"Last-Event-ID": "3"})
    none = client.get(path, headers={"Last-Event-ID": "999"})

    assert response.headers["content-type"].startswith("text/event-stream")
    events = sent(response.text)
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    assert events[0][1] == "queued"
    assert events[-1][1] == "succeeded"
    assert events[-1][2]["model_id"].startswith("mdl_")
    assert sent(rest.text) == events[3:]
    # And a client that has seen the end is told not to come back.
    assert (none.status_code, none.text) == (204, "")
    wrong = client.get(path, headers={"Last-Event-ID": "x"})
    assert wrong.status_code == 422


@pytest.fixture
def served(app: FastAPI) -> Iterator[tuple[str, Server]]:
    """A real server: the test client reads a stream only once it has ended."""
    config = uvicorn.Config(
        app,
        port=0,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=10,
    )
    server = Server(config)
    started = threading.Event()
    ready = server.startup

    async def startup(sockets: Any = None) -> None:
        await ready(sockets)
        started.set()

    server.startup = startup  # type: ignore[method-assign]  # a hook for this test
    thread = threading.Thread(target=server.run)
    thread.start()
    assert started.wait(30)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", server
    server.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.slow
def test_stream_follows_a_training_while_it_runs(
    served: tuple[str, Server], jobs: Jobs
) -> None:
    url, _ = served
    training = jobs.start(noisy_table(), noisy_spec(300))
    worker = threading.Thread(target=jobs.worker(step_s=0.01).work)
    path = f"{url}/train/{training.id}/events"
    blocks: list[str] = []
    last = 0

    with httpx.stream("GET", path, timeout=30) as stream:
        worker.start()
        for line in stream.iter_lines():
            blocks.append(line)
            if line.startswith("id: "):
                last = int(line[4:])
            if line == "" and last == 4:
                break
    headers = {"Last-Event-ID": str(last)}
    with httpx.stream("GET", path, headers=headers, timeout=30) as stream:
        blocks += list(stream.iter_lines())
    worker.join()

    events = sent("\n".join(blocks))
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    assert events[-1][1] == "succeeded"


@pytest.mark.slow
def test_stopping_server_ends_its_streams(
    served: tuple[str, Server], jobs: Jobs, table: bytes, spec: Spec
) -> None:
    url, server = served
    training = jobs.start(table, spec)

    with httpx.stream("GET", f"{url}/train/{training.id}/events", timeout=30) as stream:
        found = stream.iter_lines()
        assert "queued" in next(found)
        server.handle_exit(15, None)
        rest = list(found)

    assert "event: succeeded" not in rest


class Source:
    """Events that a test appends to, and how often they were asked for."""

    def __init__(self) -> None:
        self.events: list[JobEvent] = []
        self.n_fetches = 0

    def add(self, kind: str) -> None:
        number = len(self.events) + 1
        self.events.append(JobEvent(number, datetime.now(UTC), kind, {}))

    def fetch(self, numbers: dict[str, int]) -> Events:
        self.n_fetches += 1
        return {key: tuple(self.events[number:]) for key, number in numbers.items()}


class CountedEvent(BaseModel):
    """The body of an event, which counts how often it is made."""

    n_made: ClassVar[int] = 0
    at: datetime

    def model_post_init(self, _: Any) -> None:
        CountedEvent.n_made += 1


def test_all_streams_of_a_process_share_one_poller() -> None:
    source = Source()
    kind = JOB_EVENTS._replace(body=CountedEvent)
    watch = Watch(source.fetch, lambda: False, kind)

    async def follow(after: int) -> list[int]:
        blocks = [block async for block in watch.follow("trn_1", after)]
        return [number for number, *_ in sent(b"".join(blocks).decode())]

    async def follow_many() -> list[list[int]]:
        source.add("queued")
        streams = [asyncio.create_task(follow(after)) for after in (0, 0, 1, 2)]
        more = [asyncio.create_task(follow(0)) for _ in range(50)]
        while source.n_fetches < 1:
            await asyncio.sleep(0)
        source.add("running")
        source.add("cancelled")
        return list(await asyncio.gather(*streams, *more))

    found = asyncio.run(follow_many())

    assert found[:4] == [[1, 2, 3], [1, 2, 3], [2, 3], [3]]
    assert source.n_fetches <= 3
    assert watch.feeds == {}
    assert CountedEvent.n_made == 3


def test_documented_spec_is_the_one_that_is_read() -> None:
    spec = read_spec(SPEC_EXAMPLE)

    assert spec.name == "heart-cleveland"
    everything = dict.fromkeys(SpecDocument.model_fields)
    with pytest.raises(ValueError, match="target") as caught:
        read_spec(everything)
    assert "unknown field" not in str(caught.value)
