"""Challenges: both models play new cases silently, until one of them is chosen.

A case counts once, with the outcome that it has then. Its losses are stored in the
order counted and never change, whatever becomes of the case: so the same rows give the
same verdict, whoever looks and however often.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from askless.app.errors import NotFoundError
from askless.app.records import Moment
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop.cases import (
    CaseQuery,
    CaseSpan,
    StoredCase,
    find_rows,
    ids_of,
    read_cases,
    read_in_batches,
)
from askless.app.store import challenges, jobs, models, sessions
from askless.app.store.challenges import StoredChallenge, StoredPlay
from askless.app.store.database.transactions import Transaction
from askless.core.arrays import FloatArray
from askless.core.simulation.sequences import count_until_above
from askless.core.simulation.silent_play import ClosedCase, Rivals, play_silently

open_ids, find_newest = challenges.list_open_ids, challenges.find_newest
# A transaction that wrote a case may end later than one that wrote a newer case.
OVERLAP = timedelta(hours=1)
# Cases played between two looks of the rule; reading them takes about a second.
AT_ONCE = 200
# Cases that became known since the last look; of more the newest count.
MOST_NEW = 20_000


class NewCases(NamedTuple):
    """Cases of an open challenge that are not counted yet, and who plays them."""

    challenge: StoredChallenge
    n_before: int
    rivals: Rivals
    #: the one known for the longest time first; one or more
    cases: Sequence[StoredCase]


def read_new_cases(
    db: Transaction, loaded: LoadedModels, challenge_id: str, at: Moment
) -> NewCases | None:
    """Read the next cases to play; None without any, or without a challenger so far.

    Some are left for the next call if there are more than `AT_ONCE`.
    """
    challenge = challenges.get(db, challenge_id)
    challenger_id = challenges.challenger_of(db, challenge)
    if challenger_id is None or challenge.decision is not None:
        return None
    span = CaseSpan(since=challenge.counted_until - OVERLAP)
    champion = models.get_head(db, challenge.champion_id)
    query = CaseQuery(champion, is_by_name=False, span=span, newest=MOST_NEW)
    rows = find_rows(db, query, at)
    new: set[str] = set()
    for batch in read_in_batches(rows):
        new |= challenges.select_new(db, challenge, ids_of(batch))
    rows = [row for row in rows if row.session_id in new][:AT_ONCE]
    cases = [*read_cases(db, loaded, rows, at)]
    if not cases:
        return None
    pair = (
        loaded.get(db, model_id) for model_id in (challenge.champion_id, challenger_id)
    )
    rivals = Rivals(*(model.ensemble for model in pair))
    return NewCases(challenge, challenges.count_plays(db, challenge.id), rivals, cases)


def play_new_cases(new: NewCases) -> list[StoredPlay]:
    """Play both models on cases; it may take long, so no transaction is open."""
    return [play_case(new.rivals, case) for case in new.cases]


def play_case(rivals: Rivals, case: StoredCase) -> StoredPlay:
    """Play both models on a closed case.

    Spends of a session at prices of its own are not compared: the models have others.
    """
    judged = ClosedCase(
        case.model.ensemble.catalogue, case.state, case.outcome.label, case.texts
    )
    played = play_silently(rivals, judged)
    is_priced_alike = case.session.price_list_id is None
    spends = (played.spends if is_priced_alike else None) or (None, None)
    return StoredPlay(case.session.id, *played.losses, *spends)


def store_plays(
    db: Transaction, new: NewCases, played: Sequence[StoredPlay], now: datetime
) -> bool:
    """Store plays, and promote the challenger where the rule says so.

    Returns whether that has ended the challenge. Nothing is stored if another process
    was faster, or if the challenge has ended meanwhile; nor of a case that was erased.
    """
    models.lock_name(db, new.challenge.name)
    challenge = challenges.lock_open(db, new.challenge.name)
    if challenge is None or challenge.id != new.challenge.id:
        return False
    if challenges.count_plays(db, challenge.id) != new.n_before:
        return False
    kept_ids = sessions.lock_unerased(db, [case.session.id for case in new.cases])
    unerased_plays = [play for play in played if play.session_id in kept_ids]
    challenges.add_plays(db, challenge.id, new.n_before + 1, unerased_plays)
    challenges.change(db, challenge.id, counted_until=new.cases[-1].known_at)
    return challenge.is_by_rule and apply_rule(db, challenge, now)


def apply_rule(db: Transaction, challenge: StoredChallenge, now: datetime) -> bool:
    """Promote the challenger of a locked challenge if its rule says so."""
    gaps = list_loss_gaps(challenges.list_plays(db, challenge.id))
    n_seen = count_until_above(gaps, challenge.margin, challenge.alpha)
    challenger_id = challenges.challenger_of(db, challenge)
    if n_seen is None or challenger_id is None:
        return False
    models.crown(db, challenge.name, challenger_id)
    challenges.end_challenge(db, challenge, "promoted", now, rule_after=n_seen)
    return True


def list_loss_gaps(plays: Sequence[StoredPlay]) -> FloatArray:
    """Return the champion's loss minus the challenger's, case by case."""
    gaps = [play.champion_loss - play.challenger_loss for play in plays]
    return np.array(gaps, np.float64)


def is_challenge_open(db: Transaction, challenge: StoredChallenge) -> bool:
    """Return whether a challenge goes on: it has, or will have, a challenger."""
    return challenge.decision is None and not has_failed(db, challenge)


def lacks_challenger(db: Transaction, challenge_id: str) -> bool:
    """Return whether the training of an open challenge has made no model."""
    challenge = challenges.get(db, challenge_id)
    return challenge.decision is None and has_failed(db, challenge)


def has_failed(db: Transaction, challenge: StoredChallenge) -> bool:
    training = jobs.find(db, challenge.training_id)
    return training is None or training.state in ("failed", "cancelled")


def end_failed(db: Transaction, challenge_id: str, now: datetime) -> bool:
    """End an open challenge if its training has made no model; return whether."""
    name = challenges.get(db, challenge_id).name
    models.lock_name(db, name)
    challenge = challenges.lock_open(db, name)
    if challenge is None or not has_failed(db, challenge):
        return False
    challenges.end_challenge(db, challenge, "failed", now)
    return True


def stop_challenge(db: Transaction, key: str, now: datetime) -> None:
    """End the open challenge of a model's name; the champion stays.

    Its training is cancelled if it goes on. Raises NotFoundError without a challenge,
    also if the one found ends meanwhile.
    """
    head = models.get_head(db, key)
    newest = challenges.find_newest(db, head.name)
    if newest is None:
        raise NotFoundError("challenge")
    # Before the name: a training that saves its model has locked itself first.
    training = jobs.get_locked(db, newest.training_id)
    models.lock_name(db, head.name)
    challenge = challenges.lock_open(db, head.name)
    if challenge is None or challenge.id != newest.id:
        raise NotFoundError("challenge")
    jobs.cancel_job(db, training, now)
    challenges.end_challenge(db, challenge, "kept", now)
