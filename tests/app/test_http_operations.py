"""The ledger, readiness, metrics, and the API's own documentation."""

import errno
import json
import logging
import math
import re
from typing import Any, NoReturn

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.http.plumbing import readiness
from askless.app.http.plumbing.deps import get_read_db
from askless.app.main import create_app
from askless.app.problems import KINDS
from askless.app.settings.settings import Settings
from tests.app.clinic import Answer, Json, MakeApp, Start, local_client
from tests.app.conftest import admin
from tests.app.jobs import Jobs
from tests.applications import OVERRIDES

pytest_plugins = ["tests.app.conftest_http"]

only_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


def test_the_ledger_of_all_sessions_is_paged_newest_first(
    client: TestClient, start: Start, answer: Answer
) -> None:
    one, other = start(60.0), start(60.0)
    answer(one, ("age", 63), ("sex", "male"))
    answer(other, ("chol", 233))

    first = client.get("/ledger?limit=2").json()
    rest = client.get(f"/ledger?limit=2&after={first['next']}").json()

    items = first["items"] + rest["items"]
    assert [item["feature"] for item in items] == ["chol", "sex", "age"]
    assert rest["next"] is None
    assert {
        key: items[0][key] for key in items[0] if key not in ("id", "at", "digest")
    } == {
        "session": other["id"],
        "model": other["model"]["id"],
        "key": None,
        "feature": "chol",
        "group": "blood",
        "kind": "charge",
        "number": 1,
        "reverses": None,
        "reason": None,
        "provider": None,
        "amount": 7.27,
        "unit": "CAD",
    }


def wait_until_ready(client: TestClient) -> Any:
    for _ in range(100_000):
        response = client.get("/readyz")
        if response.status_code == 200:
            return response
    raise AssertionError(response.text)


def test_a_served_database_becomes_ready(client: TestClient) -> None:
    response = wait_until_ready(client)

    body = response.json()
    names = ("database", "migrations", "writable", "space", "kernels", "serving")
    assert body["checks"] == dict.fromkeys(names, "ok")
    assert body["workers"] == 0


def failing_of(client: TestClient) -> list[str]:
    response = client.get("/readyz")
    assert response.status_code == 503
    checks = response.json()["checks"]
    return [name for name, found in checks.items() if found == "failing"]


def test_workers_are_seen_while_they_are_alive(client: TestClient, jobs: Jobs) -> None:
    one, other = jobs.worker(), jobs.worker()
    for worker in (one, other, one):
        worker.report()

    seen = wait_until_ready(client).json()["workers"]
    one.leave()
    left = client.get("/readyz").json()["workers"]

    assert (seen, left) == (2, 1)


def test_silent_workers_do_not_count(
    app: FastAPI, client: TestClient, jobs: Jobs
) -> None:
    jobs.worker().report()
    short = app.state.settings.model_copy(update={"heartbeat_timeout_s": 1e-9})
    app.state.settings = short

    assert wait_until_ready(client).json()["workers"] == 0


@only_sqlite
def test_what_ends_or_is_not_warm_or_has_a_full_disk_is_not_ready(
    app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_until_ready(client)

    app.state.draining = True
    assert failing_of(client) == ["serving"]
    app.state.draining = False
    app.state.is_warm.clear()
    assert failing_of(client) == ["kernels"]
    response = client.get("/readyz")
    assert response.headers["content-type"] == "application/problem+json"
    app.state.is_warm.set()
    monkeypatch.setattr(readiness, "LEAST_FREE", 1 << 62)
    assert failing_of(client) == ["space"]


@only_sqlite
def test_refusing_probe_is_logged_once_until_something_else_fails(
    app: FastAPI, client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    wait_until_ready(client)
    caplog.set_level(logging.INFO, "askless")

    app.state.draining = True
    for _ in range(3):
        failing_of(client)
    app.state.full_until = math.inf
    for _ in range(2):
        failing_of(client)
    app.state.draining, app.state.full_until = False, 0.0
    for _ in range(2):
        client.get("/readyz")

    lines = [
        record for record in caplog.records if record.getMessage() == "http.request"
    ]
    statuses = [vars(line)["fields"]["status"] for line in lines]
    assert statuses == [503, 503, 200, 200]


def raise_disk_full() -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


@only_sqlite
def test_answer_that_found_no_space_makes_not_ready(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_until_ready(client)
    monkeypatch.setitem(OVERRIDES, get_read_db, raise_disk_full)

    assert client.get("/models").status_code == 503

    assert failing_of(client) == ["space"]


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_database_that_takes_no_change_is_not_ready(
    client: TestClient, database_url: str
) -> None:
    wait_until_ready(client)
    name = sa.make_url(database_url).database
    with admin(database_url) as connection:
        connection.exec_driver_sql(
            f"ALTER DATABASE {name} SET default_transaction_read_only = on"
        )
    client.app.state.engine.dispose()  # type: ignore[attr-defined]

    assert failing_of(client) == ["writable"]


def test_load_is_counted_for_metrics(
    app: FastAPI, client: TestClient, jobs: Jobs, start: Start, table: bytes, spec: Json
) -> None:
    start(60.0)
    for _ in range(2):
        jobs.start(table, spec)
    jobs.worker().report()

    client.get("/metrics")

    value = app.state.metrics.registry.get_sample_value
    assert value("askless_jobs_queued") == 2
    assert value("askless_jobs_running") == 0
    assert value("askless_workers") == 1
    assert value("askless_sessions_open") == 1
    assert 0 < value("askless_queue_age_seconds") < 600
    assert value("askless_database_up") == 1


TOKEN = "of-the-scraper-alone"


@only_sqlite
@pytest.mark.parametrize("token", [TOKEN, None])
def test_metrics_beyond_loopback_ask_for_their_token(
    make_app: MakeApp, token: str | None
) -> None:
    with TestClient(make_app(is_local=False, scrape_token=token)) as client:
        for sent in (f"Bearer {TOKEN}", "Bearer another", None):
            headers = {} if sent is None else {"Authorization": sent}
            status = 200 if token is not None and sent == f"Bearer {token}" else 401

            assert client.get("/metrics", headers=headers).status_code == status
        assert client.get("/livez").status_code == 200


@only_sqlite
def test_load_is_not_counted_at_every_scrape(
    app: FastAPI, client: TestClient, start: Start
) -> None:
    client.get("/metrics")
    start(60.0)

    client.get("/metrics")

    assert app.state.metrics.registry.get_sample_value("askless_sessions_open") == 0


def test_a_database_without_its_tables_is_alive_and_not_ready(
    empty_url: str, tmp_path: Any
) -> None:
    app = create_app(Settings(home=tmp_path, database_url=empty_url), is_local=True)

    with local_client(app) as client:
        alive, ready = client.get("/livez"), client.get("/readyz")

    assert alive.json() == {"status": "alive"}
    assert ready.status_code == 503
    assert ready.json()["checks"]["migrations"] == "failing"


def test_a_database_that_is_away_is_alive_and_not_ready(tmp_path: Any) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"
    app = create_app(Settings(home=tmp_path, database_url=url), is_local=True)

    with local_client(app, raise_server_exceptions=False) as client:
        alive, ready = client.get("/livez"), client.get("/readyz")
        models = client.get("/models")
        metrics = client.get("/metrics")

    assert alive.status_code == 200
    assert ready.json()["checks"]["database"] == "failing"
    assert models.status_code == 503
    assert "askless_database_up 0.0" in metrics.text


@only_sqlite
def test_metrics_count_requests_and_charges(
    client: TestClient, start: Start, answer: Answer
) -> None:
    answer(start(60.0), ("chol", 233))

    text = client.get("/metrics").text

    route = 'route="/predict/{id}/answers",status="200"'
    assert f'askless_requests_total{{method="POST",{route}}} 1.0' in text
    assert 'askless_charged_units_total{unit="CAD"} 7.27' in text


@only_sqlite
def test_probes_that_want_no_body_are_answered(client: TestClient) -> None:
    wait_until_ready(client)

    probes = [client.head(path) for path in ("/livez", "/readyz")]

    assert [(probe.status_code, probe.content) for probe in probes] == [(200, b"")] * 2


def has_examples(schema: Json) -> bool:
    return "examples" in schema or all(
        "examples" in one or "$ref" in json.dumps(one)
        for one in schema.get("properties", {}).values()
    )


@only_sqlite
def test_every_schema_has_examples_and_every_reference_a_target(
    client: TestClient,
) -> None:
    document = client.get("/openapi.json").json()

    schemas = document["components"]["schemas"]
    used = set(re.findall(r'#/components/schemas/([^"]+)"', json.dumps(document)))
    assert used - set(schemas) == set()
    assert [name for name, schema in schemas.items() if not has_examples(schema)] == []
    assert "HTTPValidationError" not in schemas


@only_sqlite
def test_each_tag_has_a_description_and_addresses_a_server(client: TestClient) -> None:
    document = client.get("/openapi.json").json()

    operations = [
        operation for path in document["paths"].values() for operation in path.values()
    ]
    used = {tag for operation in operations for tag in operation["tags"]}
    assert {tag["name"] for tag in document["tags"] if tag["description"]} == used
    assert document["servers"] == [{"url": "/"}]


@only_sqlite
def test_the_documentation_asks_no_other_site(client: TestClient) -> None:
    page = client.get("/docs")

    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(addresses) == 3
    assert all(address.startswith("/docs-assets/") for address in addresses)
    assert {client.get(address).status_code for address in addresses} == {200}
    assert "http://" not in page.text
    assert "https://" not in page.text


@only_sqlite
def test_every_problem_is_documented_at_its_address(client: TestClient) -> None:
    listed = client.get("/problems").text

    for kind, kind_ in KINDS.items():
        page = client.get(f"/problems/{kind}")
        assert page.status_code == 200
        assert str(kind_.status) in page.text
        assert f"/problems/{kind}" in listed


@only_sqlite
def test_the_first_page_points_to_what_there_is(client: TestClient) -> None:
    addresses = re.findall(r'href="([^"]+)"', client.get("/").text)

    assert "/docs" in addresses
    assert {client.get(address).status_code for address in addresses} == {200}
