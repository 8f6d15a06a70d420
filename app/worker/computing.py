"""Attempts at trainings, made where they are called: in a worker's child.

Each step is a transaction of its own, and none is open while it computes.
"""

import threading
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from app.errors import BlobGoneError, SupersededError
from app.logs import LOGGER
from app.parsing import reader_of
from app.records import StoredTraining
from app.service import attempts, queue
from app.settings import Settings
from app.store.blobs import Blobs
from app.store.engine import transaction
from app.worker.limits import is_memory_short, limited
from core.errors import RefusedError


@dataclass
class Computer:
    """What attempts are made with; `stop` asks the one in progress to hand back."""

    settings: Settings
    engine: sa.Engine
    blobs: Blobs
    stop: threading.Event

    def work(self, training: StoredTraining) -> str:
        """Make an attempt at a training that is claimed; return what became of it.

        What is left undone, since the database is away, is left to the sweep.
        """
        try:
            return self.attempt(training)
        except SupersededError:
            return "superseded"
        except OperationalError:
            LOGGER.exception("database.away")
            return "interrupted"

    def attempt(self, training: StoredTraining) -> str:
        try:
            with limited(self.settings.max_training_bytes):
                return self.compute(training)
        except (SupersededError, OperationalError):
            raise
        except Exception as error:  # Outermost: whatever went wrong ends this alone.
            problem = self.explain(training, error)
        with transaction(self.engine, training.tenant_id) as db:
            queue.fail(db, training, problem, now())
        return "failed"

    def explain(self, training: StoredTraining, error: Exception) -> queue.Problem:
        """Return what ends a training; the log has the place of a mistake of ours."""
        if is_memory_short(error):
            return queue.out_of_memory(self.settings.max_training_bytes)
        if isinstance(error, RefusedError):
            return queue.refused(error)
        if isinstance(error, BlobGoneError):
            return queue.dataset_lost()
        fields = {"training_id": training.id}
        LOGGER.error("training.crashed", exc_info=error, extra={"fields": fields})
        return queue.internal()

    def compute(self, training: StoredTraining) -> str:
        """Train step by step, from where earlier attempts have come to."""
        whose = training.tenant_id
        with transaction(self.engine, whose, is_read=True) as db:
            blob = attempts.find_blob(db, training)
        reader = reader_of(self.settings)
        with limited(reader.limits.memory_bytes):
            checked = attempts.read_work(reader.bounds, self.blobs, blob, training)
        with transaction(self.engine, whose, is_read=True) as db:
            run = attempts.resume(db, training, checked)
        while True:
            if self.stop.is_set():
                with transaction(self.engine, whose) as db:
                    queue.release(db, training, now())
                return "released"
            step = run.pull(self.settings.step_s)
            with transaction(self.engine, whose) as db:
                if step.document is not None:
                    is_kept = attempts.save(db, training, step.document, now())
                    return "succeeded" if is_kept else "cancelled"
                if not attempts.advance(db, training, step, now()):
                    return "cancelled"


def now() -> datetime:
    return datetime.now(UTC)
