"""The page Shadow: a log is chosen, its mapping drafted, and its report read."""

import json
import re
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.pages.models.shadows import STATES
from askless.app.service.jobs import queue
from askless.app.store.database.engine import transaction
from askless.app.worker.computing import Computer
from tests.app.shadow.test_shadow_command import SPEC, write_log
from tests.pages.hostile import MARKUP
from tests.pages.site import post

HOSTILE_SPEC = SPEC | {"name": MARKUP}
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def upload(client: TestClient, log: str, name: str = "log.csv") -> str:
    made = client.post("/datasets", files={"dataset": (name, log)})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


@pytest.fixture
def log(client: TestClient) -> str:
    """The id of a stored log of 240 cases."""
    return upload(client, write_log())


def send(client: TestClient, log: str, action: str = "start", **more: str) -> Any:
    fields = {"spec": json.dumps(HOSTILE_SPEC), "mapping": "", "error_price": ""}
    return post(
        client, "/ui/shadow/new", dataset=log, action=action, **{**fields, **more}
    )


def read_mapping(page: str) -> str:
    found = re.search(r'name="mapping"[^>]*>(.*?)</textarea>', page, re.S)
    assert found is not None
    return found[1].replace("&#34;", '"').replace("&#39;", "'")


def start(client: TestClient, log: str) -> str:
    """Start a shadow by the drafted mapping; return its page."""
    mapping = read_mapping(send(client, log, "draft").text)
    started = send(client, log, mapping=mapping)
    assert started.status_code == 303, started.text
    return str(started.headers["location"])


def work(client: TestClient) -> str:
    """Do what is queued, as a worker does."""
    state = client.app.state  # type: ignore[attr-defined]
    with transaction(state.engine, None) as db:
        claimed = queue.claim(db, "w", NOW)
    assert claimed is not None
    settings, engine, blobs = state.settings, state.engine, state.blobs
    return Computer(settings, engine, blobs, threading.Event()).work(claimed)


def test_a_log_becomes_a_report(client: TestClient, log: str) -> None:
    assert f"/ui/shadow/new?dataset={log}" in client.get("/ui/shadow").text
    assert "240 rows" not in client.get(f"/ui/shadow/new?dataset={log}").text

    page = start(client, log)
    waiting = client.get(page).text
    assert STATES["queued"][0] in waiting
    assert "Cancel the shadow" in waiting
    assert work(client) == "succeeded"

    report = client.get(page).text
    assert "Your waterfall costs" in report
    assert "What each vendor is worth" in report
    assert "<svg" in report
    assert "Cancel the shadow" not in report
    assert STATES["succeeded"][0] in client.get("/ui/shadow").text
    model = re.search(r"/ui/models/\w+", report)
    assert model is not None
    assert "{{ 7 * 7 }} shadow" in client.get(model[0]).text


def test_hostile_names_are_escaped(client: TestClient) -> None:
    vendor = f"a<b>{MARKUP[:20]}"
    log = upload(client, write_log().replace(",mail,", f',"{vendor}",'), MARKUP)
    mapping = json.loads(read_mapping(send(client, log, "draft").text))
    started = send(client, log, mapping=json.dumps(mapping))
    page = str(started.headers["location"])

    work(client)

    for path in ("/ui/shadow", page, f"/ui/shadow/new?dataset={log}"):
        text = client.get(path).text
        assert MARKUP not in text
        assert "a<b>" not in text
    # All calls of the vendor are named as unknown.
    assert "a&lt;b&gt;" in client.get(page).text


def test_a_shadow_is_cancelled_once(client: TestClient, log: str) -> None:
    page = start(client, log)

    assert post(client, f"{page}/cancel").status_code == 303

    assert STATES["cancelled"][0] in client.get(page).text
    again = post(client, f"{page}/cancel")
    assert again.status_code == 409
    assert "It is not cancelled." in again.text


def test_a_form_sent_twice_starts_one(client: TestClient, log: str) -> None:
    assert start(client, log) == start(client, log)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"spec": "{"}, "spec"),
        ({"spec": MARKUP}, "spec"),
        ({"spec": json.dumps(SPEC | {"weight": "w"})}, "weight: must be left out"),
        ({"mapping": "[]"}, "mapping"),
        ({"mapping": '{"layout": "calls"}'}, "mapping.case"),
        ({"error_price": "0"}, "error_price: must be an amount above 0"),
        ({"error_price": "inf"}, "error_price: must be an amount above 0"),
    ],
)
def test_what_cannot_be_is_named(
    client: TestClient, log: str, change: dict[str, str], rule: str
) -> None:
    mapping = read_mapping(send(client, log, "draft").text)

    refused = send(client, log, **{"mapping": mapping, **change})

    assert refused.status_code == 422
    assert rule in refused.text
    assert MARKUP not in refused.text
    assert "There is no shadow yet." in client.get("/ui/shadow").text


def test_a_column_that_the_log_lacks_is_named(client: TestClient, log: str) -> None:
    mapping = json.loads(read_mapping(send(client, log, "draft").text))

    refused = send(client, log, mapping=json.dumps(mapping | {"case": "who"}))

    assert refused.status_code == 422
    assert "mapping.case: must be a column of the log" in refused.text


def test_notes_say_what_could_not_be_drafted(client: TestClient) -> None:
    log = upload(client, write_log().replace("decided_at", "when_it_was"))

    drafted = send(client, log, "draft")

    assert drafted.status_code == 200
    assert "no column looks like the decided_at" in drafted.text


def test_a_log_with_few_cases_fails_with_the_reason(client: TestClient) -> None:
    page = start(client, upload(client, write_log(20)))

    work(client)

    text = client.get(page).text
    assert STATES["failed"][0] in text
    assert "must have 50 cases or more" in text
    assert "there are 12 older and 8 newer cases" in text


def test_no_route_of_jobs_shows_a_shadow(client: TestClient, log: str) -> None:
    """Its body would have no model."""
    shadow = start(client, log).rpartition("/")[2]
    json_only = {"Accept": "application/json"}

    assert client.get("/jobs", headers=json_only).json()["items"] == []
    assert client.get("/train", headers=json_only).json()["items"] == []
    assert client.get(f"/jobs/{shadow}", headers=json_only).status_code == 404


def test_a_report_whose_file_is_gone_says_so(client: TestClient, log: str) -> None:
    page = start(client, log)
    work(client)
    state = client.app.state  # type: ignore[attr-defined]
    state.blobs.remove(f"{page.rpartition('/')[2]}.json")

    assert "The file of its report is gone" in client.get(page).text


def test_pages_lead_to_it(client: TestClient) -> None:
    for page in ("/ui/providers", "/ui/train"):
        assert 'href="/ui/shadow"' in client.get(page).text
