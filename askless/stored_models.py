"""Lists, shows, exports, imports and deletes models of a service."""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from askless.connection import Connection, Json, address, known_fields
from askless.links import Call


@dataclass(frozen=True)
class StoredModel:
    """A model of the service, as lists show it."""

    id: str
    name: str
    version: int
    training_id: str | None
    created_at: str
    champion: bool = False


class ModelCalls:
    """What a client does with models. A model is what lists hold, or its id."""

    connection: Connection

    @Call
    async def models(self) -> list[StoredModel]:
        """List all models, newest first."""
        return [stored_model(raw) for raw in await self.connection.items("/models")]

    @Call
    async def model(self, model: str | StoredModel) -> StoredModel:
        """Return one model."""
        return stored_model(await self.connection.ask("GET", path_of(model)))

    @Call
    async def card(self, model: str | StoredModel) -> Json:
        """Return a model's catalogue and card."""
        return await self.connection.ask("GET", path_of(model))

    @Call
    async def curve(self, model: str | StoredModel) -> Json:
        """Return error and spend against budget, from held-out rows."""
        return await self.connection.ask("GET", f"{path_of(model)}/curve")

    @Call
    async def plan(self, model: str | StoredModel, budget: float | None = None) -> Json:
        """Return the purchases that a budget allows, in order; None: unlimited."""
        params = {} if budget is None else {"budget": json.dumps(budget)}
        return await self.connection.ask("GET", f"{path_of(model)}/plan", params=params)

    @Call
    async def monitor(
        self,
        model: str | StoredModel,
        since: date | None = None,
        until: date | None = None,
        bucket: str = "week",
    ) -> Json:
        """Return errors, spend, refusals and drift over time, by day, week or month."""
        span = {"from": since, "to": until}
        params = {name: str(day) for name, day in span.items() if day is not None}
        path = f"{path_of(model)}/monitor"
        return await self.connection.ask(
            "GET", path, params=params | {"bucket": bucket}
        )

    @Call
    async def export(self, model: str | StoredModel) -> bytes:
        """Return MODEL.json, byte for byte as the service has it."""
        return (await self.connection.call("GET", f"{path_of(model)}/export")).content

    @Call
    async def import_model(
        self, document: bytes | Path, *, as_version: bool = False
    ) -> StoredModel:
        """Store a MODEL.json; where its name is taken only `as_version`, the next."""
        text = document.read_bytes() if isinstance(document, Path) else document
        headers = {"Content-Type": "application/json"}
        more = {"params": {"as_version": "true"}} if as_version else {}
        return stored_model(
            await self.connection.ask(
                "POST", "/models", content=text, headers=headers, **more
            )
        )

    @Call
    async def crown_model(self, model: str | StoredModel) -> StoredModel:
        """Make a model the champion: what its name means without a version."""
        path = f"{path_of(model)}/champion"
        return stored_model(await self.connection.ask("PUT", path))

    @Call
    async def dethrone_model(self, model: str | StoredModel) -> None:
        """Make a model no champion any more; its name means the newest version."""
        await self.connection.call("DELETE", f"{path_of(model)}/champion")

    @Call
    async def delete_model(self, model: str | StoredModel) -> None:
        """Delete a model of whose sessions none asks or waits."""
        await self.connection.call("DELETE", path_of(model))


def stored_model(raw: Json) -> StoredModel:
    """Read a model from its document."""
    return StoredModel(**known_fields(StoredModel, raw))


def id_of(model: str | StoredModel) -> str:
    """Return what an address calls a model."""
    return model.id if isinstance(model, StoredModel) else model


def path_of(model: str | StoredModel) -> str:
    """Return a model's address."""
    return address("models", id_of(model))
