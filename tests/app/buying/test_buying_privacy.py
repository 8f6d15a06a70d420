"""Keys of cases and secrets are nowhere but in the requests, and go with the case."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.logs import JsonLines
from askless.app.store.database.tables import metadata
from tests.app.buying.conftest import DOMAINS, Decide, Provide
from tests.app.buying.vendors import Vendors, fails
from tests.pages.site import BROWSER

pytest_plugins = ["tests.app.conftest_http"]

DOMAIN, SECRET = DOMAINS[20], "s3cret-of-the-firm"
PATHS = (
    *("/predict", "/predict/{id}", "/predict/{id}/receipt", "/predict/{id}/events"),
    *("/predict/{id}/ledger", "/ledger", "/ledger?format=csv", "/calls", "/providers"),
    *("/calls/{call}", "/calls?session={id}", "/providers/firmo", "/metrics"),
    *("/models", "/models/{model}", "/models/{model}/monitor", "/openapi.json", "/"),
    *("/ui/sessions", "/ui/sessions/{id}", "/ui/sessions/{id}/receipt"),
    *("/ui/sessions/{id}/receipt.json", "/ui/sessions/{id}/session.json"),
    *("/ui/sessions/{id}/result", "/ui/ledger", "/ui/ledger/ledger.csv"),
    *("/ui/providers", "/ui/providers/firmo", "/ui/providers/firmo/delete"),
    *("/ui/models/{model}", "/ui/models/{model}/monitor"),
    "/ui/models/{model}/model.json",
)


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """The lines of JSON that the process logs, of other libraries too."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(JsonLines().format(record))

    handler, root = Keep(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield lines
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
def decided(
    decide: Decide, provide: Provide, vendors: Vendors, secrets: Path
) -> dict[str, Any]:
    """A case whose key stands in addresses and bodies, and one call of which failed."""
    (secrets / "KEY").write_text(SECRET)
    headers = {"Authorization": "Bearer {secret.KEY}"}
    provide("visits", "score")
    request = {"url": vendors.url("firmo"), "query": {"domain": "{key.domain}"}}
    provide("firmo", request=request | {"headers": headers}, cache_s=60)
    vendors.script("score", fails(500))
    return decide()


def test_no_line_of_the_log_has_a_key_or_a_secret(
    logged: list[str], decided: dict[str, Any], vendors: Vendors
) -> None:
    assert decided["state"] == "closed"
    assert any("call.ended" in line for line in logged)
    assert not [line for line in logged if DOMAIN in line or SECRET in line]
    assert SECRET.encode() in vendors.sent()


def test_no_answer_of_the_service_has_a_key_or_a_secret(
    decided: dict[str, Any], client: TestClient
) -> None:
    """A page that is not there would have none, either."""
    call = client.get("/calls").json()["items"][0]["id"]
    names = {"id": decided["id"], "model": decided["model"]["id"], "call": call}
    responses = {
        path: client.get(
            path.format(**names), headers=BROWSER if path.startswith("/ui") else {}
        )
        for path in PATHS
    }

    assert {p: r.status_code for p, r in responses.items()} == dict.fromkeys(PATHS, 200)
    assert not [p for p, r in responses.items() if DOMAIN in r.text or SECRET in r.text]


def test_a_refusal_does_not_repeat_a_key(
    decided: dict[str, Any], client: TestClient
) -> None:
    body = {"model": decided["model"]["id"], "run": True, "budget": 1, "oops": 1}

    response = client.post("/predict", json=body | {"keys": {"domain": [DOMAIN]}})

    assert response.status_code == 422
    assert DOMAIN not in response.text


def test_no_row_has_a_key_or_a_value_of_an_erased_case(
    decided: dict[str, Any], client: TestClient, engine: sa.Engine
) -> None:
    assert DOMAIN in dump(engine)
    assert "190" in dump(engine, "cached_answers")

    client.delete(f"/predict/{decided['id']}")

    assert DOMAIN not in dump(engine)
    assert SECRET not in dump(engine)
    for table in ("cached_answers", "sessions", "calls", "runs"):
        assert "employees" not in dump(engine, table)
    assert dump(engine, "cached_answers") == ""
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT keys, receipt FROM runs")).all()
    assert [tuple(row) for row in rows] == [(None, None)]


def dump(engine: sa.Engine, *names: str) -> str:
    """Return the text of all rows of tables; by default of all."""
    tables = [metadata.tables[name] for name in names] or metadata.sorted_tables
    with engine.connect() as connection:
        return "\n".join(
            str(tuple(row))
            for table in tables
            for row in connection.execute(sa.text(f'SELECT * FROM "{table.name}"'))
        )
