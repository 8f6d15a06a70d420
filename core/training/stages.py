"""The stages of a cascade as its rounds come in: where they end, and who has passed."""

import math
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import BoolArray, FloatArray
from core.model.ensemble import Cascade, Stage
from core.model.hypotheses import Hypothesis
from core.model.votes import hypothesis_votes
from core.table.dataset import Dataset
from core.table.folds import split_rows
from core.training.params import BoostParams

# Votes are summed in another order when a session is played.
SLACK = 1e-9

# Threshold, detection and false alarms before a stage has a hypothesis.
UNMEASURED = (0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Rows:
    """Rows still in play; `scores` (n_rows,) is the vote of the stage so far.

    `has_vote` (n_rows,) marks the rows on which it has any. `weights` are 1 on the
    average of the rows that a cascade begins with.
    """

    values: FloatArray
    is_second: BoolArray
    weights: FloatArray
    scores: FloatArray
    has_vote: BoolArray

    def share(self, mask: BoolArray) -> float:
        """Share of the second class among some rows, one of each class added."""
        second = float(self.weights[mask & self.is_second].sum())
        return (second + 1.0) / (float(self.weights[mask].sum()) + 2.0)

    def passes(self, threshold: float) -> BoolArray:
        """Which rows pass the stage; of those without any vote nothing is known."""
        return ~self.has_vote | (self.scores >= threshold)

    def take(self, mask: BoolArray) -> "Rows":
        """Return some rows, at the beginning of a stage."""
        return begin(self.values[mask], self.is_second[mask], self.weights[mask])


class Stager:
    """Follows the rounds of a cascade: where stages end, and who has passed them.

    `training` and `held_out` are the rows that have passed all stages so far;
    `measured` is what `measure` gives for the stage now, `best` that of the round of
    fewest false alarms.
    """

    def __init__(self, dataset: Dataset, params: BoostParams) -> None:
        self.params = params
        seen, unseen = split_rows(dataset, params.seed)
        self.training, self.held_out = (
            begin(rows.values, rows.targets == 1, rows.weights * rows.n_samples)
            for rows in (dataset.take(seen), dataset.take(unseen))
        )
        self.stages: list[Stage] = []
        self.n_rounds = 0
        self.measured = self.best = UNMEASURED

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do: all stages stand, or what they are to reach.

        All stages together are to pass `false_alarm` ** `stages` of the first class.
        Where all rows of a class are rejected there is nothing left to learn from.
        """
        passing = math.prod(stage.false_alarm for stage in self.stages)
        wanted = self.params.false_alarm**self.params.stages + SLACK
        has_reached = bool(self.stages) and passing <= wanted
        is_one_class = any(
            bool(rows.is_second.all() or not rows.is_second.any())
            for rows in (self.training, self.held_out)
        )
        return is_one_class or has_reached or len(self.stages) == self.params.stages

    def feed(self, hypothesis: Hypothesis, alpha: float) -> bool:
        """Add a round; True where it ends its stage."""
        self.n_rounds += 1
        self.training = add_vote(self.training, hypothesis, alpha)
        self.held_out = add_vote(self.held_out, hypothesis, alpha)
        self.measured = self.measure()
        self.best = min(self.best, self.measured, key=lambda measured: measured[2])
        if self.measured[2] > self.params.false_alarm:
            return False
        self.end_stage()
        return True

    def measure(self) -> tuple[float, float, float]:
        """Threshold, detection and false alarms of the stage on held-out rows.

        The threshold is the largest vote on a row of the second class that detects
        enough of it: 0 where no such row has a vote.
        """
        rows = self.held_out
        weights, ours = rows.weights, rows.is_second & rows.has_vote
        order = np.argsort(-rows.scores[ours], kind="stable")
        total = float(weights[rows.is_second].sum())
        silent = float(weights[rows.is_second & ~rows.has_vote].sum())
        detected = (silent + np.cumsum(weights[ours][order])) / total
        position = int(np.searchsorted(detected, self.params.detection - SLACK))
        threshold = 0.0
        if order.size:
            threshold = float(rows.scores[ours][order[position]]) - SLACK
        passes, others = rows.passes(threshold), ~rows.is_second
        false_alarm = float(weights[others & passes].sum())
        false_alarm /= float(weights[others].sum())
        detection = float(weights[rows.is_second & passes].sum()) / total
        return threshold, detection, false_alarm

    def end_stage(self) -> None:
        """Fix the stage and go on with the rows that pass it."""
        threshold, detection, false_alarm = self.measured
        rows = self.held_out
        passes = rows.passes(threshold)
        self.stages.append(
            Stage(
                length=self.n_rounds,
                threshold=threshold,
                detection=detection,
                false_alarm=false_alarm,
                chance_reaching=rows.share(np.ones(passes.size, np.bool_)),
                chance_rejected=rows.share(~passes),
            )
        )
        self.measured = self.best = UNMEASURED
        self.held_out = rows.take(passes)
        self.training = self.training.take(self.training.passes(threshold))

    def cascade(self) -> Cascade:
        """Return the stages so far; rounds after the last of them make one more."""
        ended = self.stages
        if self.n_rounds > (ended[-1].length if ended else 0):
            self.end_stage()
        rows = self.held_out
        chance = rows.share(np.ones(rows.is_second.size, np.bool_))
        return Cascade(tuple(self.stages), chance)


def begin(values: FloatArray, is_second: BoolArray, weights: FloatArray) -> Rows:
    """Return rows at the beginning of a stage, without any vote."""
    scores = np.zeros(weights.size)
    return Rows(values, is_second, weights, scores, scores != 0)


def add_vote(rows: Rows, hypothesis: Hypothesis, alpha: float) -> Rows:
    """Add a hypothesis' vote to the scores."""
    votes = hypothesis_votes(hypothesis, rows.values, 1)[:, 0]
    return replace(
        rows,
        scores=rows.scores + alpha * votes,
        has_vote=rows.has_vote | (votes != 0.0),
    )
