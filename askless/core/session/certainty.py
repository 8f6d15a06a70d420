"""Decide whether any further answer can change the prediction."""

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import TIE, raw_classes
from askless.core.session.position import Position
from askless.core.session.probability import (
    FULL_VOTE,
    KNOTS,
    PLAIN,
    apply_link,
    compute_probabilities,
    decide_label,
    uses_vote_shares,
)


def is_vote_certain(position: Position, length: int | None) -> bool:
    """Return whether no answer of the plan can change the vote or the label.

    `length` is that of the plan; None: all affordable features may vote.

    Notes
    -----
    Each open feature that the remaining budget pays contributes the least and the
    greatest of its summed votes over all values and "missing"; trees and products
    contribute theirs one by one. The bounds are exact for stumps of two classes without
    a budget, else conservative: a plan that grows because a feature is missing is
    allowed for. With more classes the winner must keep its lead over each other one, by
    a bound on the difference of the two votes.

    The label is decided from calibrated probabilities. A logit, and the difference of
    two, is linear in the vote, and between two knots in the share known, each for a
    fixed other one: so the corners of the reachable boxes decide.
    """
    ensemble, state = position.ensemble, position.state
    total = float(ensemble.alpha_sums[-1])
    if total == 0:
        return True
    if state.known and set(state.known) & set(state.pending):
        # The result may change a value that counts already.
        return False
    tally = position.tally(length)
    share = tally.known / total
    if ensemble.n_outputs == 1:
        ends = np.array(position.bound(ensemble.paths.votes[:, 0], length))[:, None]
        is_one_vote = len(set(raw_classes(ensemble, ends).tolist())) == 1
        return is_one_vote and is_binary_label_fixed(ensemble, ends, share)
    winner = int(raw_classes(ensemble, tally.votes))
    return is_lead_certain(position, length, winner) and is_label_fixed(
        position, length, tally.votes, share
    )


def is_lead_certain(position: Position, length: int | None, winner: int) -> bool:
    """Return whether the winning class of several stays ahead, whatever the answers.

    If its lead may fall to a tie, the tie must go to the winner.
    """
    ensemble = position.ensemble
    tolerance = TIE * float(ensemble.alpha_sums[-1])
    preference, votes = ensemble.preference.tolist(), ensemble.paths.votes
    for rival in range(ensemble.n_outputs):
        if rival == winner:
            continue
        low, _ = position.bound(votes[:, winner] - votes[:, rival], length)
        is_preferred = preference.index(winner) < preference.index(rival)
        # A lead of up to 2 tolerances is a tie (`raw_classes`); one more for rounding.
        if low < 3 * tolerance and not (is_preferred and low >= -tolerance):
            return False
    return True


def is_binary_label_fixed(ensemble: Ensemble, ends: FloatArray, share: float) -> bool:
    """Return whether all reachable forecasts of two classes have the same label.

    `ends` (2, 1) are the least and the greatest vote, `share` is the least share known.
    """
    knots = reachable_knots(share)
    scores, shares = np.tile(ends, (knots.size, 1)), knots.repeat(2)
    corners = compute_probabilities(ensemble, FULL_VOTE, scores, shares, has_ties=False)
    labels = set(decide_label(ensemble, corners).tolist())
    low, high = ends[:, 0].tolist()
    tolerance = TIE * float(ensemble.alpha_sums[-1])
    if low <= tolerance and high >= -tolerance:
        # A tie, which the priors decide.
        labels.add(int(decide_label(ensemble, ensemble.class_priors)))
    return len(labels) == 1


def is_label_fixed(
    position: Position, length: int | None, votes: FloatArray, share: float
) -> bool:
    """Return whether all reachable forecasts of several classes have the same label.

    They have it if the current label costs less than each other one even at those odds
    of each class against it that favour the other label most. `length` as in
    `is_vote_certain`; `votes` (n_outputs,) and the known `share` are the current ones.
    """
    ensemble = position.ensemble
    if ensemble.error_costs is not None and uses_vote_shares(ensemble, FULL_VOTE):
        # The bounds below are on odds, which shares of votes don't have.
        return False
    share_now = np.array(share)
    now = compute_probabilities(ensemble, FULL_VOTE, votes, share_now, has_ties=False)
    label = int(decide_label(ensemble, now))
    ranges = [
        position.bound(class_votes - ensemble.paths.votes[:, label], length)
        for class_votes in ensemble.paths.votes.T
    ]
    # Unless some class surely stays behind the label, all may tie; the priors decide.
    may_tie = min(high for _, high in ranges) >= -TIE * float(ensemble.alpha_sums[-1])
    if may_tie and int(decide_label(ensemble, ensemble.class_priors)) != label:
        return False
    least, greatest = relative_logits(ensemble, label, np.array(ranges).T, share)
    # Relative to the largest, so that none overflows.
    lows, highs = np.exp(np.array((least, greatest)) - greatest.max())
    costs = 1.0 - np.eye(least.size)
    if ensemble.error_costs is not None:
        costs = np.array(ensemble.error_costs)
    excess = costs - costs[:, [label]]
    smallest = (np.where(excess > 0, lows[:, None], highs[:, None]) * excess).sum(0)
    is_dearer = smallest > least.size * TIE * max(1.0, costs.max()) * highs.sum()
    # The label wins a tie with those that are preferred less.
    rank = np.argsort(ensemble.preference)
    is_tie_won = (smallest >= -TIE * lows.sum()) & (rank >= rank[label])
    return bool((is_dearer | is_tie_won).all())


def relative_logits(
    ensemble: Ensemble, label: int, ends: FloatArray, share: float
) -> tuple[FloatArray, FloatArray]:
    """Return the least and greatest logit of each class, minus that of the label.

    Both results are (n_classes,). `ends` (2, n_classes) are the same differences of
    votes.
    """
    shares = reachable_knots(share)[:, None]
    scores = np.broadcast_to(ends, (shares.size, *ends.shape))
    link = ensemble.calibration_arrays.get(FULL_VOTE, PLAIN)
    corners = apply_link(link, scores, shares)
    # Its own lead over itself is 0, so that only its offset is left.
    corners = corners - corners[..., [label]]
    return corners.min(axis=(0, 1)), corners.max(axis=(0, 1))


def reachable_knots(share: float) -> FloatArray:
    """Return the share known and the knots above it; between them all is linear."""
    return np.array([share, *KNOTS[share < KNOTS]])
