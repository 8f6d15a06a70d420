"""Jobs of a service: trainings, and whole tables predicted and measured.

A table is a file, or was uploaded before. A model is what lists hold, or its id.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askless.client.connection import Connection, Json, join_path, to_python
from askless.client.datasets import StoredDataset, open_form
from askless.client.links import Call
from askless.client.problems import JobFailed, TrainingFailed
from askless.stored_models import StoredModel, model_path, stored_model

#: A table is a file, or was uploaded before; a training takes several of these.
Table = str | Path | StoredDataset | Sequence[StoredDataset]
#: A spec or another order: a mapping, or a file of JSON.
Order = Mapping[str, Any] | str | Path


async def send_order(
    connection: Connection, path: str, table: Table, **parts: Order
) -> Json:
    """Send a table, or ids, with one order, a keyword named as its form part."""
    # Exactly one keyword is passed.
    ((name, order),) = parts.items()
    text = encode_order(order)
    if not isinstance(table, str | Path):
        raw = json.loads(text, object_pairs_hook=build_distinct)
        if isinstance(table, StoredDataset):
            body = {**raw, "dataset_id": table.id}
        else:
            body = {**raw, "datasets": [dataset.id for dataset in table]}
        return await connection.request_json("POST", path, json=body)
    with open_form(Path(table), **{name: text}) as files:
        return await connection.request_json("POST", path, files=files)


def encode_order(order: Order) -> bytes:
    """Return an order as the bytes of its JSON."""
    if isinstance(order, str | Path):
        return Path(order).read_bytes()
    return json.dumps(order, allow_nan=False).encode()


def build_distinct(pairs: list[tuple[str, Any]]) -> Json:
    """Build a JSON object; raise ValueError where a field stands twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in fields if names.count(name) > 1)
        raise ValueError(f"{twice}: must stand once in its object")
    return fields


@dataclass(frozen=True)
class JobProgress:
    """Progress of a job: `share` from 0 to 1."""

    job_id: str
    state: str
    share: float


@dataclass(frozen=True)
class TrainingProgress:
    """Progress of a training: `share` is 0 to 1; `part` counts folds, then all rows."""

    training_id: str
    state: str
    share: float
    part: int | None = None
    round: int | None = None


JobWatcher = Callable[[JobProgress], None]
Watcher = Callable[[TrainingProgress], None]


class JobCalls:
    """The client's calls about jobs; a training is a job that makes a model.

    An order to predict or evaluate is such as {"budgets": [20, 60]}; docs/api.md has
    all of its fields.
    """

    connection: Connection

    @Call
    async def train(
        self, table: Table, spec: Order, on_progress: Watcher | None = None
    ) -> StoredModel:
        """Train on a table, or the rows of several, and wait for the model.

        Raises ProblemError where they are refused, TrainingFailed where no model came
        of it. An exception here, Ctrl+C too, does not stop the service: `cancel` does.
        """
        started = await send_order(self.connection, "/train", table, spec=spec)
        return await wait_for_model(self.connection, str(started["id"]), on_progress)

    @Call
    async def start_training(self, table: Table, spec: Order) -> str:
        """Queue a training; return its id."""
        started = await send_order(self.connection, "/train", table, spec=spec)
        return str(started["id"])

    @Call
    async def validate(self, table: Table, spec: Order) -> Json:
        """Return all that is wrong with a table and a spec; nothing is stored."""
        path = "/train?validate_only=true"
        return await send_order(self.connection, path, table, spec=spec)

    @Call
    async def follow(
        self, training_id: str, on_progress: Watcher | None = None
    ) -> StoredModel:
        """Wait for a training's model; resume its event stream where that breaks."""
        return await wait_for_model(self.connection, training_id, on_progress)

    @Call
    async def trainings(self) -> list[Json]:
        """List all trainings, newest first."""
        return await self.connection.list_items("/train")

    @Call
    async def training(self, training_id: str) -> Json:
        """Return one training with its spec."""
        return await self.connection.request_json(
            "GET", join_path("train", training_id)
        )

    @Call
    async def cancel(self, training_id: str) -> Json:
        """Stop a training; what it has learnt so far is lost."""
        path = join_path("train", training_id, "cancel")
        return await self.connection.request_json("POST", path)

    @Call
    async def predict_table(
        self, model: str | StoredModel, table: Table, order: Order
    ) -> Json:
        """Queue a job that predicts each row of a table under its budget."""
        path = f"{model_path(model)}/predict"
        return await send_order(self.connection, path, table, order=order)

    @Call
    async def evaluate(
        self, model: str | StoredModel, table: Table, order: Order
    ) -> Json:
        """Queue a job that measures a model on labelled rows."""
        path = f"{model_path(model)}/evaluate"
        return await send_order(self.connection, path, table, order=order)

    @Call
    async def learn(
        self,
        model: str | StoredModel,
        table: Table | None = None,
        rows: Sequence[Mapping[str, Any]] | None = None,
        *,
        accept_unseen: bool = False,
    ) -> Json:
        """Queue a job that goes on learning from labelled rows; return it.

        The rows are a table, or mappings such as {"age": 63, "disease": "1"}. Most
        cells of a column may be unknown categories only with `accept_unseen`. Its
        `result` has the `model_id` of the next version; `follow_job` waits for it.
        """
        order = {"accept_unseen": True} if accept_unseen else {}
        path = f"{model_path(model)}/learn"
        if (table is None) == (rows is None):
            raise ValueError("rows: must be given, or else table, and not both")
        if table is not None:
            return await send_order(self.connection, path, table, order=order)
        assert rows is not None, "there is no table"
        cells = [
            {name: to_python(value) for name, value in row.items()} for row in rows
        ]
        return await self.connection.request_json(
            "POST", path, json={"rows": cells, **order}
        )

    @Call
    async def follow_job(
        self, job_id: str, on_progress: JobWatcher | None = None
    ) -> Json:
        """Wait for a job's end and return it; raise JobFailed without a result."""

        def watch(event: Json) -> None:
            if on_progress is not None:
                share = float(event["progress"])
                on_progress(JobProgress(job_id, event["state"], share))

        path = "jobs", job_id
        await follow_job_to_end(self.connection, path, watch, JobFailed)
        return await self.connection.request_json("GET", join_path(*path))

    @Call
    async def job_result(self, job_id: str, format: str | None = None) -> bytes:
        """Return a job's result as csv or parquet; for `evaluate` also as json.

        Cells are as they were sent: a spreadsheet may run some of them as formulas.
        """
        path = join_path("jobs", job_id, "result")
        params = {"raw": "true"} | ({} if format is None else {"format": format})
        return (await self.connection.request("GET", path, params=params)).content

    @Call
    async def jobs(self) -> list[Json]:
        """List all jobs that predict or measure tables, newest first."""
        return await self.connection.list_items("/jobs")

    @Call
    async def job(self, job_id: str) -> Json:
        """Return one job."""
        return await self.connection.request_json("GET", join_path("jobs", job_id))

    @Call
    async def cancel_job(self, job_id: str) -> Json:
        """Stop a job; what it has done so far is lost."""
        return await self.connection.request_json(
            "POST", join_path("jobs", job_id, "cancel")
        )

    @Call
    async def delete_job(self, job_id: str) -> None:
        """Delete a job that has ended, and its result; its table stays."""
        await self.connection.request("DELETE", join_path("jobs", job_id))


async def wait_for_model(
    connection: Connection, training_id: str, on_progress: Watcher | None
) -> StoredModel:
    """Wait for a training's end and return its model."""

    def watch(event: Json) -> None:
        if on_progress is not None:
            on_progress(read_progress(training_id, event))

    path = "train", training_id
    last = await follow_job_to_end(connection, path, watch, TrainingFailed)
    return stored_model(
        await connection.request_json("GET", f"/models/{last['model_id']}")
    )


async def follow_job_to_end(
    connection: Connection,
    path: tuple[str, str],
    watch: Callable[[Json], None],
    failure: type[JobFailed],
) -> Json:
    """Follow a job's events and return the last; raise `failure` if it failed."""
    async with aclosing(connection.follow_events(join_path(*path))) as events:
        async for event in events:
            watch(event)
            if event["state"] in ("failed", "cancelled"):
                raise failure(path[1], event["state"], event.get("error") or {})
    return event


def read_progress(training_id: str, event: Json) -> TrainingProgress:
    """Read a training's progress from one of its events."""
    place = event.get("part"), event.get("round")
    share, state = float(event["progress"]), str(event["state"])
    return TrainingProgress(training_id, state, share, *place)
