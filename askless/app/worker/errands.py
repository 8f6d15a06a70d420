"""Housekeeping of a worker, in a child process of its own, since it may wait long.

Ages are measured by the clock of the database: those of machines may differ.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from multiprocessing.connection import Connection

import sqlalchemy as sa

from askless.app.logs import LOGGER, log
from askless.app.processes.child import FORK, Child
from askless.app.records import Moment
from askless.app.service import datasets, keys, operations, retries, sessions
from askless.app.service.jobs import table_jobs
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop import challenges
from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from askless.app.store.database.engine import create_engine, empty_log, transaction
from askless.app.store.database.transactions import Transaction
from askless.app.worker.attempts_child import stop_on_sigterm
from askless.app.worker.chores import Chore

TURN_S = 1.0
# For the errand in progress, once the worker is to end.
GRACE_S = 3.0
ORPHANS_EVERY_S = 600.0
RETENTION_EVERY_S = 600.0
EMPTYING_EVERY_S = 60.0
ANSWERS_EVERY_S = 60.0
PLAYS_EVERY_S = 2.0
# An upload in progress has a blob and no row yet.
ORPHAN_AGE = timedelta(hours=6)
# Age of an answer under its `Idempotency-Key`: nobody repeats a request later.
ANSWER_AGE = timedelta(days=1)
# A query names each; a database accepts some ten thousand names in one query.
ORPHANS_AT_A_TIME = 1000


def run_errands(channel: Connection, settings: Settings) -> None:
    """Run errands in the child until the worker ends it."""
    del channel
    stop = stop_on_sigterm()
    blobs = Blobs(settings.blobs_url)
    engine = create_engine(settings.url, 1)
    errands = Errands(engine, blobs, settings)
    chores = [
        Chore(errands.remove_orphans, ORPHANS_EVERY_S),
        Chore(errands.erase_old, RETENTION_EVERY_S),
        Chore(errands.delete_old_answers, ANSWERS_EVERY_S),
        Chore(errands.empty_log, EMPTYING_EVERY_S),
        Chore(errands.play_challenges, PLAYS_EVERY_S),
    ]
    while not stop.is_set():
        for chore in chores:
            chore.run_if_due()
        stop.wait(TURN_S)


@dataclass
class ErrandsChild:
    """The process that runs errands, and its successors."""

    settings: Settings
    #: closes what the child must not inherit
    prepare: Callable[[], None]
    child: Child | None = None

    def revive(self) -> None:
        """Start the process unless it lives."""
        if self.child is None or not self.child.is_alive:
            self.prepare()
            self.child = Child.start(FORK, run_errands, self.settings)

    def end(self) -> None:
        """End the process; kill it if it does not end in time."""
        if self.child is not None:
            self.child.process.terminate()
            self.child.process.join(GRACE_S)
            self.child.end()


@dataclass
class Errands:
    """The errands of a worker, each a method."""

    engine: sa.Engine
    blobs: Blobs
    settings: Settings
    loaded: LoadedModels = field(default_factory=LoadedModels)

    def delete_old_answers(self) -> None:
        """Delete stored answers to requests that are too old to be repeated."""
        longest_age = ANSWER_AGE
        with transaction(self.engine, None) as db:
            before = operations.read_clock(db) - longest_age
            n_forgotten = retries.forget_before(db, before)
        if n_forgotten:
            log("answers.forgotten", count=n_forgotten)

    def remove_orphans(self) -> None:
        """Remove uploads that a crash has left without a row in the database."""
        with transaction(self.engine, None, is_read=True) as db:
            before = operations.read_clock(db) - ORPHAN_AGE
        old = self.blobs.names(before)
        while names := list(islice(old, ORPHANS_AT_A_TIME)):
            with transaction(self.engine, None, is_read=True) as db:
                named = datasets.named_blobs(db, names) | table_jobs.named_blobs(
                    db, names
                )
            for name in names:
                if name not in named:
                    self.blobs.remove(name)
                    log("blob.removed", blob=name)

    def erase_old(self) -> None:
        """Erase the sessions that are older than their tenants keep them."""
        with transaction(self.engine, None, is_read=True) as db:
            retentions, at = keys.retentions(db), self.read_moment(db)
        for tenant_id, days in retentions.items():
            with transaction(self.engine, tenant_id) as db:
                n_erased = sessions.erase_old(db, at, timedelta(days=days))
            if n_erased:
                log("sessions.erased", tenant_id=tenant_id, sessions=n_erased)

    def play_challenges(self) -> None:
        """Play champions and challengers on the next cases; promote by stated rules."""
        with transaction(self.engine, None, is_read=True) as db:
            open_challenges = challenges.open_ids(db)
        for tenant_id, challenge_id in open_challenges:
            try:
                self.play_challenge(tenant_id, challenge_id)
            except Exception:  # Outermost of this challenge: others go on without it.
                fields = {"tenant_id": tenant_id, "challenge_id": challenge_id}
                LOGGER.exception("challenge.failed", extra={"fields": fields})

    def play_challenge(self, tenant_id: str, challenge_id: str) -> None:
        """Count the next cases of one challenge; end it if it has no challenger."""
        # Playing takes no write lock, which answers to sessions may wait for.
        with transaction(self.engine, tenant_id, is_read=True) as db:
            at = self.read_moment(db)
            has_failed = challenges.lacks_challenger(db, challenge_id)
            new = challenges.read_new_cases(db, self.loaded, challenge_id, at)
        if not has_failed and new is None:
            return
        # Outside of a transaction: PostgreSQL ends one that stands still for long.
        played = [] if new is None else challenges.play_new_cases(new)
        with transaction(self.engine, tenant_id) as db:
            if new is None:
                ended = challenges.end_failed(db, challenge_id, at.now)
            else:
                ended = challenges.store_plays(db, new, played, at.now)
        if ended:
            log("challenge.ended", tenant_id=tenant_id, challenge_id=challenge_id)

    def read_moment(self, db: Transaction) -> Moment:
        """Return the database's time, and how long sessions may be idle."""
        return self.settings.moment_at(operations.read_clock(db))

    def empty_log(self) -> None:
        """Empty the log of the database, so that erased values are gone."""
        empty_log(self.engine)
