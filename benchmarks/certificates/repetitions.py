"""Rows set aside drawn a thousand times, and what the rules chosen by them do."""

from dataclasses import dataclass, replace

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.model.certificates import N_STRATA, Certification, Level
from askless.core.session.certificates import find_rule
from askless.core.session.traces import Stops

DELTA = 0.1


@dataclass(frozen=True)
class Found:
    """What the rules chosen in many repetitions do on all rows."""

    #: of answers that differ, over all repetitions
    mean_disagreement: float
    #: of repetitions in which more than alpha differ: of all, or of some stratum
    share_above: float
    share_above_somewhere: float
    #: of repetitions that find a rule
    share_certified: float
    #: of the spend, over all repetitions
    mean_saved: float


@dataclass(frozen=True)
class Population:
    """Rows that the model never saw, where each rule stops on them, and its level.

    A draw of rows from these with replacement is one of independent rows, and what a
    rule does on all of them is the truth about it.
    """

    certification: Certification
    level: Level
    stops: Stops
    #: mean spend without early stops
    whole: float

    def repeat(
        self, alpha: float, n_aside: int, n_repetitions: int, seed: int
    ) -> Found:
        """Set rows aside again and again, choose a rule by them, and judge it."""
        n_rows = self.stops.strata.shape[1]
        random = np.random.default_rng(seed)
        chances = np.full(n_rows, 1.0 / n_rows)
        times = random.multinomial(n_aside, chances, size=n_repetitions)
        counts = self.count(times.astype(np.float64))
        mean_spends = self.stops.spends @ times.T // n_aside
        chosen = [
            self.choose(counts[:, number], mean_spends[:, number], n_aside, alpha)
            for number in range(n_repetitions)
        ]
        return self.judge(chosen, alpha)

    def count(self, times: FloatArray) -> IntArray:
        """Count as in `Level`; (n_rules, n_repetitions, 2 * N_STRATA)."""
        counted = []
        for is_counted in (np.ones_like(self.stops.differs), self.stops.differs):
            for stratum in range(N_STRATA):
                is_there = (self.stops.strata == stratum) & is_counted
                counted.append(is_there.astype(np.float64) @ times.T)
        return np.stack(counted, axis=-1).round().astype(np.int64)

    def choose(
        self, counts: IntArray, mean_spends: IntArray, n_aside: int, alpha: float
    ) -> int | None:
        """Choose a rule as a session does."""
        level = replace(
            self.level,
            counts=tuple(map(tuple, counts.tolist())),
            mean_spends=tuple(mean_spends.tolist()),
        )
        certification = replace(self.certification, n_samples=n_aside)
        return find_rule.__wrapped__(certification, level, alpha, DELTA)

    def judge(self, chosen: list[int | None], alpha: float) -> Found:
        """Return what chosen rules do on all rows; without one nothing differs."""
        n_rows = self.stops.strata.shape[1]
        counts = self.count(np.ones((1, n_rows)))[:, 0]
        sizes, differing = counts[:, :N_STRATA], counts[:, N_STRATA:]
        shares = differing / np.maximum(sizes, 1)
        overall = differing.sum(axis=1) / n_rows
        saved = 1.0 - self.stops.spends.mean(axis=1) / self.whole
        rules = [place for place in chosen if place is not None]
        n_all = len(chosen)
        return Found(
            mean_disagreement=float(overall[rules].sum() / n_all),
            share_above=float((overall[rules] > alpha).sum() / n_all),
            share_above_somewhere=float(
                (shares[rules] > alpha).any(axis=1).sum() / n_all
            ),
            share_certified=len(rules) / n_all,
            mean_saved=float(saved[rules].sum() / n_all),
        )
