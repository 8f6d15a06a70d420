"""When a session should stop although more could be asked."""

from __future__ import annotations

import numpy as np

from core import kernels
from core.arrays import FloatArray
from core.model.ensemble import Ensemble
from core.model.votes import TIE, raw_votes
from core.session.arrays import SessionArrays
from core.session.forecasts import current_votes, find_counted, forecast, tally
from core.session.policies.cascade import follow_paths, judge
from core.session.policies.ordered import find_plan
from core.session.policies.waiting import find_waiting
from core.session.probability import (
    decide,
    output_chances,
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

    The label is decided from calibrated chances. Each is monotone in its output's
    margin and, for a fixed margin, in the share known, so the corners of the
    reachable box decide.
    """
    total = float(ensemble.alpha_sums[-1])
    if total == 0:
        return True
    if state.policy == "cascade":
        return is_stage_certain(ensemble, state, arrays)
    length, is_counted = find_counted(ensemble, state, arrays)
    votes, known, _ = tally(ensemble, arrays, length, is_counted)
    bounds = Bounds(ensemble, state, arrays, length)
    if ensemble.n_outputs == 1:
        low, high = bounds.of(ensemble.weighted_votes[:, 0])
        if len(set(raw_votes(ensemble, np.array([[low], [high]])).tolist())) > 1:
            return False
        lows, highs = np.array([low]), np.array([high])
    else:
        winner = int(raw_votes(ensemble, votes))
        if not keeps_lead(bounds, winner, TIE * total):
            return False
        pairs = [bounds.of(votes) for votes in ensemble.weighted_votes.T]
        lows, highs = np.array(pairs).T
    return is_label_fixed(ensemble, lows, highs, known)


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


def is_label_fixed(
    ensemble: Ensemble, lows: FloatArray, highs: FloatArray, known: float
) -> bool:
    """Whether every forecast that answers can lead to has one label.

    Parameters
    ----------
    ensemble : Ensemble
    lows, highs : float64 array, shape (n_outputs,)
        Least and greatest vote of each output.
    known : float
        Alpha that has voted already.
    """
    total = float(ensemble.alpha_sums[-1])
    shares = np.array((known / total, 1.0))
    least, greatest = reachable_margins(lows, highs, known, total)
    # (n_corners, n_outputs): each margin and share at its least and greatest.
    margins = np.array([least, least, greatest, greatest])
    scores = np.array([lows, lows, highs, highs])
    corners = output_chances(ensemble, "ordered", margins, np.tile(shares, 2), scores)
    if ensemble.n_outputs == 1:
        labels = set(decide(ensemble, share_out(corners)).tolist())
    elif "ordered" in ensemble.calibration_arrays:
        labels = labels_within(ensemble, corners.min(axis=0), corners.max(axis=0))
    elif ensemble.error_costs is None:
        # The label is the vote, which keeps its lead.
        labels = {int(raw_votes(ensemble, (lows + highs) / 2))}
    else:
        most = highs.max()
        labels = labels_within(ensemble, np.exp(lows - most), np.exp(highs - most))
    if ((lows <= TIE * total) & (highs >= -TIE * total)).all():
        # A tie, which the priors decide, and the margins just beside it.
        none = np.zeros((2, ensemble.n_outputs))
        beside = output_chances(ensemble, "ordered", none, shares, none)
        labels |= set(decide(ensemble, share_out(beside)).tolist())
        labels.add(int(decide(ensemble, np.array(ensemble.priors))))
    return len(labels) == 1


def reachable_margins(
    lows: FloatArray, highs: FloatArray, known: float, total: float
) -> tuple[FloatArray, FloatArray]:
    """Extremes of vote/plan alpha when the plan holds between known and all alpha."""
    smallest_low = np.maximum(np.maximum(known, np.abs(lows)), TIE)
    smallest_high = np.maximum(np.maximum(known, np.abs(highs)), TIE)
    return (
        lows / np.where(lows < 0, smallest_low, total),
        highs / np.where(highs < 0, total, smallest_high),
    )


def labels_within(
    ensemble: Ensemble, least: FloatArray, greatest: FloatArray
) -> set[int]:
    """Labels that chances between two bounds can lead to; of several classes.

    One if that of the middle costs less than each other one even where the chances
    favour the other most; else all classes. (Costs are linear in the chances, and
    dividing these by their sum doesn't change which is least.)
    """
    n_classes = least.size
    label = int(decide(ensemble, share_out((least + greatest) / 2)))
    costs = 1.0 - np.eye(n_classes)
    if ensemble.error_costs is not None:
        costs = np.array(ensemble.error_costs)
    excess = costs - costs[:, [label]]
    smallest = (np.where(excess > 0, least[:, None], greatest[:, None]) * excess).sum(0)
    is_dearer = np.delete(smallest, label) > n_classes * TIE * max(1.0, costs.max())
    return {label} if is_dearer.all() else set(range(n_classes))
