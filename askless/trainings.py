"""Trainings of a service: started, followed, cancelled."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from askless.connection import Connection, Json, address
from askless.links import Call
from askless.orders import Order, Table, send_order
from askless.problems import TrainingFailed
from askless.stored_models import StoredModel, stored_model


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
        self, table: Table, spec: Order, on_progress: Watcher | None = None
    ) -> StoredModel:
        """Train on a table as a spec says, wait for the model.

        Raises ProblemError where they are refused, TrainingFailed where no model came
        of it. An exception here, Ctrl+C too, does not stop the service: `cancel` does.
        """
        started = await send_order(self.connection, "/train", table, spec=spec)
        return await watch(self.connection, str(started["id"]), on_progress)

    @Call
    async def start_training(self, table: Table, spec: Order) -> str:
        """Put a training into the queue; return its id."""
        return str(
            (await send_order(self.connection, "/train", table, spec=spec))["id"]
        )

    @Call
    async def validate(self, table: Table, spec: Order) -> Json:
        """Return all that is wrong with a table and a spec; nothing is stored."""
        return await send_order(
            self.connection, "/train?validate_only=true", table, spec=spec
        )

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


async def watch(
    connection: Connection, training_id: str, on_progress: Watcher | None
) -> StoredModel:
    """Return the model that a training ends with."""
    async with aclosing(connection.events(address("train", training_id))) as events:
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
