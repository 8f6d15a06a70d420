"""The demo's providers call its own vendors, at the port of each start."""

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

import pytest
import sqlalchemy as sa

from askless.app.cli.serving import demo
from askless.app.demo import vendors
from askless.app.demo.leads import VENDORS
from askless.app.documents.buying.providers import Provider
from askless.app.documents.shape import read_shape
from askless.app.processes.ports import bind_port
from askless.app.records import DEFAULT_TENANT, StoredProvider
from askless.app.settings.settings import Settings
from askless.app.store.buying import providers
from askless.app.store.database.engine import transaction
from tests.app.serving import until


def list_stored(engine: sa.Engine) -> dict[str, StoredProvider]:
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        return {provider.name: provider for provider in providers.list_all(db)}


@pytest.fixture
def opened(
    settings: Settings, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> demo.Vending:
    del engine
    monkeypatch.setenv(demo.HOSTS, "")
    named = settings.model_copy(update={"provider_hosts": ["api.example"]})
    return demo.open_vendors(named, DEFAULT_TENANT)


def test_providers_call_the_vendors_where_they_are(
    opened: demo.Vending, engine: sa.Engine
) -> None:
    port = opened.command[-1]
    read = [
        read_shape(Provider, stored.document, "provider")
        for stored in list_stored(engine).values()
    ]

    assert opened.settings.provider_hosts == ["api.example", f"127.0.0.1:{port}"]
    assert json.loads(os.environ[demo.HOSTS]) == opened.settings.provider_hosts
    assert {provider.host for provider in read} == {f"127.0.0.1:{port}"}
    assert {(p.fills, p.price, p.billing, tuple(p.read)) for p in read} == {
        (v.name, v.price, v.billing, v.features) for v in VENDORS
    }


@pytest.mark.usefixtures("opened")
def test_the_next_start_moves_them_and_leaves_those_of_users(engine: sa.Engine) -> None:
    own = {"request": {"url": "https://api.example/firmo"}}
    with transaction(engine, DEFAULT_TENANT) as db:
        stored = providers.get_locked(db, "firmo")
        providers.change(db, stored.id, document=own)
        providers.change(db, providers.get_locked(db, "intent").id, failures=3)

    demo.store_providers(engine, DEFAULT_TENANT, "127.0.0.1:9", datetime.now(UTC))

    after = list_stored(engine)
    assert after["firmo"].document == own
    assert after["intent"].document["request"]["url"] == "http://127.0.0.1:9/v1/intent"
    assert after["intent"].failures == 0


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"])
def test_on_a_shared_database_each_start_finds_them_at_one_port(
    settings: Settings, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(demo.HOSTS, "")
    host = f"127.0.0.1:{demo.SHARED_PORT}"

    demo.seed_demo(settings)
    allowed = demo.allow_vendors(settings)

    with transaction(engine, demo.get_tenant_id(settings), is_read=True) as db:
        stored = {provider.name: provider for provider in providers.list_all(db)}
    hosts = {
        read_shape(Provider, provider.document, "provider").host
        for provider in stored.values()
    }
    assert hosts == (set() if settings.is_embedded else {host})
    assert allowed.settings.provider_hosts == [host]
    assert allowed.command[-1] == str(demo.SHARED_PORT)


def test_vendors_wait_for_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendors, "TAKEN_S", 0.01)
    with bind_port(demo.HOST, 0) as bound:
        port = bound.getsockname()[1]
        Thread(target=vendors.keep_serving, args=(port,), daemon=True).start()

    def answer() -> Any:
        with suppress(OSError), urlopen(request, timeout=5) as reply:
            return json.load(reply)

    request = Request(f"http://{demo.HOST}:{port}/v1/mailcheck", b'{"domain": "none"}')
    until(lambda: answer() == {"company": None}, 20)
