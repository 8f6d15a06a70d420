"""Check, enqueue, show and cancel trainings; `training_runs` computes them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

from askless.app.documents.files import model_text
from askless.app.documents.http import trainings as bodies
from askless.app.documents.http.problems import BrokenRule
from askless.app.processes.limited import IsWanted, is_always_wanted
from askless.app.records import StoredJob
from askless.app.service import limits
from askless.app.service.datasets import NamedSource, Upload, make_upload
from askless.app.service.jobs import queue
from askless.app.service.jobs.nouns import JobNoun
from askless.app.store import datasets, jobs, models
from askless.app.store.database.transactions import Transaction
from askless.app.uploads.joined import join_sources
from askless.app.uploads.parsing import (
    JudgedTable,
    TableFacts,
    TableReader,
    TableSource,
)
from askless.core.errors import RefusedError
from askless.core.model.model import Model

NOUN = JobNoun(jobs.TRAININGS, bodies.TrainingWithSpec, "training-finished")
get, page, show, cancel = NOUN.get, NOUN.page, NOUN.show, NOUN.cancel
events, last_step, is_begun = (
    jobs.list_events,
    jobs.get_last_progress,
    jobs.is_training_begun,
)


@dataclass(frozen=True)
class Order:
    """A spec, as it is stored, and the table that was checked with it."""

    document: dict[str, Any]
    table: JudgedTable


def check_training(
    reader: TableReader,
    raw: Mapping[str, Any],
    source: TableSource,
    is_wanted: IsWanted = is_always_wanted,
) -> tuple[Order, TableFacts]:
    """Check a spec and a table; raise RefusedError with every broken rule."""
    table = reader.judge(source, raw, is_wanted)
    return Order(plain_spec(raw), table), table.facts


def check_joined(
    reader: TableReader,
    raw: Mapping[str, Any],
    tables: Sequence[NamedSource],
    is_wanted: IsWanted = is_always_wanted,
) -> tuple[Order, Upload]:
    """Check a spec and the rows of several tables; return the joined table."""
    table, content = join_sources(reader, tables, raw, is_wanted)
    name = " + ".join(named_table.name for named_table in tables)
    upload = make_upload(name, BytesIO(content), table.facts)
    return Order(plain_spec(raw), table), upload


def list_errors(check_order: Callable[[], tuple[Order, object]]) -> bodies.Verdict:
    """Return all errors of a spec and a table instead of raising them."""
    try:
        return bodies.Verdict.of(check_order()[0].table, valid=True, errors=[])
    except RefusedError as error:
        errors = [
            BrokenRule(field=refusal.field, rule=refusal.told)
            for refusal in error.refusals
        ]
        return bodies.Verdict(valid=False, errors=errors)


def plain_spec(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec to store, with floats or texts in place of `Decimal`.

    Amounts have few enough digits for a float; a class that is a number becomes text.
    """
    spec = {key: plain_value(value) for key, value in raw.items()}
    if isinstance(raw.get("positive"), Decimal):
        spec["positive"] = str(raw["positive"])
    return spec


def plain_value(value: Any) -> Any:
    """Return a JSON value with floats in place of `Decimal`, at any depth."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    return value


def start(db: Transaction, order: Order, dataset_id: str, now: datetime) -> StoredJob:
    """Store a training and put it into the queue."""
    limits.check_spec(db, order.table.spec)
    limits.check_training(db)
    datasets.get_locked(db, dataset_id)
    job = StoredJob(
        id=jobs.TRAININGS.make_id(),
        name=order.table.spec.name,
        dataset_id=dataset_id,
        spec=order.document,
        warnings=order.table.warnings,
        created_at=now,
    )
    jobs.enqueue(db, job, now)
    return job


def store_finished(
    db: Transaction, order: Order, dataset_id: str, model: Model, now: datetime
) -> None:
    """Store a training that is done already, with the model that came of it."""
    job = start(db, order, dataset_id, now)
    head = models.insert(db, job.name, model_text(model), now, job.id)
    queue.succeed(db, job, now, head.id)


def explain_name(db: Transaction, name: str) -> str:
    """Return a sentence: what a name means once a training of it made a model."""
    now = models.find_by_name(db, name)
    if now is None:
        return f"{name} will mean the model of this training: there is no other."
    if now.is_champion:
        return (
            f"{name} goes on meaning version {now.version}, its champion. The model of "
            "this training is a new version, found by its number or id, until you make "
            "it the champion."
        )
    return (
        f"{name} means version {now.version} until this training has made its model, "
        "and from then on that new version, since no version is the champion."
    )
