"""Functions by which a worker computes each kind of job.

Kinds that apply a model to a table share one; `askless.app.batch.kinds` tells them
apart.
"""

from askless.app.batch.kinds import TABLE_KINDS
from askless.app.service.jobs.run import JobKindWork
from askless.app.service.jobs.table_runs import begin_table_job, open_table_job
from askless.app.service.jobs.training_runs import open_training, resume

TRAINING = JobKindWork(open_training, resume)
TABLE_JOB = JobKindWork(open_table_job, begin_table_job)


def work_for(kind: str) -> JobKindWork:
    """Return the functions by which a worker computes jobs of a kind."""
    if kind == "train":
        return TRAINING
    assert kind in TABLE_KINDS, "a stored job is of a kind that is known"
    return TABLE_JOB
