"""Refreshes: a champion's training again, on its first table and the cases since.

The model that comes of it is the champion's challenger. Its name goes on meaning the
champion until the challenger is promoted.
"""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from io import BytesIO
from typing import NamedTuple

from askless.app.errors import ConflictError
from askless.app.processes.limited import IsWanted, is_always_wanted
from askless.app.records import ModelHead, Moment, StoredJob
from askless.app.service import datasets, limits
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop.case_tables import make_table, write_table
from askless.app.service.loop.cases import (
    MOST_CASES,
    CaseQuery,
    CaseSpan,
    find_rows,
    read_cases,
)
from askless.app.service.loop.challenges import is_challenge_open
from askless.app.service.loop.origins import get_origin, get_trained_until
from askless.app.store import challenges, jobs, models
from askless.app.store import datasets as stored_datasets
from askless.app.store.blobs import Blobs
from askless.app.store.challenges import StoredChallenge
from askless.app.store.database.transactions import Transaction
from askless.app.store.outcomes import ClosedCaseRow
from askless.app.uploads.joined import NamedSource, join_sources
from askless.app.uploads.parsing import JudgedTable, TableReader

OPEN = "A challenge of {} is open: promote its challenger, or end it, first."


class NoCasesError(ConflictError):
    """There is no case that a champion was not trained on."""


class StatedRule(NamedTuple):
    """When a challenger takes the champion's place, stated before it is trained."""

    alpha: float
    margin: float
    is_by_rule: bool


class RefreshOrder(NamedTuple):
    """A refresh as it is asked for: of the name of a model."""

    key: str
    rule: StatedRule
    #: cases that became known before don't count; None: as for the champion's table
    since: datetime | None = None


class Workplace(NamedTuple):
    """What a refresh is prepared with."""

    loaded: LoadedModels
    reader: TableReader
    blobs: Blobs


@dataclass(frozen=True)
class PreparedRefresh:
    """The table of a refresh, checked with its spec, and not stored yet."""

    champion: ModelHead
    origin: StoredJob
    rule: StatedRule
    table: JudgedTable
    upload: datasets.Upload
    #: how many cases in the table the champion was not trained on
    n_new: int
    #: the cases in the table became known from then on; None: at any time
    cases_since: datetime | None
    #: cases that became known from then on are not in the table
    cut_at: datetime


class BegunRefresh(NamedTuple):
    """A training in the queue, and the challenge that its model takes part in."""

    training: StoredJob
    challenge: StoredChallenge


def prepare_refresh(
    db: Transaction,
    place: Workplace,
    order: RefreshOrder,
    at: Moment,
    is_wanted: IsWanted = is_always_wanted,
) -> PreparedRefresh:
    """Join the champion's first table and the cases since; store nothing.

    All cases are read anew: erased ones are left out, and corrected ones have their
    last label once. The transaction ends before tables are read. Raises NotFoundError
    for an unknown model, ConflictError where there is nothing to train on or a
    challenge is open.
    """
    champion = get_current_model(db, order.key)
    newest = challenges.find_newest(db, champion.name)
    refuse_open(db, newest)
    origin, dataset_id = get_origin(db, champion)
    trained_on = get_trained_until(db, champion)
    span = CaseSpan(order.since or trained_on.since, at.now)
    rows = find_newest_rows(db, champion, span, at)
    n_new = sum(not trained_on.has(row.known_at) for row in rows)
    if not n_new:
        raise NoCasesError(
            "conflict", no_cases_message(champion.name, trained_on, order.since)
        )
    stream, _ = write_table(make_table(read_cases(db, place.loaded, rows, at)))
    name = stored_datasets.get(db, dataset_id).name
    with ExitStack() as stack:
        old = stack.enter_context(datasets.open_source(db, place.blobs, dataset_id))
        stream.seek(0)
        sources = [NamedSource(name, old), NamedSource("cases", stream)]
        table, content = join_sources(place.reader, sources, origin.spec, is_wanted)
    if len(rows) == MOST_CASES:
        word = (
            f"only the newest {MOST_CASES:,} cases of {champion.name} are in the table"
        )
        table = replace(table, warnings=(*table.warnings, word))
    named = f"{champion.name} and cases to {at.now:%Y-%m-%d}"
    upload = datasets.make_upload(named, BytesIO(content), table.facts)
    return PreparedRefresh(
        champion, origin, order.rule, table, upload, n_new, span.since, at.now
    )


def find_newest_rows(
    db: Transaction, champion: ModelHead, span: CaseSpan, at: Moment
) -> list[ClosedCaseRow]:
    """Return the newest `MOST_CASES` cases of a champion's name within a span."""
    if span.since is not None and span.since > at.now:
        return []
    query = CaseQuery(champion, is_by_name=True, span=span, newest=MOST_CASES)
    return find_rows(db, query, at)


def get_current_model(db: Transaction, key: str) -> ModelHead:
    """Return the model that the name of a model means now."""
    named = models.get_head(db, key)
    meant = models.find_by_name(db, named.name)
    assert meant is not None, "there is a model of this name"
    return meant


def refuse_open(db: Transaction, newest: StoredChallenge | None) -> None:
    """Refuse a second challenge; one that has no challenger is no obstacle."""
    if newest is not None and is_challenge_open(db, newest):
        raise ConflictError("conflict", OPEN.format(newest.name))


def no_cases_message(name: str, trained_on: CaseSpan, since: datetime | None) -> str:
    """Say since when no case has become known that a champion was not trained on."""
    first = max(filter(None, (trained_on.until, since)))
    return (
        f"No case of {name} has become known since {first:%Y-%m-%d %H:%M} UTC: there "
        "is nothing new to learn. A case is known once its session is closed and its "
        "outcome is told."
    )


def begin_refresh(
    db: Transaction, blobs: Blobs, refresh: PreparedRefresh, now: datetime
) -> BegunRefresh:
    """Put the training into the queue, and open the challenge of its model.

    The model that the name means becomes its champion, so that the challenger does not
    take the name by being newer. Raises ConflictError if that model is another one by
    now, or if a challenge has been opened meanwhile.
    """
    champion = refresh.champion
    models.lock_name(db, champion.name)
    end_failed_challenge(db, champion.name, now)
    meant = models.find_by_name(db, champion.name)
    if meant is None or meant.id != champion.id:
        detail = f"{champion.name} means another model by now: send the request again."
        raise ConflictError("conflict", detail)
    limits.check_spec(db, refresh.table.spec)
    limits.check_training(db)
    dataset = datasets.store(db, blobs, refresh.upload, now)
    models.crown(db, champion.name, champion.id)
    training = StoredJob(
        id=jobs.TRAININGS.make_id(),
        name=champion.name,
        dataset_id=dataset.id,
        spec=refresh.origin.spec,
        warnings=refresh.table.warnings,
        created_at=now,
    )
    jobs.enqueue(db, training, now)
    challenge = StoredChallenge(
        id=challenges.make_id(),
        name=champion.name,
        champion_id=champion.id,
        training_id=training.id,
        **refresh.rule._asdict(),
        cases_since=refresh.cases_since,
        cut_at=refresh.cut_at,
        created_at=now,
        counted_until=refresh.cut_at,
    )
    challenges.insert(db, challenge)
    return BegunRefresh(training, challenge)


def end_failed_challenge(db: Transaction, name: str, now: datetime) -> None:
    """End a name's challenge without challenger; else raise ConflictError."""
    challenge = challenges.lock_open(db, name)
    refuse_open(db, challenge)
    if challenge is not None:
        challenges.end_challenge(db, challenge, "failed", now)
