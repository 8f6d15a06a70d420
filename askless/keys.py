"""Makes, lists and revokes API keys of a tenant."""

from collections.abc import Mapping, Sequence

from askless.connection import Connection, Json, address
from askless.links import Call


class KeyCalls:
    """What a client does with keys; its own must have the scopes `keys`."""

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
        wish: Json = {"name": name, "scopes": list(scopes), "days": days}
        if limits is not None:
            wish["limits"] = dict(limits)
        return await self.connection.ask("POST", "/keys", json=wish)

    @Call
    async def api_keys(self) -> list[Json]:
        """List all keys, newest first, without their secrets."""
        return await self.connection.items("/keys")

    @Call
    async def revoke_key(self, key_id: str) -> None:
        """End a key's validity, within seconds."""
        await self.connection.call("DELETE", address("keys", key_id))
