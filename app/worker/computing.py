"""Attempts at trainings and jobs, made in the process that calls them.

Each step is stored in a transaction of its own; none is open while it computes.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.exc import InternalError, OperationalError

from app.cluster.group import ShardsLostError
from app.cluster.messages import ShardFailedError
from app.errors import BlobGoneError, SupersededError
from app.logs import LOGGER
from app.processes.memory import is_memory_short, limited_memory
from app.records import StoredTraining
from app.service import sources
from app.service.jobs import attempts, batches, queue
from app.settings.places import ClusterError, place_of
from app.settings.settings import Settings
from app.store.blobs import Blobs
from app.store.database.engine import transaction
from app.store.database.transactions import Transaction
from app.uploads.parsing import reader_of
from core.errors import RefusedError

# Errors of a database that is away; the last: PostgreSQL accepts no changes now.
AWAY = (OperationalError, InternalError)
CLUSTER = (ClusterError, ShardsLostError, ShardFailedError)
INTERRUPTED = "interrupted"


@dataclass
class Computer:
    """Makes attempts; once `stop` is set, it hands back the one in progress."""

    settings: Settings
    engine: sa.Engine
    blobs: Blobs
    stop: threading.Event
    #: a block that writes nothing, in which SIGTERM may end the process at once
    expendable: Callable[[], AbstractContextManager[object]] = nullcontext

    def work(self, training: StoredTraining) -> str:
        """Make an attempt at a training that is claimed; return what became of it.

        If the database is away, the caller has to hand the training back.
        """
        try:
            return self.attempt(training)
        except SupersededError:
            return "superseded"
        except AWAY:
            LOGGER.exception("database.away")
            return INTERRUPTED

    def attempt(self, training: StoredTraining) -> str:
        try:
            with limited_memory(self.settings.max_training_bytes):
                return self.compute(training)
        except (SupersededError, *AWAY):
            raise
        except Exception as error:  # Outermost: it ends this training alone.
            problem = self.explain(training, error)
        with transaction(self.engine, training.tenant_id) as db:
            queue.fail(db, training, problem, now())
        return "failed"

    def explain(self, training: StoredTraining, error: Exception) -> queue.Problem:
        """Return the problem that ends a training; log a mistake of ours."""
        if is_memory_short(error):
            return queue.out_of_memory(self.settings.max_training_bytes)
        if isinstance(error, RefusedError):
            return queue.refused(error)
        if isinstance(error, BlobGoneError):
            return queue.dataset_lost()
        if isinstance(error, CLUSTER):
            return queue.cluster_lost(error)
        fields = {"training_id": training.id}
        LOGGER.error("training.crashed", exc_info=error, extra={"fields": fields})
        return queue.internal()

    def compute(self, training: StoredTraining) -> str:
        """Compute step by step, after the steps that earlier attempts have stored.

        Stops when the training ends, or hands it back.
        """
        with ExitStack() as opened:
            with self.expendable():
                # A SIGTERM before this block is noticed here; in it, it ends us.
                run = None if self.stop.is_set() else self.open(training, opened)
            while run is not None and not self.stop.is_set():
                step = run.pull(self.settings.step_s)
                with transaction(self.engine, training.tenant_id) as db:
                    outcome = self.store(db, training, step)
                if outcome is not None:
                    return outcome
        with transaction(self.engine, training.tenant_id) as db:
            queue.release(db, training, now())
        return "released"

    def open(
        self, training: StoredTraining, opened: ExitStack
    ) -> attempts.Run | batches.JobRun:
        """Read the table of a training or job, and the steps that are stored.

        `opened` closes what holds rows in other processes.
        """
        whose, reader = training.tenant_id, reader_of(self.settings)
        if training.kind != "train":
            with transaction(self.engine, whose, is_read=True) as db:
                job = batches.find_source(db, training)
            with limited_memory(reader.limits.memory_bytes):
                return batches.read_work(reader, self.blobs, job, training)
        with transaction(self.engine, whose, is_read=True) as db:
            source = sources.find_cells(db, training.dataset_id)
        # A table that was not uploaded is read by columns, and may be large.
        is_upload = isinstance(source, str)
        with limited_memory(reader.limits.memory_bytes if is_upload else None):
            workers = attempts.Workers(place_of(self.settings), self.settings.shards)
            opening = attempts.open_work(reader, self.blobs, source, training, workers)
            work = opened.enter_context(opening)
        with transaction(self.engine, whose, is_read=True) as db:
            return attempts.resume(db, training, work)

    def store(
        self,
        db: Transaction,
        training: StoredTraining,
        step: attempts.TrainedStep | batches.JobStep,
    ) -> str | None:
        """Store a step; return what became of the training, once it has ended."""
        if isinstance(step, batches.JobStep):
            if step.result is None:
                is_kept = batches.advance(db, training, step, now())
                return None if is_kept else "cancelled"
            is_kept = batches.save(db, training, step, now())
        elif step.document is None:
            is_kept = attempts.advance(db, training, step, now())
            return None if is_kept else "cancelled"
        else:
            is_kept = attempts.save(db, training, step.document, now())
        return "succeeded" if is_kept else "cancelled"


def now() -> datetime:
    return datetime.now(UTC)
