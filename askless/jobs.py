"""Jobs of a service: whole tables predicted and measured."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from askless.connection import Connection, Json, address
from askless.links import Call
from askless.orders import Order, Table, send_order
from askless.problems import JobFailed
from askless.stored_models import StoredModel, path_of


@dataclass(frozen=True)
class JobProgress:
    """How far a job is: `share` from 0 to 1."""

    job_id: str
    state: str
    share: float


JobWatcher = Callable[[JobProgress], None]


class JobCalls:
    """What a client does with jobs. A model is what lists hold, or its id.

    An order is such as {"budgets": [20, 60]}; docs/api.md has all of its fields.
    """

    connection: Connection

    @Call
    async def predict_table(
        self, model: str | StoredModel, table: Table, order: Order
    ) -> Json:
        """Put a job into the queue that plays each row of a table under its budget."""
        path = f"{path_of(model)}/predict"
        return await send_order(self.connection, path, table, order=order)

    @Call
    async def evaluate(
        self, model: str | StoredModel, table: Table, order: Order
    ) -> Json:
        """Put a job into the queue that measures a model on labelled rows."""
        path = f"{path_of(model)}/evaluate"
        return await send_order(self.connection, path, table, order=order)

    @Call
    async def follow_job(
        self, job_id: str, on_progress: JobWatcher | None = None
    ) -> Json:
        """Wait for a job's end and return it; raise JobFailed without a result."""
        path = address("jobs", job_id)
        async with aclosing(self.connection.events(path)) as events:
            async for data in events:
                if on_progress is not None:
                    share = float(data["progress"])
                    on_progress(JobProgress(job_id, data["state"], share))
                if data["state"] in ("failed", "cancelled"):
                    raise JobFailed(job_id, data["state"], data.get("error") or {})
        return await self.connection.ask("GET", path)

    @Call
    async def job_result(self, job_id: str, format: str | None = None) -> bytes:
        """Return what a job came to: csv or parquet, of `evaluate` json too."""
        path = address("jobs", job_id, "result")
        params = {} if format is None else {"format": format}
        return (await self.connection.call("GET", path, params=params)).content

    @Call
    async def jobs(self) -> list[Json]:
        """List all jobs, newest first."""
        return await self.connection.items("/jobs")

    @Call
    async def job(self, job_id: str) -> Json:
        """Return one job."""
        return await self.connection.ask("GET", address("jobs", job_id))

    @Call
    async def cancel_job(self, job_id: str) -> Json:
        """Stop a job; what it has done so far is lost."""
        return await self.connection.ask("POST", address("jobs", job_id, "cancel"))

    @Call
    async def delete_job(self, job_id: str) -> None:
        """Delete a job that has ended, and its result; its table stays."""
        await self.connection.call("DELETE", address("jobs", job_id))
