"""The ledger of all sessions: charges, reversals and their sums."""

from collections.abc import Mapping
from datetime import date

from askless.client.connection import Connection, Json, join_path
from askless.client.links import Call

Filters = Mapping[str, str | date]


class LedgerCalls:
    """The client's calls about the ledger.

    `where` filters by `model`, `session`, `key`, `unit` and the days `since` and
    `until`, both included: {"unit": "CAD", "since": date(2026, 11, 1)}.
    """

    connection: Connection

    @Call
    async def ledger(self, where: Filters | None = None) -> list[Json]:
        """List charges and reversals, newest first."""
        return await self.connection.list_items("/ledger", **params_of(where))

    @Call
    async def ledger_sums(self, where: Filters | None = None) -> list[Json]:
        """Return the sums charged and reversed, for each unit."""
        params = {"limit": "1", **params_of(where)}
        page = await self.connection.request_json("GET", "/ledger", params=params)
        sums: list[Json] = page["sums"]
        return sums

    @Call
    async def ledger_csv(self, where: Filters | None = None) -> bytes:
        """Return charges and reversals as CSV; a spreadsheet may run its cells."""
        params = {"format": "csv", "raw": "true", **params_of(where)}
        return (await self.connection.request("GET", "/ledger", params=params)).content

    @Call
    async def reverse_charge(self, entry_id: str, reason: str) -> Json:
        """Reverse one charge in full; return the reversal's entry."""
        path = join_path("ledger", entry_id, "reverse")
        return await self.connection.request_json("POST", path, json={"reason": reason})


def params_of(where: Filters | None) -> dict[str, str]:
    """Return filters as query parameters; `since` is sent as from, `until` as to."""
    renamed = {"since": "from", "until": "to"}
    return {
        renamed.get(name, name): str(value) for name, value in (where or {}).items()
    }
