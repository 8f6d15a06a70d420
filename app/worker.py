"""The worker: makes an attempt at one training after another until it is to stop.

Each step is a transaction of its own, and none is open while it computes. Whoever has
nothing to do only reads.
"""

import secrets
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from logging import INFO, WARNING
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from app.errors import BlobGoneError, SupersededError
from app.logs import LOGGER, configure, log
from app.records import StoredTraining
from app.service import attempts, datasets
from app.settings import Settings
from app.store.blobs import Blobs
from app.store.engine import create_engine, transaction
from core.errors import RefusedError
from core.warm import warm_up

POLLING_S = 0.25
# After a failure: a database that is away comes back.
PAUSE_S = 2.0
ORPHANS_EVERY_S = 600.0
# An upload in progress has a blob and no row yet.
ORPHAN_AGE = timedelta(hours=6)


def run(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT, then hand back what is not finished."""
    configure()
    stop, ended = threading.Event(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    engine = create_engine(settings.url)
    worker = Worker(settings, engine, Blobs(settings.blobs_url), stop)
    warm_up()
    # Not in this thread, which is to hear of signals while a kernel runs.
    working, *others = (
        threading.Thread(target=act_every, args=one, daemon=True)
        for one in (
            (worker.work, POLLING_S, stop),
            (worker.keep_house, settings.heartbeat_timeout_s / 4, ended),
            (worker.remove_orphans, ORPHANS_EVERY_S, ended),
        )
    )
    for thread in (working, *others):
        thread.start()
    log("worker.ready", holder=worker.holder)
    stop.wait()
    log("worker.stopping", holder=worker.holder)
    # Training goes on to the end of its step, and the heartbeat with it.
    working.join()
    ended.set()
    for thread in others:
        thread.join()
    engine.dispose()
    log("worker.stopped", holder=worker.holder)


def act_every(
    act: Callable[[], object], every_s: float, ended: threading.Event
) -> None:
    """Act until it has ended: at once after what was of use, else every so often."""
    while not ended.is_set():
        try:
            pause_s = 0.0 if act() else every_s
        except Exception:  # Outermost: the next time it may go well.
            LOGGER.exception("worker.failed")
            pause_s = max(every_s, PAUSE_S)
        ended.wait(pause_s)


@dataclass
class Worker:
    """What one worker process has, and the attempt that it is at."""

    settings: Settings
    engine: sa.Engine
    blobs: Blobs
    stop: threading.Event
    holder: str = field(default_factory=lambda: f"wrk_{secrets.token_hex(12)}")
    current: StoredTraining | None = None

    def work(self) -> str | None:
        """Make an attempt at the next training; None where none is queued.

        Returns what became of it. What is left undone, since the database is away, is
        left to the sweep.
        """
        with transaction(self.engine, None, is_read=True) as db:
            if not attempts.is_any_queued(db):
                return None
        with transaction(self.engine, None) as db:
            training = attempts.claim(db, self.holder, now())
        if training is None:
            return None
        started = time.monotonic()
        fields: dict[str, Any] = {
            "training_id": training.id,
            "attempt": training.attempt,
        }
        log("training.running", **fields)
        self.current = training
        try:
            outcome = self.attempt(training)
        except SupersededError:
            outcome = "superseded"
        except OperationalError:
            LOGGER.exception("database.away")
            outcome = "interrupted"
        finally:
            self.current = None
        level = INFO if outcome in ("succeeded", "cancelled", "released") else WARNING
        seconds = round(time.monotonic() - started, 3)
        log(f"training.{outcome}", level, **fields, seconds=seconds)
        return outcome

    def attempt(self, training: StoredTraining) -> str:
        try:
            return self.compute(training)
        except (SupersededError, OperationalError):
            raise
        except RefusedError as error:
            problem = attempts.refused(error)
        except BlobGoneError:
            problem = attempts.dataset_lost()
        except Exception:  # Outermost: whatever went wrong ends this training alone.
            LOGGER.exception(
                "training.crashed", extra={"fields": {"training_id": training.id}}
            )
            problem = attempts.internal()
        with transaction(self.engine, training.tenant_id) as db:
            attempts.fail(db, training, problem, now())
        return "failed"

    def compute(self, training: StoredTraining) -> str:
        """Train step by step, from where earlier attempts have come to."""
        whose = training.tenant_id
        with transaction(self.engine, whose, is_read=True) as db:
            blob = attempts.find_blob(db, training)
        checked = attempts.read_work(self.blobs, blob, training)
        with transaction(self.engine, whose, is_read=True) as db:
            run = attempts.resume(db, training, checked)
        while True:
            if self.stop.is_set():
                with transaction(self.engine, whose) as db:
                    attempts.release(db, training, now())
                return "released"
            step = run.pull(self.settings.step_s)
            with transaction(self.engine, whose) as db:
                if step.document is not None:
                    is_kept = attempts.save(db, training, step.document, now())
                    return "succeeded" if is_kept else "cancelled"
                if not attempts.advance(db, training, step, now()):
                    return "cancelled"

    def keep_house(self) -> None:
        """Write that this worker is alive, and take over from silent ones."""
        current = self.current
        if current is not None:
            with transaction(self.engine, current.tenant_id) as db:
                attempts.beat(db, current)
        timeout_s = self.settings.heartbeat_timeout_s
        with transaction(self.engine, None, is_read=True) as db:
            tenants = attempts.silent_tenants(db, timeout_s)
        for tenant_id in tenants:
            with transaction(self.engine, tenant_id) as db:
                swept = attempts.sweep(db, timeout_s, self.settings.max_attempts, now())
            for training_id, state in swept:
                log("training.lost", WARNING, training_id=training_id, state=state)

    def remove_orphans(self) -> None:
        """Remove the uploads that a crash has left without a row."""
        names = list(self.blobs.names(before=now() - ORPHAN_AGE))
        with transaction(self.engine, None, is_read=True) as db:
            named = datasets.named_blobs(db, names)
        for name in names:
            if name not in named:
                self.blobs.remove(name)
                log("blob.removed", blob=name)


def now() -> datetime:
    return datetime.now(UTC)
