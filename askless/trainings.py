"""Trainings of a service: started, followed, cancelled."""

import json
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askless.connection import Connection, Json, address
from askless.datasets import StoredDataset, form_of
from askless.links import Call
from askless.problems import TrainingFailed
from askless.stored_models import StoredModel, stored_model

Spec = Mapping[str, Any] | str | Path
Table = str | Path | StoredDataset


@dataclass(frozen=True)
class TrainingProgress:
    """How far a training is: `share` from 0 to 1; `part` counts folds and the whole."""

    training_id: str
    state: str
    share: float
    part: int | None = None
    round: int | None = None


Watcher = Callable[[TrainingProgress], None]


class TrainingCalls:
    """What a client does with trainings. A table is a file, or was uploaded before."""

    connection: Connection

    @Call
    async def train(
        self, table: Table, spec: Spec, on_progress: Watcher | None = None
    ) -> StoredModel:
        """Train on a table as a spec says, wait for the model.

        Raises ProblemError where they are refused, TrainingFailed where no model came
        of it. An exception here, Ctrl+C too, does not stop the service: `cancel` does.
        """
        started = await send(self.connection, table, spec)
        return await watch(self.connection, str(started["id"]), on_progress)

    @Call
    async def start_training(self, table: Table, spec: Spec) -> str:
        """Put a training into the queue; return its id."""
        return str((await send(self.connection, table, spec))["id"])

    @Call
    async def validate(self, table: Table, spec: Spec) -> Json:
        """Return all that is wrong with a table and a spec; nothing is stored."""
        return await send(self.connection, table, spec, {"validate_only": "true"})

    @Call
    async def follow(
        self, training_id: str, on_progress: Watcher | None = None
    ) -> StoredModel:
        """Wait for a training's model; where the stream breaks, go on after it."""
        return await watch(self.connection, training_id, on_progress)

    @Call
    async def trainings(self) -> list[Json]:
        """List all trainings, newest first."""
        return await self.connection.items("/train")

    @Call
    async def training(self, training_id: str) -> Json:
        """Return one training with its spec."""
        return await self.connection.ask("GET", address("train", training_id))

    @Call
    async def cancel(self, training_id: str) -> Json:
        """Stop a training; what it has learnt so far is lost."""
        return await self.connection.ask(
            "POST", address("train", training_id, "cancel")
        )


async def send(
    connection: Connection, table: Table, spec: Spec, params: Any = None
) -> Json:
    """Send a table, or the id of one, and a spec."""
    if isinstance(table, StoredDataset):
        order = {**json.loads(spec_bytes(spec)), "dataset_id": table.id}
        return await connection.ask("POST", "/train", json=order, params=params)
    with form_of(Path(table), spec=spec_bytes(spec)) as files:
        return await connection.ask("POST", "/train", files=files, params=params)


async def watch(
    connection: Connection, training_id: str, on_progress: Watcher | None
) -> StoredModel:
    """Return the model that a training ends with."""
    async with aclosing(connection.events(training_id)) as events:
        async for data in events:
            if on_progress is not None:
                on_progress(progress_of(training_id, data))
            if data["state"] in ("failed", "cancelled"):
                error = data.get("error") or {}
                raise TrainingFailed(training_id, data["state"], error)
    return stored_model(await connection.ask("GET", f"/models/{data['model_id']}"))


def progress_of(training_id: str, data: Json) -> TrainingProgress:
    """Read an event's data."""
    place = data.get("part"), data.get("round")
    share, state = float(data["progress"]), str(data["state"])
    return TrainingProgress(training_id, state, share, *place)


def spec_bytes(spec: Spec) -> bytes:
    """Return a spec as it is sent."""
    if isinstance(spec, str | Path):
        return Path(spec).read_bytes()
    return json.dumps(spec, allow_nan=False).encode()
