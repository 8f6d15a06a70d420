"""When a session should stop although more could be asked."""

from __future__ import annotations

import numpy as np

from core import kernels
from core.arrays import FloatArray
from core.model.ensemble import N_KNOTS, Ensemble
from core.model.votes import TIE, raw_votes
from core.session.arrays import SessionArrays
from core.session.forecasts import current_votes, find_counted, forecast, tally
from core.session.policies.cascade import follow_paths, judge
from core.session.policies.ordered import find_plan
from core.session.policies.waiting import find_waiting
from core.session.probability import (
    decide,
    output_logits,
    share_out,
    stage_chances,
    stage_votes,
)
from core.session.state import State


def is_confident(ensemble: Ensemble, state: State, arrays: SessionArrays) -> bool:
    """Whether the label is as probable as the session's stop rule asks for."""
    if state.stop.confidence is None:
        return False
    current = forecast(ensemble, state, arrays)
    return current.probabilities[current.label] >= state.stop.confidence


def is_certain(ensemble: Ensemble, state: State, arrays: SessionArrays) -> bool:
    """Whether no answer still affordable can change the vote, nor the label.

    Each open feature still individually affordable contributes the least and the
    greatest of its summed votes over all values and "missing"; trees and products
    contribute theirs one by one. Exact for the vote of stumps of two classes without a
    budget, sound otherwise: a plan that grows because a feature is missing is allowed
    for. Of more classes the winner must keep its lead over each other one, a bound on
    the difference of the two votes.

    The label is decided from calibrated probabilities. A logit, and the difference of
    two, is linear in the vote, and between two knots in the share known, each for a
    fixed other one: so the corners of the reachable boxes decide.
    """
    total = float(ensemble.alpha_sums[-1])
    if total == 0:
        return True
    if state.policy == "cascade":
        return is_stage_certain(ensemble, state, arrays)
    length, is_counted = find_counted(ensemble, state, arrays)
    votes, known, _ = tally(ensemble, arrays, length, is_counted)
    bounds = Bounds(ensemble, state, arrays, length)
    share = known / total
    if ensemble.n_outputs == 1:
        ends = np.array(bounds.of(ensemble.weighted_votes[:, 0]))[:, None]
        is_one_vote = len(set(raw_votes(ensemble, ends).tolist())) == 1
        return is_one_vote and is_binary_label_fixed(ensemble, ends, share)
    winner = int(raw_votes(ensemble, votes))
    return keeps_lead(bounds, winner, TIE * total) and is_label_fixed(
        bounds, votes, share
    )


def is_stage_certain(ensemble: Ensemble, state: State, arrays: SessionArrays) -> bool:
    """Whether the stages still to come can change neither the vote nor the label.

    The votes of each stage are bounded over all answers that are still affordable: they
    say which stages may be passed, and which may reject. A session may end within any
    stage that can be reached. One in which nothing has voted yet may also be gone past
    without any vote, which changes nothing.
    """
    ends = follow_paths(ensemble, arrays)
    passed = judge(ensemble, ends)
    # A path that has come to a vote keeps one, whatever else it hears.
    has_vote = current_votes(ensemble, arrays) > 0
    bounds = Bounds(ensemble, state, arrays, find_plan(ensemble, arrays).length)
    tolerance = TIE * float(ensemble.alpha_sums[-1])
    starts = [0, *ensemble.stage_ends[:-1].tolist()]
    owners = ensemble.paths.owners
    reachable = [passed]
    for stage in range(passed, ensemble.stage_ends.size if passed >= 0 else passed):
        stop = int(ensemble.stage_ends[stage])
        part = slice(starts[stage], stop)
        if not has_vote[part].any() and not (ends[part] >= 0).any():
            # Gone past without any vote.
            continue
        is_inside = (owners >= starts[stage]) & (owners < stop)
        scores = np.where(is_inside, ensemble.weighted_votes[:, 0], 0.0)
        low, high = bounds.of(scores)
        threshold = float(ensemble.thresholds[stage])
        if low < threshold + tolerance:
            reachable.append(-1 - stage)
        if high >= threshold - tolerance:
            reachable.append(stage + 1)
        elif has_vote[part].any():
            break
    codes = np.array(reachable)
    labels = decide(ensemble, stage_chances(ensemble, codes)).tolist()
    votes = stage_votes(ensemble, codes).tolist()
    return len(set(labels)) == len(set(votes)) == 1


class Bounds:
    """Least and greatest final scores of a session."""

    def __init__(
        self, ensemble: Ensemble, state: State, arrays: SessionArrays, start: int
    ) -> None:
        self.ensemble = ensemble
        self.arrays = arrays
        self.start = start
        self.is_prefix = state.policy != "sample"
        self.is_affordable = arrays.is_affordable
        self.is_payable = find_waiting(ensemble, arrays).is_payable
        self.is_coming = arrays.is_coming(ensemble.catalogue)

    def of(self, scores: FloatArray) -> tuple[float, float]:
        """Least and greatest sum of what votes count for, (n_votes,)."""
        ensemble, arrays, paths = self.ensemble, self.arrays, self.ensemble.paths
        bounds = np.empty(2)
        kernels.bound_votes(
            arrays.values,
            arrays.status,
            self.is_affordable,
            self.is_payable,
            self.is_coming,
            paths.roots,
            paths.nodes,
            paths.cuts,
            np.ascontiguousarray(scores),
            ensemble.segment_starts,
            ensemble.segment_cuts,
            self.start,
            self.is_prefix,
            bounds,
        )
        low, high = bounds.tolist()
        return low, high


def keeps_lead(bounds: Bounds, winner: int, tolerance: float) -> bool:
    """Whether the winning class of several stays ahead, whatever the answers.

    Within the tolerance of a tie it must be the one that ties prefer.
    """
    ensemble = bounds.ensemble
    preference, votes = ensemble.preference.tolist(), ensemble.weighted_votes
    for rival in range(ensemble.n_outputs):
        if rival == winner:
            continue
        low, _ = bounds.of(votes[:, winner] - votes[:, rival])
        is_preferred = preference.index(winner) < preference.index(rival)
        if low < 3 * tolerance and not (is_preferred and low >= -tolerance):
            return False
    return True


def is_binary_label_fixed(ensemble: Ensemble, ends: FloatArray, share: float) -> bool:
    """Whether every forecast of two classes that answers can lead to has one label.

    `ends` (2, 1) are the least and the greatest vote, `share` is the least share known.
    """
    shares = reachable_knots(share)[:, None]
    scores = np.broadcast_to(ends, (shares.size, *ends.shape))
    corners = share_out(output_logits(ensemble, "ordered", scores, shares))
    labels = set(decide(ensemble, corners).ravel().tolist())
    low, high = ends[:, 0].tolist()
    tolerance = TIE * float(ensemble.alpha_sums[-1])
    if low <= tolerance and high >= -tolerance:
        # A tie, which the priors decide.
        labels.add(int(decide(ensemble, np.array(ensemble.priors))))
    return len(labels) == 1


def is_label_fixed(bounds: Bounds, votes: FloatArray, share: float) -> bool:
    """Whether every forecast of several classes that answers can lead to has one label.

    One if the label of now costs less than each other one even where the odds of each
    class against its own favour the other most.

    Parameters
    ----------
    bounds : Bounds
    votes : float64 array, shape (n_outputs,)
        Of now; the label that they give is the one to be kept.
    share : float
        Least share known, that of now.
    """
    ensemble = bounds.ensemble
    chances = share_out(output_logits(ensemble, "ordered", votes, np.array(share)))
    label = int(decide(ensemble, chances))
    ranges = [
        bounds.of(one - ensemble.weighted_votes[:, label])
        for one in ensemble.weighted_votes.T
    ]
    # Where no class falls behind the label for sure, all may tie, for the priors.
    may_tie = min(high for _, high in ranges) >= -TIE * float(ensemble.alpha_sums[-1])
    if may_tie and int(decide(ensemble, np.array(ensemble.priors))) != label:
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
    """Least and greatest logit of each class less that of the label; (n_classes,) each.

    `ends` (2, n_classes): least and greatest vote of each class less that of the label.
    """
    shares = reachable_knots(share)[:, None]
    scores = np.broadcast_to(ends, (shares.size, *ends.shape))
    corners = output_logits(ensemble, "ordered", scores, shares)
    # Its own lead over itself is 0, so that only its offset is left.
    corners = corners - corners[..., [label]]
    return corners.min(axis=(0, 1)), corners.max(axis=(0, 1))


def reachable_knots(share: float) -> FloatArray:
    """Return the share known and the knots above it; between them all is linear."""
    knots = np.linspace(0.0, 1.0, N_KNOTS)
    return np.array([share, *knots[knots > share]])
