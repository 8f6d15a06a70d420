"""Attentional cascades: stages of boosted hypotheses, each of which rejects early.

A row is of the second class if it passes every stage (Viola and Jones 2004).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import BoolArray, FloatArray
from core.errors import Refusal, RefusedError
from core.model.ensemble import Cascade, Stage
from core.model.hypotheses import Hypothesis
from core.model.votes import hypothesis_votes
from core.table.binning import bin_values
from core.table.dataset import Dataset
from core.table.folds import part_rows
from core.table.prices import Paid, pay
from core.training.boosting import boost
from core.training.params import BoostParams
from core.training.rounds import Round

RULE = "adaboost_bt_greedy"

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
        passes: BoolArray = ~self.has_vote | (self.scores >= threshold)
        return passes

    def take(self, mask: BoolArray) -> Rows:
        """Give some rows, at the beginning of a stage."""
        n_rows = int(mask.sum())
        return Rows(
            self.values[mask],
            self.is_second[mask],
            self.weights[mask],
            np.zeros(n_rows),
            np.zeros(n_rows, np.bool_),
        )


class Stager:
    """Follows the rounds of a cascade: where stages end, and who has passed them.

    `training` and `held_out` are the rows that have passed all stages so far;
    `measured` is what `measure` gives for the stage now, `best` that of the round of
    fewest false alarms.
    """

    def __init__(self, dataset: Dataset, params: BoostParams) -> None:
        self.params = params
        seen, unseen = part_rows(dataset, params.seed)
        self.training = lay_rows(dataset.take(seen))
        self.held_out = lay_rows(dataset.take(unseen))
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
        """Give the stages so far; rounds after the last of them make one more."""
        ended = self.stages
        if self.n_rounds > (ended[-1].length if ended else 0):
            self.end_stage()
        rows = self.held_out
        chance = rows.share(np.ones(rows.is_second.size, np.bool_))
        return Cascade(tuple(self.stages), chance)


def lay_rows(dataset: Dataset) -> Rows:
    """Rows at the beginning of a cascade."""
    return Rows(
        dataset.values,
        dataset.targets == 1,
        dataset.weights * dataset.n_samples,
        np.zeros(dataset.n_samples),
        np.zeros(dataset.n_samples, np.bool_),
    )


def add_vote(rows: Rows, hypothesis: Hypothesis, alpha: float) -> Rows:
    """Add a hypothesis' vote to the scores."""
    votes = hypothesis_votes(hypothesis, rows.values, 1)[:, 0]
    return replace(
        rows,
        scores=rows.scores + alpha * votes,
        has_vote=rows.has_vote | (votes != 0.0),
    )


def grow_cascade(
    dataset: Dataset,
    params: BoostParams,
    done: Sequence[Round] = (),
    *,
    is_strict: bool = True,
) -> Iterator[Round]:
    """Boost a cascade, one hypothesis a round, stage after stage.

    Parameters
    ----------
    dataset : Dataset
        Of two classes; the second is the one to detect.
    params : BoostParams
        `stages` at most, each of at most `rounds` rounds, of which each must keep
        `detection` of the second class and pass at most `false_alarm` of the first,
        on held-out rows that reached it.
    done : sequence of Round
        Rounds of an interrupted run; the rest is the same to the bit.
    is_strict : bool
        Whether a stage that misses its rates is refused; else it is the last.

    Yields
    ------
    Round
        Numbered through all stages. `z` is that of its stage's weights.

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
    passes it, as a session without these answers goes on. That is ours: Viola and Jones
    have no missing values.
    """
    stager = Stager(dataset, params)
    if is_strict and stager.is_over:
        rule = "must give a cascade two rows of each class, or two row groups"
        raise RefusedError([Refusal("target", rule)])
    rest = list(done)
    paid = Paid()
    stage_params = replace(params, algorithm=RULE)
    while not stager.is_over:
        rows, number, paid_before = stager.training, stager.n_rounds, paid
        repeated: list[Round] = []
        has_ended = False
        while rest and not has_ended:
            earlier = rest.pop(0)
            repeated.append(replace(earlier, number=len(repeated) + 1))
            paid = pay(dataset.catalogue, paid, earlier.hypothesis.feature_idxs)
            has_ended = stager.feed(earlier.hypothesis, earlier.alpha)
        if has_ended:
            continue
        table = stage_table(dataset, rows)
        signed = table.signs * table.weights
        binned = bin_values(table)
        for added in boost(
            binned, signed, table.catalogue, stage_params, repeated, paid_before
        ):
            paid = pay(dataset.catalogue, paid, added.hypothesis.feature_idxs)
            has_ended = stager.feed(added.hypothesis, added.alpha)
            yield replace(added, number=number + added.number)
            if has_ended:
                break
        if not has_ended:
            if is_strict:
                raise RefusedError([unmet(stager)])
            return


def stage_table(dataset: Dataset, rows: Rows) -> Dataset:
    """Rows of a stage as a dataset, half of the weight on either class."""
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


def unmet(stager: Stager) -> Refusal:
    """Say which stage missed its rates, and what it reached."""
    params, (_, detection, false_alarm) = stager.params, stager.best
    last = stager.stages[-1].length if stager.stages else 0
    rule = (
        f"stage {len(stager.stages) + 1} must pass at most {params.false_alarm:g} of "
        f"the first class while it keeps {params.detection:g} of the second; in "
        f"{stager.n_rounds - last} rounds it reached {false_alarm:.3f} at "
        f"{detection:.3f}"
    )
    return Refusal("params.false_alarm", rule)


def lay_cascade(
    dataset: Dataset, params: BoostParams, rounds: Sequence[Round]
) -> Cascade:
    """Find the stages of rounds that `grow_cascade` has made on a dataset."""
    stager = Stager(dataset, params)
    for one in rounds:
        stager.feed(one.hypothesis, one.alpha)
    return stager.cascade()
