"""Watch the queue: claim a training, and follow it until it ends."""

import secrets
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from logging import INFO, WARNING
from time import monotonic
from typing import Any, Protocol

import sqlalchemy as sa

from askless.app.errors import SupersededError
from askless.app.logs import log
from askless.app.processes.child import ChildLostError
from askless.app.records import StoredJob
from askless.app.service import operations
from askless.app.service.jobs import queue
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from askless.app.worker.computing import INTERRUPTED, utc_now

# Seconds for the step in progress to end, once the worker is to stop.
GRACE_S = 15.0
# Heartbeats after which a training that is to be cancelled is killed.
PATIENCE = 2
FINE = ("succeeded", "cancelled", "released")


class Attempts(Protocol):
    """Makes attempts: `AttemptsChild`, or a double in tests."""

    def revive(self) -> bool: ...
    def begin(self, training: StoredJob) -> None: ...
    def find_outcome(self) -> str | None: ...
    def ask_to_stop(self) -> None: ...
    def kill(self) -> None: ...
    def end(self) -> None: ...


@dataclass
class HeldTraining:
    """A training that this worker has claimed, and since when."""

    training: StoredJob
    began: float = field(default_factory=monotonic)
    #: why its process was killed, if that ends the training
    problem: dict[str, Any] | None = None
    #: heartbeats that saw another attempt under way
    n_misses: int = 0
    #: heartbeats that saw that it is to be cancelled
    n_cancelling: int = 0
    #: what became of the attempt, if that is not yet written
    outcome: str | None = None


@dataclass
class Worker:
    """One worker, and the training that it holds."""

    settings: Settings
    engine: sa.Engine
    attempts: Attempts
    stop: threading.Event
    holder: str = field(default_factory=lambda: f"wrk_{secrets.token_hex(12)}")
    held: HeldTraining | None = None
    is_announced: bool = False
    stopped: float | None = None

    def work(self) -> str | None:
        """Claim a training unless one is held; return its outcome once it has ended."""
        if self.held is None and not (self.is_ready() and self.claim()):
            return None
        assert self.held is not None
        try:
            outcome = self.held.outcome or self.attempts.find_outcome()
        except ChildLostError as lost:
            outcome = self.end_lost_attempt(self.held, lost)
            self.attempts.end()
        if outcome == INTERRUPTED:
            # Kept, so that the next call tries again if the database is still away.
            self.held.outcome = outcome
            self.requeue(self.held)
        if outcome is not None:
            self.release_training(self.held, outcome)
        return outcome

    @property
    def is_done(self) -> bool:
        """Return whether the worker has stopped; otherwise hurry its attempt."""
        if not self.stop.is_set():
            return False
        if self.stopped is None:
            self.stopped = monotonic()
            log("worker.stopping", holder=self.holder)
            if self.held is not None:
                self.attempts.ask_to_stop()
        seconds = monotonic() - self.stopped
        if self.held is not None and seconds > GRACE_S:
            self.attempts.kill()
        # The database may be away: then others notice the silence of this worker.
        return self.held is None or seconds > 2 * GRACE_S

    def is_ready(self) -> bool:
        """Return whether an attempt can begin; start its process if needed."""
        if self.stop.is_set():
            return False
        try:
            is_ready = self.attempts.revive()
        except ChildLostError:
            self.attempts.end()
            raise
        if is_ready and not self.is_announced:
            self.is_announced = True
            log("worker.ready", holder=self.holder)
        return is_ready

    def claim(self) -> bool:
        """Begin an attempt at the next training; return False if none is queued."""
        with transaction(self.engine, None, is_read=True) as db:
            if not queue.is_any_queued(db):
                return False
        with transaction(self.engine, None) as db:
            training = queue.claim(db, self.holder, utc_now())
        if training is None:
            return False
        self.held = HeldTraining(training)
        log("training.running", training_id=training.id, attempt=training.attempt)
        self.attempts.begin(training)
        return True

    def end_lost_attempt(self, attempt: HeldTraining, lost: ChildLostError) -> str:
        """Store what follows from the death of an attempt's process; return the end.

        The end is "failed", "released", "cancelled", "lost" or "superseded".
        """
        most, training = self.settings.max_training_bytes, attempt.training
        log("child.lost", WARNING, code=lost.code)
        if lost.is_out_of_memory and attempt.problem is None:
            attempt.problem = queue.out_of_memory_problem(most)
        try:
            with transaction(self.engine, training.tenant_id) as db:
                if attempt.problem is not None:
                    queue.fail(db, training, attempt.problem, utc_now())
                    return "failed"
                # Whoever stops all processes at once may have stopped that one first.
                if self.stop.is_set() or lost.code == -signal.SIGTERM:
                    queue.release(db, training, utc_now())
                    return "released"
                queue.requeue_lost(db, training, self.settings.max_attempts, utc_now())
                return "cancelled" if attempt.n_cancelling else "lost"
        except SupersededError:
            return "superseded"

    def requeue(self, attempt: HeldTraining) -> None:
        """Return a training to the queue after its attempt lost the database."""
        training = attempt.training
        with (
            suppress(SupersededError),
            transaction(self.engine, training.tenant_id) as db,
        ):
            queue.release(db, training, utc_now())

    def release_training(self, attempt: HeldTraining, outcome: str) -> None:
        self.held = None
        level = INFO if outcome in FINE else WARNING
        log(
            f"training.{outcome}",
            level,
            training_id=attempt.training.id,
            attempt=attempt.training.attempt,
            seconds=round(monotonic() - attempt.began, 3),
        )

    def do_upkeep(self) -> None:
        """Store that the training is worked on, and take over from silent workers."""
        if self.held is not None:
            self.send_heartbeat(self.held)
        timeout_s = self.settings.heartbeat_timeout_s
        with transaction(self.engine, None, is_read=True) as db:
            tenants = queue.silent_tenants(db, timeout_s)
        for tenant_id in tenants:
            with transaction(self.engine, tenant_id) as db:
                swept = queue.requeue_silent(
                    db, timeout_s, self.settings.max_attempts, utc_now()
                )
            for training_id, state in swept:
                log("training.lost", WARNING, training_id=training_id, state=state)

    def report(self) -> None:
        """Store that this worker is alive, busy or not."""
        with transaction(self.engine, None) as db:
            operations.record_heartbeat(
                db, self.holder, self.settings.heartbeat_timeout_s
            )

    def leave(self) -> None:
        """Store that this worker has ended; its silence would say so later."""
        with transaction(self.engine, None) as db:
            operations.leave(db, self.holder)

    def send_heartbeat(self, attempt: HeldTraining) -> None:
        """Store a heartbeat; kill an attempt that is late, cancelled or superseded.

        A single missed heartbeat is ignored: the attempt may just have ended.
        """
        most_s = self.settings.max_training_s
        with transaction(self.engine, attempt.training.tenant_id) as db:
            is_ours = queue.record_heartbeat(db, attempt.training)
            is_late = is_ours and queue.is_overdue(db, attempt.training, most_s)
            attempt.n_cancelling += is_ours and queue.is_cancelling(
                db, attempt.training
            )
        if is_late:
            attempt.problem = queue.time_limit_problem(most_s)
        attempt.n_misses += not is_ours
        if is_late or attempt.n_misses > 1 or attempt.n_cancelling > PATIENCE:
            self.attempts.kill()
