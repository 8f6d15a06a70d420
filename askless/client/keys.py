"""Make, list and revoke API keys of a tenant."""

from collections.abc import Mapping, Sequence

from askless.client.connection import Connection, Json, join_path
from askless.client.links import Call


class KeyCalls:
    """The client's calls about keys; its own key needs `keys:read` or `keys:write`."""

    connection: Connection

    @Call
    async def create_key(
        self,
        name: str,
        scopes: Sequence[str],
        limits: Mapping[str, int] | None = None,
        days: int | None = None,
    ) -> Json:
        """Make a key that can do no more than the caller's; its `token` is shown once.

        Scopes are such as "predict:write", limits such as {"requests_per_minute": 600}.
        After `days` it is no longer valid; None: never.
        """
        body: Json = {"name": name, "scopes": list(scopes), "days": days}
        if limits is not None:
            body["limits"] = dict(limits)
        return await self.connection.request_json("POST", "/keys", json=body)

    @Call
    async def api_keys(self) -> list[Json]:
        """List all keys, newest first, without their secrets."""
        return await self.connection.list_items("/keys")

    @Call
    async def revoke_key(self, key_id: str) -> None:
        """End a key's validity, within seconds."""
        await self.connection.request("DELETE", join_path("keys", key_id))
