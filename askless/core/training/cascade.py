"""Attentional cascades: stages of boosted hypotheses, each of which rejects early.

A row is of the second class if it passes every stage (Viola and Jones 2004).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askless.core.arrays import BoolArray, FloatArray
from askless.core.catalogue.prices import Paid, add_paid
from askless.core.codes.binning import bin_values
from askless.core.codes.folds import split_rows
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Cascade, Stage
from askless.core.model.hypotheses import Hypothesis
from askless.core.model.votes import hypothesis_votes
from askless.core.table.dataset import Dataset
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round

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
    `measured` is what `measure_stage` returned after the last round of this stage,
    `best` what it returned after the round of fewest false alarms.
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
        """End the last stage if it is unfinished, and return the cascade."""
        ended = self.stages
        if self.n_rounds > (ended[-1].length if ended else 0):
            self.end_stage()
        rows = self.held_out
        chance = rows.second_share(np.ones(rows.is_second.size, np.bool_))
        return Cascade(tuple(self.stages), chance)


RULE = "adaboost_bt_greedy"


def grow_cascade(
    dataset: Dataset,
    params: BoostParams,
    done: Sequence[Round] = (),
    is_strict: bool = True,
) -> Iterator[Round]:
    """Boost a cascade, one hypothesis a round, stage after stage.

    The second of two classes is the one to detect. There are at most `stages` stages of
    at most `rounds` rounds; each must keep `detection` of the second class and pass at
    most `false_alarm` of the first, on held-out rows that reached it. `done` and
    `is_strict` are as in `askless.core.training.algorithms.grow_ensemble`. Rounds are
    numbered through all stages; `z` is that of its stage's weights.

    Raises
    ------
    RefusedError
        Naming the stage and what it reached, where it misses its rates; where a class
        has too few rows to train on some and hold out others.

    Notes
    -----
    Viola and Jones (2004), Table 2, with the hypotheses bought by the greedy rule of
    Huang et al. (2015), eq. 1, so that what is cheap comes first; fees that earlier
    stages have paid are not due again. Each stage is trained on the rows that pass all
    before, half of the weight on either class. A third of the rows is held out for the
    thresholds. There are fewer stages where the first ones already pass as few of the
    first class as all were to, `false_alarm` ** `stages`, or where all rows of a class
    are rejected, trained on or held out.

    A row on which no hypothesis of a stage votes, since all that they read is missing,
    passes it, as a session without these answers goes on. This rule is ours: Viola and
    Jones have no missing values.
    """
    tracker = StageTracker(dataset, params)
    if is_strict and tracker.is_over:
        rule = "must give a cascade two rows of each class, or two row groups"
        raise RefusedError([Refusal("target", rule)])
    rest = list(done)
    paid = Paid()
    stage_params = replace(params, algorithm=RULE)
    while not tracker.is_over:
        rows, number, paid_before = tracker.training, tracker.n_rounds, paid
        repeated: list[Round] = []
        has_ended = False
        while rest and not has_ended:
            earlier = rest.pop(0)
            # The boosting of a stage numbers its own rounds from 1.
            repeated.append(replace(earlier, number=len(repeated) + 1))
            paid = add_paid(dataset.catalogue, paid, earlier.hypothesis.feature_idxs)
            has_ended = tracker.add_round(earlier.hypothesis, earlier.alpha)
        # The whole stage was done before the interruption.
        if has_ended:
            continue
        table = make_stage_dataset(dataset, rows)
        shards = [(bin_values(table), initial_weights(table))]
        for added in boost(
            shards, table.catalogue, stage_params, repeated, paid_before
        ):
            paid = add_paid(dataset.catalogue, paid, added.hypothesis.feature_idxs)
            has_ended = tracker.add_round(added.hypothesis, added.alpha)
            yield replace(added, number=number + added.number)
            if has_ended:
                break
        if not has_ended:
            if is_strict:
                raise RefusedError([missed_rates_refusal(tracker)])
            return


def make_stage_dataset(dataset: Dataset, rows: StageRows) -> Dataset:
    """Return the rows of a stage as a dataset, half of the weight on either class."""
    weights = rows.weights.copy()
    for mask in (rows.is_second, ~rows.is_second):
        weights[mask] *= 0.5 / weights[mask].sum()
    return replace(
        dataset,
        values=rows.values,
        targets=rows.is_second.astype(np.int64),
        weights=weights,
        row_groups=None,
    )


def missed_rates_refusal(tracker: StageTracker) -> Refusal:
    """Return a refusal that names the stage and the rates that it reached."""
    params, (_, detection, false_alarm) = tracker.params, tracker.best
    last = tracker.stages[-1].length if tracker.stages else 0
    rule = (
        f"stage {len(tracker.stages) + 1} must pass at most {params.false_alarm:g} of "
        f"the first class while it keeps {params.detection:g} of the second; in "
        f"{tracker.n_rounds - last} rounds it reached {false_alarm:.3f} at "
        f"{detection:.3f}"
    )
    return Refusal("params.false_alarm", rule)


def make_cascade(
    dataset: Dataset, params: BoostParams, rounds: Sequence[Round]
) -> Cascade:
    """Return the stages that the rounds of `grow_cascade` make on a dataset."""
    if not rounds:
        return Cascade((), float(dataset.priors[1]))
    tracker = StageTracker(dataset, params)
    for boosting_round in rounds:
        tracker.add_round(boosting_round.hypothesis, boosting_round.alpha)
    return tracker.to_cascade()


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
