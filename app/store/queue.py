"""The queue of trainings (DBOS): its names, its client, what may be done with it.

The queue's rows are never what a state is read from: those are ours. Each attempt at
a training is a workflow of its own, so that a training is taken over by one
transaction of ours. On SQLite only `enqueue` and reads are safe inside one: all else
of the client writes on a connection of its own and would wait for us for ever.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dbos import DBOSClient, DBOSPortableJSONSerializer
from sqlalchemy.orm import Session

QUEUE = "trainings"
WORKFLOW = "train"
APPLICATION = "askless"
# Pinned: a worker takes only what was enqueued under its own version.
APP_VERSION = "1"

Queue = DBOSClient


def make_client(url: str) -> Queue:
    """Connect to the queue of a database that is migrated."""
    return DBOSClient(
        system_database_url=url,
        serializer=DBOSPortableJSONSerializer(),
        application_name=APPLICATION,
    )


def worker_config(url: str, executor_id: str) -> Any:
    """Give what a worker's process launches the queue with."""
    return {
        "name": APPLICATION,
        "system_database_url": url,
        "executor_id": executor_id,
        "application_version": APP_VERSION,
        "serializer": DBOSPortableJSONSerializer(),
        "run_migrations": False,
        "log_level": "WARNING",
        "max_executor_threads": 4,
    }


def enqueue(client: Queue, db: Session, training_id: str, attempt: int) -> None:
    """Enqueue one attempt at a training within the caller's transaction."""
    client.enqueue_in_transaction(
        db,
        {
            "workflow_name": WORKFLOW,
            "queue_name": QUEUE,
            "workflow_id": workflow_id(training_id, attempt),
            "app_version": APP_VERSION,
        },
        training_id,
        attempt,
    )


def workflow_id(training_id: str, attempt: int) -> str:
    return f"{training_id}.{attempt}"


def taken(client: Queue, workflow_ids: Sequence[str], since: datetime) -> set[str]:
    """Give those of some workflows that a worker took before a time and not ended."""
    if not workflow_ids:
        return set()
    found = client.list_workflows(
        workflow_ids=list(workflow_ids),
        status="PENDING",
        load_input=False,
        load_output=False,
    )
    limit = since.timestamp() * 1000
    return {one.workflow_id for one in found if (one.dequeued_at or limit) < limit}
