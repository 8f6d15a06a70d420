"""List, show, export, import and delete models of a service."""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from askless.client.connection import Connection, Json, join_path, select_known
from askless.client.links import Call


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
    """The client's calls about models; a model is an item of a list, or an id."""

    connection: Connection

    @Call
    async def models(self) -> list[StoredModel]:
        """List all models, newest first."""
        return [
            stored_model(raw) for raw in await self.connection.list_items("/models")
        ]

    @Call
    async def model(self, model: str | StoredModel) -> StoredModel:
        """Return one model."""
        return stored_model(
            await self.connection.request_json("GET", model_path(model))
        )

    @Call
    async def card(self, model: str | StoredModel) -> Json:
        """Return a model's catalogue and card."""
        return await self.connection.request_json("GET", model_path(model))

    @Call
    async def curve(self, model: str | StoredModel) -> Json:
        """Return error and spend against budget, from held-out rows."""
        return await self.connection.request_json("GET", f"{model_path(model)}/curve")

    @Call
    async def plan(
        self,
        model: str | StoredModel,
        budget: float | None = None,
        spend: str | None = None,
    ) -> Json:
        """Return the purchases that a budget allows, in order; None: unlimited.

        `spend` is "worthwhile", the default, or "all", as in the `stop` of a session.
        """
        params = {} if budget is None else {"budget": json.dumps(budget)}
        if spend is not None:
            params["spend"] = spend
        return await self.connection.request_json(
            "GET", f"{model_path(model)}/plan", params=params
        )

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
        path = f"{model_path(model)}/monitor"
        return await self.connection.request_json(
            "GET", path, params=params | {"bucket": bucket}
        )

    @Call
    async def export(self, model: str | StoredModel) -> bytes:
        """Return MODEL.json, byte for byte as the service has it."""
        return (
            await self.connection.request("GET", f"{model_path(model)}/export")
        ).content

    @Call
    async def import_model(
        self, document: bytes | Path, *, as_version: bool = False
    ) -> StoredModel:
        """Store a MODEL.json; `as_version` makes it the next version of its name."""
        text = document.read_bytes() if isinstance(document, Path) else document
        headers = {"Content-Type": "application/json"}
        more = {"params": {"as_version": "true"}} if as_version else {}
        return stored_model(
            await self.connection.request_json(
                "POST", "/models", content=text, headers=headers, **more
            )
        )

    @Call
    async def crown_model(self, model: str | StoredModel) -> StoredModel:
        """Make a model the champion, which its name means without a version."""
        path = f"{model_path(model)}/champion"
        return stored_model(await self.connection.request_json("PUT", path))

    @Call
    async def dethrone_model(self, model: str | StoredModel) -> None:
        """End a model's role as champion; its name then means the newest version."""
        await self.connection.request("DELETE", f"{model_path(model)}/champion")

    @Call
    async def delete_model(self, model: str | StoredModel) -> None:
        """Delete a model without open or waiting sessions."""
        await self.connection.request("DELETE", model_path(model))


def stored_model(raw: Json) -> StoredModel:
    """Read a model from its document."""
    return StoredModel(**select_known(StoredModel, raw))


def model_ref(model: str | StoredModel) -> str:
    """Return the id or name by which a path refers to a model."""
    return model.id if isinstance(model, StoredModel) else model


def model_path(model: str | StoredModel) -> str:
    """Return the path of a model."""
    return join_path("models", model_ref(model))
