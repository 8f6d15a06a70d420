"""The ledger of all sessions: charges, reversals and their sums."""

from collections.abc import Mapping
from datetime import date

from askless.connection import Connection, Json, address
from askless.links import Call

Filters = Mapping[str, str | date]


class LedgerCalls:
    """What a client does with the ledger.

    `where` filters by `model`, `session`, `key`, `unit` and the days `since` and
    `until`, both included: {"unit": "CAD", "since": date(2026, 11, 1)}.
    """

    connection: Connection

    @Call
    async def ledger(self, where: Filters | None = None) -> list[Json]:
        """List charges and reversals, newest first."""
        return await self.connection.items("/ledger", **params_of(where))

    @Call
    async def ledger_sums(self, where: Filters | None = None) -> list[Json]:
        """Return what was charged and reversed, for each unit."""
        params = {"limit": "1", **params_of(where)}
        page = await self.connection.ask("GET", "/ledger", params=params)
        sums: list[Json] = page["sums"]
        return sums

    @Call
    async def ledger_csv(self, where: Filters | None = None) -> bytes:
        """Return charges and reversals as a CSV file."""
        params = {"format": "csv", **params_of(where)}
        return (await self.connection.call("GET", "/ledger", params=params)).content

    @Call
    async def reverse_charge(self, entry_id: int, reason: str) -> Json:
        """Take back one charge, all of it; return the entry that says so."""
        path = address("ledger", entry_id, "reverse")
        return await self.connection.ask("POST", path, json={"reason": reason})


def params_of(where: Filters | None) -> dict[str, str]:
    """Return filters as the address has them."""
    words = {"since": "from", "until": "to"}
    return {words.get(name, name): str(one) for name, one in (where or {}).items()}
