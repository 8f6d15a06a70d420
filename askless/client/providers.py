"""Put, test, list and delete providers, and list the calls to them."""

from collections.abc import Mapping
from typing import Any

import httpx

from askless.client.connection import Connection, Json, join_path
from askless.client.links import Call

# The service waits for a vendor for two minutes at most.
TEST_TIMEOUT_S = 150.0


class ProviderCalls:
    """The client's calls about providers; its key needs `providers:…`."""

    connection: Connection

    @Call
    async def put_provider(self, name: str, provider: Mapping[str, Any]) -> Json:
        """Add a provider or replace it; `warnings` say what no model uses yet."""
        path = join_path("providers", name)
        return await self.connection.request_json("PUT", path, json=dict(provider))

    @Call
    async def providers(self) -> list[Json]:
        """List all providers, newest first, with what they have cost today."""
        return await self.connection.list_items("/providers")

    @Call
    async def provider(self, name: str) -> Json:
        """Show a provider as it was put, and its state."""
        path = join_path("providers", name)
        return await self.connection.request_json("GET", path)

    @Call
    async def provider_report(self, name: str) -> Json:
        """Report on a provider's calls, what has changed, and what it is worth."""
        path = join_path("providers", name, "report")
        return await self.connection.request_json("GET", path)

    @Call
    async def delete_provider(self, name: str) -> None:
        """Delete a provider; what its calls cost stays."""
        await self.connection.request("DELETE", join_path("providers", name))

    @Call
    async def test_provider(self, name: str, keys: Mapping[str, str]) -> Json:
        """Call a provider once with the keys of a case, which costs its price.

        A request that is sent again after a broken connection calls nobody again; its
        answer has no values then, and `calls` say how the call has ended.
        """
        path, body = join_path("providers", name, "test"), {"keys": dict(keys)}
        timeout = httpx.Timeout(self.connection.timeout, read=TEST_TIMEOUT_S)
        return await self.connection.request_json(
            "POST", path, json=body, timeout=timeout
        )

    @Call
    async def calls(
        self,
        provider: str | None = None,
        session: str | None = None,
        state: str | None = None,
    ) -> list[Json]:
        """List calls to providers, newest first, such as those `in_doubt`."""
        return await self.connection.list_items(
            "/calls", provider=provider, session=session, state=state
        )
