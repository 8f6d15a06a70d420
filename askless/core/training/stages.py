"""Track the stages of a cascade round by round: where they end, which rows pass."""

import math
from dataclasses import dataclass, replace

import numpy as np

from askless.core.arrays import BoolArray, FloatArray
from askless.core.codes.folds import split_rows
from askless.core.model.ensemble import Cascade, Stage
from askless.core.model.hypotheses import Hypothesis
from askless.core.model.votes import hypothesis_votes
from askless.core.table.dataset import Dataset
from askless.core.training.params import BoostParams

# Votes are summed in another order when a session is played.
SLACK = 1e-9

# Threshold, detection and false alarms before a stage has a hypothesis.
UNMEASURED = (0.0, 1.0, 1.0)


@dataclass(frozen=True)
class StageRows:
    """Rows that passed all stages so far; `scores` (n_rows,) are votes of this stage.

    `has_vote` (n_rows,) marks the rows on which a hypothesis of the stage votes.
    `weights` are on average 1 over the rows that a cascade begins with.
    """

    values: FloatArray
    is_second: BoolArray
    weights: FloatArray
    scores: FloatArray
    has_vote: BoolArray

    def second_share(self, mask: BoolArray) -> float:
        """Return the share of the second class in the rows of a mask.

        One row of each class is added, so that it is never 0 or 1.
        """
        second = float(self.weights[mask & self.is_second].sum())
        return (second + 1.0) / (float(self.weights[mask].sum()) + 2.0)

    def passes(self, threshold: float) -> BoolArray:
        """Return which rows pass the stage; rows without any vote pass too."""
        return ~self.has_vote | (self.scores >= threshold)

    def restart(self, mask: BoolArray) -> "StageRows":
        """Return some of the rows at the beginning of the next stage, without votes."""
        return start_stage(self.values[mask], self.is_second[mask], self.weights[mask])


class StageTracker:
    """Follows the rounds of a cascade: where stages end, and which rows pass them.

    `training` and `held_out` are the rows that have passed all stages so far;
    `measured` is the result of `measure` after the last round of this stage, `best`
    that after the round of fewest false alarms.
    """

    def __init__(self, dataset: Dataset, params: BoostParams) -> None:
        self.params = params
        seen, unseen = split_rows(dataset, params.seed)
        self.training, self.held_out = (
            start_stage(rows.values, rows.targets == 1, rows.weights * rows.n_samples)
            for rows in (dataset.take(seen), dataset.take(unseen))
        )
        self.stages: list[Stage] = []
        self.n_rounds = 0
        self.measured = self.best = UNMEASURED

    @property
    def is_over(self) -> bool:
        """Whether the cascade is complete: all stages are made, or its goal is met.

        The goal is to pass at most `false_alarm` ** `stages` of the first class. If one
        class is left only, in training or held-out rows, no stage can be learned.
        """
        passing = math.prod(stage.false_alarm for stage in self.stages)
        goal = self.params.false_alarm**self.params.stages + SLACK
        has_reached = bool(self.stages) and passing <= goal
        is_one_class = any(
            bool(rows.is_second.all() or not rows.is_second.any())
            for rows in (self.training, self.held_out)
        )
        return is_one_class or has_reached or len(self.stages) == self.params.stages

    def add_round(self, hypothesis: Hypothesis, alpha: float) -> bool:
        """Add the votes of a round to all rows; return whether it ends its stage.

        A stage ends once it passes at most `false_alarm` of the first class on held-out
        rows; then the next one begins with the rows that pass.
        """
        self.n_rounds += 1
        self.training = add_vote(self.training, hypothesis, alpha)
        self.held_out = add_vote(self.held_out, hypothesis, alpha)
        self.measured = self.measure_stage()
        self.best = min(self.best, self.measured, key=lambda measured: measured[2])
        if self.measured[2] > self.params.false_alarm:
            return False
        self.end_stage()
        return True

    def measure_stage(self) -> tuple[float, float, float]:
        """Return threshold, detection and false alarms of the stage on held-out rows.

        The threshold is the largest score that detects enough of the second class: 0 if
        no row of it has a vote.
        """
        rows = self.held_out
        weights, is_scored = rows.weights, rows.is_second & rows.has_vote
        order = np.argsort(-rows.scores[is_scored], kind="stable")
        total = float(weights[rows.is_second].sum())
        unscored = float(weights[rows.is_second & ~rows.has_vote].sum())
        detected = (unscored + np.cumsum(weights[is_scored][order])) / total
        # The fewest rows of largest score that make up the share to be detected.
        position = int(np.searchsorted(detected, self.params.detection - SLACK))
        threshold = 0.0
        if order.size:
            threshold = float(rows.scores[is_scored][order[position]]) - SLACK
        passes, others = rows.passes(threshold), ~rows.is_second
        false_alarm = float(weights[others & passes].sum())
        false_alarm /= float(weights[others].sum())
        detection = float(weights[rows.is_second & passes].sum()) / total
        return threshold, detection, false_alarm

    def end_stage(self) -> None:
        """Append the stage as measured, and continue with the rows that pass it."""
        threshold, detection, false_alarm = self.measured
        rows = self.held_out
        passes = rows.passes(threshold)
        self.stages.append(
            Stage(
                length=self.n_rounds,
                threshold=threshold,
                detection=detection,
                false_alarm=false_alarm,
                chance_reaching=rows.second_share(np.ones(passes.size, np.bool_)),
                chance_rejected=rows.second_share(~passes),
            )
        )
        self.measured = self.best = UNMEASURED
        self.held_out = rows.restart(passes)
        self.training = self.training.restart(self.training.passes(threshold))

    def to_cascade(self) -> Cascade:
        """Return the stages so far; rounds after the last of them make one more.

        That last stage is ended here, in place.
        """
        ended = self.stages
        if self.n_rounds > (ended[-1].length if ended else 0):
            self.end_stage()
        rows = self.held_out
        chance = rows.second_share(np.ones(rows.is_second.size, np.bool_))
        return Cascade(tuple(self.stages), chance)


def start_stage(
    values: FloatArray, is_second: BoolArray, weights: FloatArray
) -> StageRows:
    """Return rows at the beginning of a stage, without any vote."""
    scores = np.zeros(weights.size)
    return StageRows(values, is_second, weights, scores, scores != 0)


def add_vote(rows: StageRows, hypothesis: Hypothesis, alpha: float) -> StageRows:
    """Return rows with the votes of a hypothesis, times alpha, added to the scores."""
    votes = hypothesis_votes(hypothesis, rows.values, 1)[:, 0]
    return replace(
        rows,
        scores=rows.scores + alpha * votes,
        has_vote=rows.has_vote | (votes != 0.0),
    )
