"""Agents work at `/mcp` in the name of a person who signs in at a real provider."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl

from askless.app.doors.oidc import door
from askless.app.doors.sign_in import auth_servers, tokens
from askless.app.main import create_app
from askless.app.service import keys
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from tests.app.doors.agents import Agent
from tests.app.doors.oidc.provider import SITE, Provider
from tests.app.servers import Server
from tests.app.tenants import transaction as owned

MCP = f"{SITE}/mcp"
BACK = "http://127.0.0.1/back"


class Kept:
    """What a client remembers of its tokens."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


@pytest.fixture
def server(settings: Settings, provider: Provider) -> Iterator[Server]:
    """A server on loopback, as the protocol's own client reaches one."""
    wanted = provider.settings_of(settings, doors=["mcp"])
    made = Server(wanted, knows_address=True)
    yield made
    made.close()


def agent(client: TestClient, token: str) -> Agent:
    return Agent(client.post, headers={"Authorization": f"Bearer {token}"})


def test_the_protocols_own_client_signs_a_person_in(
    server: Server, provider: Provider
) -> None:
    """It knows nothing but our address: it asks us where to sign in, and registers."""
    came: list[str] = []

    async def open_browser(address: str) -> None:
        signed_in = asyncio.to_thread(provider.sign_in, address, "grace", BACK)
        came.append(await signed_in)

    async def wait_for_browser() -> AuthorizationCodeResult:
        said = {k: v[0] for k, v in parse_qs(urlsplit(came[0]).query).items()}
        return AuthorizationCodeResult(**said)

    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(BACK)], token_endpoint_auth_method="none"
    )
    url = f"{server.url}/mcp"
    signing = OAuthClientProvider(url, metadata, Kept(), open_browser, wait_for_browser)

    async def work() -> Any:
        async with (
            httpx2.AsyncClient(auth=signing, trust_env=False, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return await client.call_tool("list_models", {})

    result = asyncio.run(work())

    assert len(came) == 1
    assert result.structured_content == {"items": [], "next": None}


def test_who_has_no_token_learns_where_to_sign_in(
    client: TestClient, provider: Provider
) -> None:
    refused = Agent(client.post).send("tools/list")

    assert refused.status_code == 401
    place = f"{SITE}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{place}"' in refused.headers["www-authenticate"]
    told = client.get(place).json()
    assert told["resource"] == MCP
    assert told["authorization_servers"] == [provider.url]


def test_an_agent_may_what_its_person_may(
    app: FastAPI, client: TestClient, provider: Provider
) -> None:
    token = provider.token_of("ada", MCP)["access_token"]
    hers = agent(client, token)

    # A clinician plays cases, and reads no ledger.
    assert hers.do("list_models") == {"items": [], "next": None}
    assert "ledger:read" in hers.refusal("ledger")
    # The API is for keys, however the token is named.
    for word in ("", "person ", "cookie ", "key "):
        headers = {"Authorization": f"Bearer {word}{token}"}
        assert client.get("/models", headers=headers).status_code == 401
    with transaction(app.state.engine, None, is_read=True) as db:
        names = db.execute(sa.text("SELECT name, subject FROM keys")).all()
    assert [tuple(name) for name in names] == [("ada", f"{provider.url} ada")]


def test_an_agents_use_is_noted(
    app: FastAPI, client: TestClient, provider: Provider
) -> None:
    hers = agent(client, provider.token_of("ada", MCP)["access_token"])
    hers.do("list_models")
    used = sa.text("UPDATE keys SET last_used_at = NULL")
    with transaction(app.state.engine, None) as db:
        db.execute(used)
    # As if some seconds had passed.
    app.state.guard.cached_keys.clear()

    hers.do("list_models")

    with transaction(app.state.engine, None, is_read=True) as db:
        assert db.execute(sa.text("SELECT last_used_at FROM keys")).scalar() is not None


def test_keys_open_it_still(app: FastAPI, client: TestClient) -> None:
    with owned(app.state.engine) as db:
        made = keys.create(db, keys.Wish("agent"), datetime.now(UTC))

    assert agent(client, made.token).do("list_models")["items"] == []


def test_who_is_in_no_group_may_nothing(client: TestClient, provider: Provider) -> None:
    token = provider.token_of("alan", MCP)["access_token"]

    refused = agent(client, token).send("tools/list")

    assert refused.status_code == 403
    assert "in no group" in refused.text


def test_tokens_for_others_are_refused(client: TestClient, provider: Provider) -> None:
    others = provider.token_of("ada", "https://other.example/mcp")
    good = provider.token_of("ada", MCP)["access_token"]
    head, body, signature = good.split(".")
    unsigned = urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    changed = signature[:-8] + ("A" * 8 if signature[-8:] != "A" * 8 else "B" * 8)
    wrong = [
        others["access_token"],
        # Who somebody is does not say what an agent of theirs may do.
        others["id_token"],
        f"{head}.{body}.{changed}",
        f"{unsigned}.{body}.",
        f"{head}.{body}",
        "x",
    ]

    for token in wrong:
        refused = agent(client, token).send("tools/list")

        assert refused.status_code == 401, token
        assert refused.json()["error"] == "invalid_token"


# As if the day had passed, or half a day of a token that the provider gave for a year.
@pytest.mark.parametrize(
    ("module", "name", "value"),
    [(tokens, "LEEWAY_S", -86_400), (door, "LASTS", timedelta(seconds=-1))],
    ids=["expired", "older than a sign-in"],
)
def test_a_token_that_is_too_old_is_refused(
    client: TestClient,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    module: object,
    name: str,
    value: object,
) -> None:
    hers = agent(client, provider.token_of("ada", MCP)["access_token"])
    assert hers.send("tools/list").status_code == 200

    monkeypatch.setattr(module, name, value)

    assert hers.send("tools/list").status_code == 401


def test_an_agent_of_who_was_revoked_is_refused(
    app: FastAPI, client: TestClient, provider: Provider
) -> None:
    hers = agent(client, provider.token_of("ada", MCP)["access_token"])
    assert hers.send("tools/list").status_code == 200
    with transaction(app.state.engine, None, is_read=True) as db:
        row = db.execute(sa.text("SELECT id, tenant_id FROM keys")).one()
    with transaction(app.state.engine, row.tenant_id) as db:
        keys.revoke(db, row.id, datetime.now(UTC))

    # As if some seconds had passed.
    app.state.guard.cached_keys.clear()

    assert hers.send("tools/list").status_code == 401


def test_an_agent_calls_no_more_often_than_a_key(
    app: FastAPI, client: TestClient, provider: Provider
) -> None:
    app.state.guard.limits = replace(app.state.guard.limits, requests_per_minute=2)
    hers = agent(client, provider.token_of("ada", MCP)["access_token"])

    codes = [hers.send("tools/list").status_code for _ in range(3)]

    assert codes == [200, 200, 429]


def test_an_outage_keeps_nobody_out_whose_keys_are_known(
    app: FastAPI,
    client: TestClient,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hers = agent(client, provider.token_of("ada", MCP)["access_token"])
    assert hers.send("tools/list").status_code == 200
    server = app.state.people.server
    # As if five minutes had passed, and the provider were away.
    monkeypatch.setattr(auth_servers, "FRESH_S", 0)
    away = server.registration._replace(metadata_url="http://127.0.0.1:9/x")
    monkeypatch.setattr(server, "registration", away)

    assert hers.send("tools/list").status_code == 200
    assert server.away_until > 0


def test_nothing_is_fetched_for_tokens_of_others(
    settings: Settings, provider: Provider
) -> None:
    more = {"oidc_issuer": "http://127.0.0.1:9", "doors": ["mcp"]}
    app = create_app(provider.settings_of(settings, **more), is_local=False)
    with TestClient(app, SITE) as client:
        for token in ("x", provider.token_of("ada", MCP)["access_token"]):
            assert agent(client, token).send("tools/list").status_code == 401
    assert app.state.people.server.away_until == 0
