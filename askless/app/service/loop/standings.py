"""The standing of a challenge: differences, bounds and a sentence."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askless.app.documents.http import challenges as bodies
from askless.app.errors import NotFoundError
from askless.app.records import ChallengeState, ModelHead
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop.challenges import list_loss_gaps
from askless.app.store import challenges, models
from askless.app.store.challenges import StoredChallenge, StoredPlay
from askless.app.store.database.transactions import Transaction
from askless.app.words.challenges import GapSoFar, describe_ending, describe_loss_gap
from askless.core.arrays import FloatArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import total_cost
from askless.core.simulation.sequences import bound_mean_gaps, count_until_above

MOST_LOOKS = 60


class BoundedGaps(NamedTuple):
    """Gaps of losses, and bounds of their mean after some numbers of cases."""

    gaps: FloatArray
    n_seen: Sequence[int]
    bounds: FloatArray
    better_after: int | None


def show_challenge(db: Transaction, loaded: LoadedModels, key: str) -> bodies.Challenge:
    """Return a name's open or last challenge; raise NotFoundError."""
    head = models.get_head(db, key)
    challenge = challenges.find_newest(db, head.name)
    if challenge is None:
        raise NotFoundError("challenge")
    champion = models.get_deleted_too(db, challenge.champion_id)
    catalogue = loaded.get(db, champion.id).ensemble.catalogue
    challenger_id = challenges.challenger_of(db, challenge)
    challenger: ModelHead | None = None
    catalogues = [catalogue]
    if challenger_id is not None:
        challenger = models.get_deleted_too(db, challenger_id)
        catalogues.append(loaded.get(db, challenger_id).ensemble.catalogue)
    plays = challenges.list_plays(db, challenge.id)
    gaps = bound_losses(challenge, plays)
    return bodies.Challenge.of(
        challenge,
        state=state_of_challenge(challenge, challenger_id),
        champion_version=champion.version,
        challenger=challenger_id,
        challenger_version=None if challenger is None else challenger.version,
        rule=rule_of_challenge(challenge),
        cases=len(plays),
        better_after=gaps.better_after,
        loss=compare_losses(plays, gaps) if plays else None,
        spend=compare_spends(plays, catalogues, challenge.alpha),
        unit=catalogue.cost_unit,
        looks=list_looks(gaps),
        decision=decision_of_challenge(db, challenge),
        verdict=describe_verdict(challenge, challenger_id, gaps),
    )


def state_of_challenge(
    challenge: StoredChallenge, challenger_id: str | None
) -> ChallengeState:
    if challenge.decision is not None:
        return "ended"
    return "training" if challenger_id is None else "playing"


def rule_of_challenge(challenge: StoredChallenge) -> bodies.PromotionRule:
    return bodies.PromotionRule(
        alpha=challenge.alpha,
        margin=challenge.margin,
        promote="by_rule" if challenge.is_by_rule else "by_person",
    )


def bound_losses(
    challenge: StoredChallenge, plays: Sequence[StoredPlay]
) -> BoundedGaps:
    """Return the bounds after at most `MOST_LOOKS` numbers of cases, all at the end."""
    gaps = list_loss_gaps(plays)
    n_looks = min(gaps.size, MOST_LOOKS)
    n_seen = np.rint(np.linspace(0, gaps.size, n_looks + 1)).astype(np.int64)[1:]
    bounds = bound_mean_gaps(gaps, n_seen, challenge.alpha)
    crossing = count_until_above(gaps, challenge.margin, challenge.alpha)
    return BoundedGaps(gaps, n_seen.tolist(), bounds, crossing)


def compare_losses(
    plays: Sequence[StoredPlay], gaps: BoundedGaps
) -> bodies.ComparedLosses:
    low, high = gaps.bounds[-1].tolist()
    return bodies.ComparedLosses(
        champion=float(np.mean([play.champion_loss for play in plays])),
        challenger=float(np.mean([play.challenger_loss for play in plays])),
        difference=bodies.Gap(value=float(gaps.gaps.mean()), interval=(low, high)),
    )


def compare_spends(
    plays: Sequence[StoredPlay], catalogues: Sequence[Catalogue], alpha: float
) -> bodies.ComparedSpends | None:
    """Return mean spends on the cases that have them; None without any.

    Two spends differ by at most what everything costs, which the bounds need to know
    beforehand.
    """
    pairs = [
        (play.champion_spent, play.challenger_spent)
        for play in plays
        if play.champion_spent is not None and play.challenger_spent is not None
    ]
    if not pairs:
        return None
    spends = np.array(pairs, np.int64)
    most = max(1, *map(total_cost, catalogues))
    gaps = (spends[:, 0] - spends[:, 1]) / most
    ((low, high),) = most * bound_mean_gaps(gaps, np.array([len(gaps)]), alpha)
    first, other = np.rint(spends.mean(axis=0)).astype(np.int64).tolist()
    middle = int(np.rint(most * gaps.mean()))
    interval = (int(np.floor(low)), int(np.ceil(high)))
    return bodies.ComparedSpends(
        cases=len(pairs),
        share=len(pairs) / len(plays),
        champion=first,
        challenger=other,
        difference=bodies.UnitGap(value=middle, interval=interval),
    )


def list_looks(gaps: BoundedGaps) -> list[bodies.ChallengeLook]:
    sums = np.cumsum(gaps.gaps)
    return [
        bodies.ChallengeLook(
            cases=n_cases,
            difference=float(sums[n_cases - 1] / n_cases),
            low=low,
            high=high,
        )
        for n_cases, (low, high) in zip(gaps.n_seen, gaps.bounds.tolist(), strict=True)
    ]


def decision_of_challenge(
    db: Transaction, challenge: StoredChallenge
) -> bodies.ChallengeDecision | None:
    if challenge.decision is None:
        return None
    return bodies.ChallengeDecision.of(
        outcome=challenge.decision,
        at=challenge.decided_at,
        cases=challenge.n_decided,
        by_rule=bool(challenge.was_by_rule),
        by=challenges.find_decider_name(db, challenge),
    )


def describe_verdict(
    challenge: StoredChallenge, challenger_id: str | None, gaps: BoundedGaps
) -> str:
    """Return one sentence about where the challenge stands, two once it has ended."""
    sentences = []
    if challenge.decision is not None:
        sentences.append(describe_ending(challenge.decision, challenge.n_decided or 0))
    elif challenger_id is None:
        sentences.append("The challenger is being trained.")
    if gaps.gaps.size:
        low, high = gaps.bounds[-1].tolist()
        value, margin = float(gaps.gaps.mean()), challenge.margin
        gap = GapSoFar(gaps.gaps.size, value, low, high, margin, gaps.better_after)
        sentences.append(describe_loss_gap(gap))
    elif challenge.decision is None and challenger_id is not None:
        since = f"{challenge.cut_at:%Y-%m-%d %H:%M} UTC"
        sentences.append(
            f"Nothing is compared yet: cases count that began after {since}, are "
            "closed and have an outcome."
        )
    return " ".join(sentences)
