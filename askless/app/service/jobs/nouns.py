"""List, show and cancel trainings and other jobs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from askless.app.documents.shape import Answer
from askless.app.errors import ConflictError
from askless.app.records import FINAL_STATES, Page, StoredJob
from askless.app.service.jobs.queue import estimate_progress
from askless.app.store import jobs
from askless.app.store.database.rows import StoredRows
from askless.app.store.database.transactions import Transaction

S = TypeVar("S", bound=Answer)


@dataclass(frozen=True)
class JobNoun(Generic[S]):
    """Jobs that users know by one noun: trainings, or other jobs.

    `shown` is the body of one job; `conflict` the problem of cancelling an ended one.
    """

    rows: StoredRows[StoredJob]
    shown: type[S]
    conflict: str

    def get(self, db: Transaction, job_id: str) -> StoredJob:
        return self.rows.get(db, job_id)

    def page(self, db: Transaction, limit: int, after: str | None) -> Page[StoredJob]:
        """Return a page of jobs, newest first."""
        return self.rows.page(db, limit, after)

    def show(self, db: Transaction, job_id: str, now: datetime) -> S:
        """Return a job with its place in the queue and its expected end."""
        job = self.rows.get(db, job_id)
        return self.shown.of(job, **estimate_progress(db, job, now))

    def cancel(self, db: Transaction, job_id: str, now: datetime) -> StoredJob:
        """Cancel a queued or running job; raise ConflictError for an ended one."""
        job = self.rows.get_locked(db, job_id)
        if job.state in FINAL_STATES:
            detail = f"The {self.rows.noun} has {job.state}: it can't be cancelled now."
            if job.state == "cancelled":
                detail = f"The {self.rows.noun} is cancelled already."
            raise ConflictError(self.conflict, detail)
        jobs.cancel_job(db, job, now)
        return self.rows.get(db, job_id)
