"""Who may call where keys are not asked for, and which pages of other origins may."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.main import create_app
from askless.app.records import DEFAULT_TENANT
from askless.app.service import keys
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from tests.app.clinic import MakeApp, clinic, local_client, model_json

pytest_plugins = ["tests.app.conftest_http"]


NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    """Served beyond loopback: keys are asked for."""
    return make_app(is_local=False)


@pytest.fixture
def local(settings: Settings) -> Iterator[TestClient]:
    named = settings.model_copy(update={"hosts": ["localhost"]})
    app = create_app(named, is_local=True)
    with local_client(app, raise_server_exceptions=False) as made:
        yield made


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_on_loopback_a_host_is_a_loopback_name(local: TestClient) -> None:
    ours = ("127.0.0.1:8000", "localhost", "[::1]:8000", "127.8.9.1")
    foreign = (
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8000",
        "user@evil.example",
        "",
    )
    expected = dict.fromkeys(ours, 200) | dict.fromkeys(foreign, 421)

    asked = {one: local.get("/models", headers={"Host": one}) for one in expected}

    assert {host: response.status_code for host, response in asked.items()} == expected


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_proxy_passes_on_the_name_that_people_open(settings: Settings) -> None:
    address = "https://tools.example.org:8443/askless/"
    opened = settings.model_copy(update={"address": address})
    with local_client(create_app(opened, is_local=True)) as client:
        asked = [
            client.post("/predict", json={}, headers={"Host": host, "Origin": origin})
            for host, origin in (
                ("tools.example.org:8443", "https://tools.example.org:8443"),
                ("127.0.0.1:8000", "https://tools.example.org:8443"),
                ("127.0.0.1:8000", "https://tools.example.org"),
                ("example.org", "https://tools.example.org:8443"),
            )
        ]

    assert [response.status_code for response in asked] == [401, 401, 403, 421]


def test_probes_know_a_process_by_its_address(local: TestClient) -> None:
    asked = local.get("/livez", headers={"Host": "10.1.2.3:8000"})

    assert asked.status_code == 200


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_page_of_another_origin_changes_nothing(
    local: TestClient, method: str
) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9999", "http://"):
        asked = local.request(method, "/models/mdl_1", headers={"Origin": origin})

        assert asked.status_code == 403, origin
        assert asked.json()["type"] == "/problems/foreign-origin"


def test_a_page_of_ours_may(local: TestClient) -> None:
    raw = json.dumps(model_json(clinic(), "clinic"))
    ours = {"Origin": "http://127.0.0.1", "Content-Type": "application/json"}

    assert local.post("/models", content=raw, headers=ours).status_code == 201


def test_pages_of_named_origins_may_by_cors(settings: Settings) -> None:
    named = settings.model_copy(update={"origins": ["https://clinic.example"]})
    wanted = {
        "Origin": "https://clinic.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    with local_client(create_app(named, is_local=True)) as client:
        allowed = client.options("/predict", headers=wanted)
        refused = client.options(
            "/predict", headers=wanted | {"Origin": "https://evil.example"}
        )
        posted = client.post(
            "/predict", json={}, headers={"Origin": "https://clinic.example"}
        )

    allowed_origin = "access-control-allow-origin"
    assert allowed.headers[allowed_origin] == "https://clinic.example"
    assert allowed_origin not in refused.headers
    assert posted.status_code == 422


def test_cors_is_off(local: TestClient) -> None:
    asked = local.get("/models", headers={"Origin": "https://evil.example"})

    assert "access-control-allow-origin" not in asked.headers


def test_keys_are_not_asked_for_on_loopback_alone(tmp_path: Any) -> None:
    plain = Settings(home=tmp_path)
    named = Settings(home=tmp_path, hosts=["askless.example"])

    assert not plain.must_ask(is_local=True)
    assert plain.must_ask(is_local=False)
    assert Settings(home=tmp_path, authentication=True).must_ask(is_local=True)
    # Behind a proxy that passes on its own name it is served to others.
    assert named.must_ask(is_local=True)


def test_a_key_on_loopback_is_its_tenants(local: TestClient, engine: sa.Engine) -> None:
    with transaction(engine, None) as db:
        tenant_id = keys.get_or_create_tenant(db, "other", NOW)
    with transaction(engine, tenant_id) as db:
        token = keys.create(db, keys.Wish("k"), NOW).token
    local.post("/models", json=model_json(clinic(), "clinic"))

    ours = local.get("/models").json()["items"]
    theirs = local.get("/models", headers={"Authorization": f"Bearer {token}"}).json()

    assert len(ours) == 1
    assert theirs["items"] == []


def test_the_first_key_is_made_once(engine: sa.Engine) -> None:
    made = []
    for _ in range(2):
        with transaction(engine, DEFAULT_TENANT) as db:
            made.append(keys.make_first_key(db, NOW))

    assert made[0] is not None
    assert made[0].key.scopes == keys.SCOPES
    assert made[1] is None
