"""Find what a model was trained on: its first table, and the cases since."""

from askless.app.errors import ConflictError, NotFoundError
from askless.app.records import ModelHead, StoredJob
from askless.app.service.loop.cases import CaseSpan
from askless.app.store import challenges, datasets, jobs
from askless.app.store.database.transactions import Transaction


def get_origin(db: Transaction, champion: ModelHead) -> tuple[StoredJob, str]:
    """Return a champion's training, and the id of the table that it began with.

    A refresh has trained on that table and on cases, and so may have the one before:
    the first training of them had no cases but those that its table itself has. Raises
    ConflictError where that training or its table is not there.
    """
    origin = first = None
    if champion.training_id is not None:
        origin = jobs.TRAININGS.find(db, champion.training_id)
        first_id = challenges.find_first_training(db, champion.training_id)
        first = jobs.TRAININGS.find(db, first_id)
    if origin is None or first is None:
        detail = f"{champion.name} was not trained here, so its rows are not known."
        raise ConflictError("conflict", detail)
    try:
        return origin, datasets.get(db, first.dataset_id or "").id
    except NotFoundError:
        detail = f"The dataset that {champion.name} was first trained on is deleted."
        raise ConflictError("conflict", detail) from None


def get_trained_until(db: Transaction, head: ModelHead) -> CaseSpan:
    """Return the span of times at which a model's training cases became known.

    What was trained by hand counts as trained on all until then, since its table
    may have been made of them: the span is empty, and ends there.
    """
    challenge = challenges.find_begun_by(db, head.training_id)
    if challenge is not None:
        return CaseSpan(challenge.cases_since, challenge.cut_at)
    training = head.training_id and jobs.find(db, head.training_id)
    begun_at = training.created_at if training else head.created_at
    return CaseSpan(begun_at, begun_at)
