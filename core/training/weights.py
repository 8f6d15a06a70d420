"""The weights of rows and classes in a boosting run: searched, and changed by a round.

One output has an engine of its own (`core.training.histograms`); several are summed
anew every round.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from core import kernels
from core.arrays import BallotArray, FloatArray, IntArray
from core.model.hypotheses import Hypothesis, Stump
from core.model.paths import lay_paths
from core.table.binning import Binned
from core.training import histograms
from core.training.learners.stump import Candidates, find_stumps


class Weights(Protocol):
    """What the boosting loop asks of the weights."""

    @property
    def signed(self) -> FloatArray:
        """Weight of each row and class times +1 or -1; (n_samples, n_outputs)."""

    def find_stumps(self, feature_idxs: IntArray) -> Candidates:
        """Find the best stumps on some features, for the weights as they are."""

    def find_stumps_for(
        self, signed_weights: FloatArray, feature_idxs: IntArray
    ) -> Candidates:
        """Find the best stumps on some features, for other weights of all rows."""

    def apply(self, hypothesis: Hypothesis, alpha: float) -> float:
        """Multiply the weights by exp(-alpha y h(x)) and normalise them; give Z."""


def make_weights(
    binned: Binned, signed_weights: FloatArray, *, is_partial: bool = False
) -> Weights:
    """Take the weights of a run, (n_samples, n_outputs); they are copied.

    `is_partial`: rounds look at some features only, so that sums kept up to date for
    all would not pay.
    """
    if signed_weights.shape[1] > 1:
        return ManyOutputs(binned, signed_weights)
    if is_partial:
        return OneOutputInPart(binned, signed_weights)
    return OneOutput(binned, signed_weights)


class OneOutput:
    """Weights of two classes; their sums by code follow them from round to round."""

    def __init__(self, binned: Binned, signed_weights: FloatArray) -> None:
        self._binned = binned
        self._histograms = histograms.Histograms(binned, signed_weights[:, 0])

    @property
    def signed(self) -> FloatArray:
        """See `Weights`."""
        return self._histograms.signed_weights[:, None]

    def find_stumps(self, feature_idxs: IntArray) -> Candidates:
        """See `Weights`."""
        assert feature_idxs.size == self._binned.n_codes.size, "sums are kept for all"
        return self._histograms.find_stumps()

    def find_stumps_for(
        self, signed_weights: FloatArray, feature_idxs: IntArray
    ) -> Candidates:
        """See `Weights`."""
        return histograms.find_stumps(self._binned, signed_weights[:, 0], feature_idxs)

    def apply(self, hypothesis: Hypothesis, alpha: float) -> float:
        """See `Weights`."""
        ballots = cast_ballots(self._binned, hypothesis)
        return self._histograms.apply(ballots, alpha)


class OneOutputInPart:
    """Weights of two classes, of which rounds look at some features only."""

    def __init__(self, binned: Binned, signed_weights: FloatArray) -> None:
        self._binned = binned
        self._signed = signed_weights[:, 0].copy()
        # Room for a search; taken anew each round it would cost as much as the search.
        self._scratch = np.empty_like(self._signed)
        self._moved = histograms.make_moved(binned)

    @property
    def signed(self) -> FloatArray:
        """See `Weights`."""
        return self._signed[:, None]

    def find_stumps(self, feature_idxs: IntArray) -> Candidates:
        """See `Weights`."""
        np.copyto(self._scratch, self._signed)
        return histograms.search_scratch(
            self._binned, self._scratch, 1.0, feature_idxs, self._moved
        )

    def find_stumps_for(
        self, signed_weights: FloatArray, feature_idxs: IntArray
    ) -> Candidates:
        """See `Weights`."""
        return histograms.find_stumps(self._binned, signed_weights[:, 0], feature_idxs)

    def apply(self, hypothesis: Hypothesis, alpha: float) -> float:
        """See `Weights`."""
        ballots = cast_ballots(self._binned, hypothesis)
        return float(kernels.reweight(ballots, alpha, self._signed))


class ManyOutputs:
    """Weights of more classes, or of labels that don't exclude one another."""

    def __init__(self, binned: Binned, signed_weights: FloatArray) -> None:
        self._binned = binned
        self.signed = signed_weights.copy()

    def find_stumps(self, feature_idxs: IntArray) -> Candidates:
        """See `Weights`."""
        return find_stumps(self._binned, self.signed, feature_idxs)

    def find_stumps_for(
        self, signed_weights: FloatArray, feature_idxs: IntArray
    ) -> Candidates:
        """See `Weights`."""
        return find_stumps(self._binned, signed_weights, feature_idxs)

    def apply(self, hypothesis: Hypothesis, alpha: float) -> float:
        """See `Weights` (Kegl and Busa-Fekete 2009, Figure 1, line 4)."""
        ends, votes = cast_votes(self._binned, hypothesis, self.signed.shape[1])
        return float(kernels.reweight_outputs(ends, votes, alpha, self.signed))


def cast_votes(
    binned: Binned, hypothesis: Hypothesis, n_outputs: int
) -> tuple[IntArray, FloatArray]:
    """Ask a hypothesis about every row.

    Returns
    -------
    ends : int64 array, shape (n_samples,)
        Which vote each row comes to.
    votes : float64 array, shape (n_votes, n_outputs)
        +1, -1 or 0.
    """
    paths = lay_paths([hypothesis], n_outputs)
    cuts = [
        np.searchsorted(binned.cuts[feature_idx], cut)
        for feature_idx, cut in zip(paths.nodes[:, 0], paths.cuts, strict=True)
    ]
    ends = np.empty(binned.codes.shape[1], dtype=np.int64)
    kernels.end_rows(binned.codes, paths.nodes, np.array(cuts, np.int64), ends)
    return ends, paths.votes


def cast_ballots(binned: Binned, hypothesis: Hypothesis) -> BallotArray:
    """Give the vote of a hypothesis of one output on every row, 0: it abstains."""
    if not isinstance(hypothesis, Stump):
        ends, votes = cast_votes(binned, hypothesis, 1)
        return votes[:, 0].astype(np.int8)[ends]
    feature_idx = hypothesis.feature_idx
    cut = int(np.searchsorted(binned.cuts[feature_idx], hypothesis.cut))
    ballots = np.empty(binned.codes.shape[1], dtype=np.int8)
    kernels.cast(
        binned.codes[feature_idx],
        hypothesis.is_category,
        cut,
        hypothesis.votes[0],
        ballots,
    )
    return ballots
