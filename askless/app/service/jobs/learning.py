"""Starts jobs by which a model goes on learning; `table_runs` computes them.

Of one name one job learns at a time, so that the next goes on from its version.
"""

from dataclasses import replace
from datetime import datetime

from askless.app.errors import ConflictError
from askless.app.records import ModelHead, StoredJob
from askless.app.service.jobs import table_jobs
from askless.app.service.jobs.table_jobs import JobOrder as JobOrder
from askless.app.service.loaded import LoadedModels
from askless.app.store import jobs, models
from askless.app.store.database.transactions import Transaction
from askless.core.model.model import Model

TURN = (
    "Another job is learning with a version of this name. Send the rows again once it "
    "has ended, or send them together."
)
CHANGED = (
    "The name got a newer version while the rows were checked. Send them again, to go "
    "on from that one."
)


def find_head(db: Transaction, key: str) -> ModelHead:
    """Return the model that rows are learnt on top of.

    An id or `name@version` is that very model; a bare name is its newest version,
    whichever is the champion. Raises NotFoundError.
    """
    return models.get_newest_head(db, key)


def find_model(db: Transaction, loaded: LoadedModels, key: str) -> tuple[str, Model]:
    """Load the model that `find_head` finds; also return its id."""
    head = find_head(db, key)
    loaded.load(db, head.id)
    return head.id, loaded.get(db, head.id)


def start(
    db: Transaction, key: str, order: JobOrder, dataset_id: str, now: datetime
) -> StoredJob:
    """Store a job and put it into the queue.

    Where `key` is a bare name, the job fails if its newest version is another one by
    the end. Raises ConflictError while another job learns with the same name, and where
    the bare name `key` has a newer version than the order was checked for.
    """
    name = models.get_head(db, order.model_id).name
    models.lock_name(db, name)
    if jobs.is_learning(db, name):
        raise ConflictError("conflict", TURN)
    if find_head(db, key).id != order.model_id:
        raise ConflictError("conflict", CHANGED)
    if models.find_one(db, key) is None:
        order = replace(order, raw={**order.raw, "newest": True})
    return table_jobs.start(db, order, dataset_id, now, name)
