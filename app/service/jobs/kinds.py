"""The kinds of jobs, and what a worker does for each.

All that apply a model to a table are done alike: `app.batch.kinds` has their entries.
"""

from app.batch.kinds import TABLE_KINDS
from app.service.jobs.run import JobKindWork
from app.service.jobs.table_runs import begin_table_job, open_table_job
from app.service.jobs.training_runs import open_training, resume

TRAINING = JobKindWork(open_training, resume)
TABLE_JOB = JobKindWork(open_table_job, begin_table_job)


def work_of(kind: str) -> JobKindWork:
    """Return what a worker does for jobs of a kind."""
    if kind == "train":
        return TRAINING
    assert kind in TABLE_KINDS, "a stored job is of a kind that is known"
    return TABLE_JOB
