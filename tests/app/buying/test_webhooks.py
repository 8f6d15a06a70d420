"""Webhooks tell of the ends of runs: signed, repeated for a day, to listed hosts."""

import base64
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from standardwebhooks import Webhook

from askless.app.settings.settings import Settings
from askless.app.store.buying.deliveries import deliveries
from tests.app.buying.conftest import DOMAINS, Decide, Provide
from tests.app.buying.single_vendor import Vendor, serve_vendor

pytest_plugins = ["tests.app.conftest_http"]

OLD, NEW = (base64.b64encode(text * 24).decode() for text in (b"o", b"n"))
PATIENCE_S = 20.0
Json = dict[str, Any]


@pytest.fixture
def hook() -> Iterator[Vendor]:
    with serve_vendor() as served:
        yield served


@pytest.fixture
def settings(settings: Settings, hook: Vendor, secrets: Path) -> Settings:
    (secrets / "WEBHOOK").write_text(f"whsec_{NEW}\n{OLD}\n")
    hosts = [*settings.provider_hosts, hook.host]
    return settings.model_copy(update={"provider_hosts": hosts})


@pytest.fixture
def ended(decide: Decide, provide: Provide, hook: Vendor) -> Json:
    """A run that has ended, and whose webhook was sent once."""
    provide("firmo", "visits", "score")
    hook.status = 500
    session = decide(webhook={"url": f"http://{hook.host}/in", "secret": "WEBHOOK"})
    wait_until(lambda: len(hook.asked) == 1)
    return session


def wait_until(is_so: Any) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


def change(engine: sa.Engine, **values: object) -> None:
    with engine.begin() as connection:
        connection.execute(deliveries.update().values(**values))


def read(engine: sa.Engine) -> tuple[str, int | None]:
    columns = deliveries.c.state, deliveries.c.status
    with engine.connect() as connection:
        state, status = connection.execute(sa.select(*columns)).one()
    return state, status


def make_due(engine: sa.Engine, **values: object) -> None:
    """Wait for the end of the first attempt, then let the next one be due."""
    wait_until(lambda: read(engine)[1] is not None)
    past = datetime.now(UTC) - timedelta(seconds=1)
    change(engine, next_at=past, status=None, **values)


def test_a_webhook_is_signed_with_each_secret_and_names_no_key(
    ended: Json, hook: Vendor
) -> None:
    [asked] = hook.asked
    headers = {name.lower(): text for name, text in asked["headers"].items()}

    for secret in (OLD, NEW):
        body = Webhook(secret).verify(asked["body"].decode(), headers)
        assert body == json.loads(asked["body"])
    with pytest.raises(Exception, match="No matching signature"):
        Webhook(base64.b64encode(b"x" * 24).decode()).verify(asked["body"], headers)
    assert body["data"]["session"] == ended["id"]
    assert body["data"]["spent"] == ended["budget"]["spent"]
    assert DOMAINS[20].encode() not in asked["body"]


def test_a_webhook_that_failed_is_sent_again_under_the_same_id(
    ended: Json, hook: Vendor, engine: sa.Engine
) -> None:
    del ended
    make_due(engine)
    hook.status = 204
    wait_until(lambda: read(engine) == ("delivered", 204))

    ids = [asked["headers"]["webhook-id"] for asked in hook.asked]
    assert len(ids) == 2
    assert len(set(ids)) == 1


def test_a_webhook_is_given_up_after_a_day(
    ended: Json, hook: Vendor, engine: sa.Engine
) -> None:
    del ended
    make_due(engine, created_at=datetime.now(UTC) - timedelta(days=1, seconds=1))

    wait_until(lambda: read(engine) == ("failed", 500))
    assert len(hook.asked) == 2


def test_a_webhook_is_given_up_where_it_is_gone(
    ended: Json, hook: Vendor, engine: sa.Engine
) -> None:
    del ended
    hook.status = 410
    make_due(engine)

    wait_until(lambda: read(engine) == ("failed", 410))


def test_nothing_is_told_of_an_erased_session(
    ended: Json, hook: Vendor, engine: sa.Engine, client: TestClient
) -> None:
    client.delete(f"/predict/{ended['id']}")
    make_due(engine)

    wait_until(lambda: read(engine)[0] == "failed")
    assert len(hook.asked) == 1


def test_a_webhook_goes_to_listed_hosts_alone(ended: Json, client: TestClient) -> None:
    webhook = {"url": "http://127.0.0.1:1/in", "secret": "WEBHOOK"}
    body = {"model": ended["model"]["id"], "budget": 1, "run": True}
    keys = {"domain": DOMAINS[3]}

    response = client.post("/predict", json=body | {"keys": keys, "webhook": webhook})

    assert response.status_code == 422
    assert "webhook.url" in response.text
