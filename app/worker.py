"""The worker: takes trainings from the queue, one at a time, until it is told to stop.

The queue says which attempt to make; whether it may is for our own rows to say. Each
step is a transaction of its own, and none is open while it computes.
"""

import secrets
import signal
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from logging import INFO, WARNING

import sqlalchemy as sa
from dbos import DBOS
from sqlalchemy.exc import OperationalError

from app.errors import SupersededError
from app.logs import LOGGER, configure, log
from app.records import StoredTraining
from app.service import attempts, datasets
from app.settings import Settings
from app.store import queue
from app.store.blobs import Blobs
from app.store.engine import create_engine, transaction
from core.errors import RefusedError
from core.warm import warm_up

POLLING_S = 0.25
# The longest wait for a step to end, beyond which the process is likely to be killed.
STOP_TIMEOUT_S = 30
ORPHANS_EVERY_S = 600.0


def run(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT, then hand back what is not finished."""
    configure()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    engine = create_engine(settings.url)
    client = queue.make_client(settings.url)
    worker = Worker(settings, engine, Blobs(settings.blobs_url), client, stop)
    warm_up()
    DBOS(config=queue.worker_config(settings.url, worker.executor_id))

    @DBOS.workflow(name=queue.WORKFLOW, max_recovery_attempts=None)
    def train(training_id: str, attempt: int) -> str:
        return worker.train(training_id, attempt)

    # Before the launch, which else would notice the queue a second later.
    client.register_queue(
        queue.QUEUE, worker_concurrency=1, polling_interval_sec=POLLING_S
    )
    DBOS.listen_queues([queue.QUEUE])
    DBOS.launch()
    interval_s = settings.heartbeat_timeout_s / 4
    ended = threading.Event()
    threads = [
        threading.Thread(target=repeat, args=(act, every_s, ended), daemon=True)
        for act, every_s in (
            (worker.beat, interval_s),
            (worker.sweep, interval_s),
            (worker.remove_orphans, ORPHANS_EVERY_S),
        )
    ]
    for thread in threads:
        thread.start()
    log("worker.ready", executor_id=worker.executor_id)
    stop.wait()
    log("worker.stopping", executor_id=worker.executor_id)
    # Training goes on to the end of its step, and the heartbeat with it.
    DBOS.destroy(workflow_completion_timeout_sec=STOP_TIMEOUT_S)
    ended.set()
    for thread in threads:
        thread.join()
    client.destroy()
    engine.dispose()
    log("worker.stopped", executor_id=worker.executor_id)


def repeat(act: Callable[[], None], every_s: float, ended: threading.Event) -> None:
    """Act again and again, whatever becomes of it."""
    while True:
        try:
            act()
        except Exception:  # Outermost: a database that is away for a while comes back.
            LOGGER.exception("worker.housekeeping_failed")
        if ended.wait(every_s):
            return


class Worker:
    """What one worker process has, and the attempt that it is at."""

    def __init__(
        self,
        settings: Settings,
        engine: sa.Engine,
        blobs: Blobs,
        client: queue.Queue,
        stop: threading.Event,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.blobs = blobs
        self.client = client
        self.stop = stop
        self.executor_id = f"wrk_{secrets.token_hex(12)}"
        self.current: tuple[str, int] | None = None

    def train(self, training_id: str, attempt: int) -> str:
        """Make an attempt at a training; returns what became of it, and never raises.

        What is left undone, since the database is away, is left to the sweeper.
        """
        started = time.monotonic()
        self.current = (training_id, attempt)
        try:
            outcome = self.attempt(training_id, attempt)
        except SupersededError:
            outcome = "superseded"
        except OperationalError:
            LOGGER.exception("database.away")
            outcome = "interrupted"
        finally:
            self.current = None
        log(
            f"training.{outcome}",
            WARNING if outcome in ("superseded", "interrupted", "failed") else INFO,
            training_id=training_id,
            attempt=attempt,
            seconds=round(time.monotonic() - started, 3),
        )
        return outcome

    def attempt(self, training_id: str, attempt: int) -> str:
        with transaction(self.engine) as db:
            claimed = attempts.claim(db, training_id, attempt, self.executor_id, now())
        if claimed is None:
            return "skipped"
        log("training.running", training_id=training_id, attempt=attempt)
        try:
            return self.compute(claimed)
        except (SupersededError, OperationalError):
            raise
        except RefusedError as error:
            problem = attempts.refused(error)
        except FileNotFoundError:
            problem = attempts.dataset_lost()
        except Exception:  # Outermost: whatever went wrong ends this training alone.
            LOGGER.exception(
                "training.crashed", extra={"fields": {"training_id": training_id}}
            )
            problem = attempts.internal()
        with transaction(self.engine) as db:
            attempts.fail(db, training_id, attempt, problem, now())
        return "failed"

    def compute(self, training: StoredTraining) -> str:
        """Train step by step, from where earlier attempts have come to."""
        training_id, attempt = training.id, training.attempt
        with transaction(self.engine, is_read=True) as db:
            blob = attempts.find_blob(db, training)
        work = attempts.read_work(self.blobs, blob, training)
        with transaction(self.engine, is_read=True) as db:
            run = attempts.resume(db, training, work)
        while True:
            if self.stop.is_set():
                with transaction(self.engine) as db:
                    attempts.release(db, self.client, training_id, attempt, now())
                return "released"
            step = run.pull(self.settings.step_s)
            with transaction(self.engine) as db:
                if step.result is not None:
                    is_kept = attempts.save(
                        db, training_id, attempt, step.result, now()
                    )
                    return "succeeded" if is_kept else "cancelled"
                if not attempts.advance(db, training_id, attempt, step, now()):
                    return "cancelled"

    def beat(self) -> None:
        current = self.current
        if current is not None:
            with transaction(self.engine) as db:
                attempts.beat(db, *current, now())

    def sweep(self) -> None:
        """Take over for workers that have fallen silent."""
        with transaction(self.engine) as db:
            swept = attempts.sweep(
                db,
                self.client,
                now(),
                self.settings.heartbeat_timeout_s,
                self.settings.max_attempts,
            )
        for training_id, state in swept:
            log("training.lost", WARNING, training_id=training_id, state=state)

    def remove_orphans(self) -> None:
        """Remove the uploads that a crash has left without a row."""
        names = datasets.old_blobs(self.blobs, now())
        with transaction(self.engine, is_read=True) as db:
            names = datasets.orphans(db, names)
        for name in names:
            self.blobs.remove(name)
            log("blob.removed", blob=name)


def now() -> datetime:
    return datetime.now(UTC)
