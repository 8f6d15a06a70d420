"""The demo's providers call its own vendors, at the port of each start."""

import json
import os
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from askless.app.cli.serving import demo
from askless.app.demo.leads import VENDORS
from askless.app.documents.buying.providers import Provider
from askless.app.documents.shape import read_shape
from askless.app.records import DEFAULT_TENANT, StoredProvider
from askless.app.settings.settings import Settings
from askless.app.store.buying import providers
from askless.app.store.database.engine import transaction


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
