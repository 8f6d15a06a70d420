"""Attempts at trainings and jobs, made in the process that calls them.

Each step is stored in a transaction of its own; none is open while it computes.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module

import sqlalchemy as sa
from sqlalchemy.exc import InternalError, OperationalError

from askless.app.cluster.group import ShardsLostError
from askless.app.cluster.messages import ShardFailedError
from askless.app.errors import BlobGoneError, SupersededError
from askless.app.logs import LOGGER
from askless.app.processes.memory import is_memory_short, limit_memory
from askless.app.records import StoredJob
from askless.app.service.jobs import queue
from askless.app.service.jobs.run import JobRun, Workshop, find_source
from askless.app.service.jobs.shadows import open_shadow
from askless.app.service.jobs.table_runs import open_table_job
from askless.app.service.jobs.training_runs import open_training, resume_training
from askless.app.settings.places import ClusterError, cluster_of_settings
from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from askless.app.store.database.engine import transaction
from askless.app.uploads.parsing import make_reader
from askless.core.errors import RefusedError

# Errors of a database that is away; the last: PostgreSQL accepts no changes now.
AWAY = (OperationalError, InternalError)
CLUSTER = (ClusterError, ShardsLostError, ShardFailedError)
INTERRUPTED = "interrupted"
# Boosting between two checkpoints: what a death costs, and rarely enough that storing
# a step costs nothing beside.
STEP_S = 2.0


def preload_pandas() -> None:
    """Import pandas where it is installed, before a limit of memory begins.

    pyarrow imports it when it first reads a table, and takes a failure for a mistake.
    """
    with suppress(ImportError):
        import_module("pandas")


@dataclass
class Computer:
    """Makes attempts; once `stop` is set, it hands back the one in progress."""

    settings: Settings
    engine: sa.Engine
    blobs: Blobs
    stop: threading.Event
    #: a block that writes nothing, in which SIGTERM may end the process at once
    expendable: Callable[[], AbstractContextManager[object]] = nullcontext
    step_s: float = STEP_S

    def work(self, training: StoredJob) -> str:
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

    def attempt(self, training: StoredJob) -> str:
        """Make an attempt within the memory limit; store why it failed."""
        preload_pandas()
        try:
            with limit_memory(self.settings.max_training_bytes):
                return self.compute(training)
        except (SupersededError, *AWAY):
            raise
        except Exception as error:  # Outermost: it ends this training alone.
            problem = self.explain(training, error)
        with transaction(self.engine, training.tenant_id) as db:
            queue.fail(db, training, problem, utc_now())
        return "failed"

    def explain(self, training: StoredJob, error: Exception) -> queue.Problem:
        """Return the problem that ends a training; log an error that is our mistake."""
        if is_memory_short(error):
            return queue.out_of_memory_problem(self.settings.max_training_bytes)
        if isinstance(error, RefusedError):
            return queue.refused_problem(error)
        if isinstance(error, BlobGoneError):
            return queue.dataset_lost_problem()
        if isinstance(error, CLUSTER):
            return queue.cluster_lost_problem(error)
        fields = {"training_id": training.id}
        LOGGER.error("training.crashed", exc_info=error, extra={"fields": fields})
        return queue.internal_problem()

    def compute(self, job: StoredJob) -> str:
        """Compute a job step by step from where earlier attempts ended."""
        with ExitStack() as opened:
            with self.expendable():
                # A stop before this block is seen here; one inside it ends the process.
                run = None if self.stop.is_set() else self.open(job, opened)
            while run is not None and not self.stop.is_set():
                step = run.pull(self.step_s)
                with transaction(self.engine, job.tenant_id) as db:
                    is_kept = step.store(db, job, utc_now())
                if step.is_last or not is_kept:
                    return "succeeded" if is_kept else "cancelled"
        with transaction(self.engine, job.tenant_id) as db:
            queue.release(db, job, utc_now())
        return "released"

    def open(self, job: StoredJob, opened: ExitStack) -> JobRun:
        """Read a job's table and model, and what earlier attempts have computed.

        `opened` gets the context that frees rows in other processes when it closes.
        """
        settings, reader = self.settings, make_reader(self.settings)
        workshop = Workshop(reader, self.blobs, cluster_of_settings(settings))
        with transaction(self.engine, job.tenant_id, is_read=True) as db:
            source = find_source(db, job)
        # One that stays where it is is read a column at a time, and may be large.
        is_upload = isinstance(source.cells, str)
        with limit_memory(reader.limits.memory_bytes if is_upload else None):
            if job.kind == "shadow":
                return open_shadow(workshop, source, job)
            if job.kind != "train":
                # Earlier attempts leave nothing to resume.
                return opened.enter_context(open_table_job(workshop, source, job))
            work = opened.enter_context(open_training(workshop, source, job))
        with transaction(self.engine, job.tenant_id, is_read=True) as db:
            return resume_training(db, job, work)


def utc_now() -> datetime:
    return datetime.now(UTC)
