"""Attentional cascades: stages of boosted hypotheses, each of which rejects early.

A row is of the second class if it passes every stage (Viola and Jones 2004).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from askless.core.catalogue.prices import Paid, pay
from askless.core.codes.binning import bin_values
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Cascade
from askless.core.table.dataset import Dataset
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from askless.core.training.stages import StageRows, StageTracker

RULE = "adaboost_bt_greedy"


def grow_cascade(
    dataset: Dataset,
    params: BoostParams,
    done: Sequence[Round] = (),
    is_strict: bool = True,
) -> Iterator[Round]:
    """Boost a cascade, one hypothesis a round, stage after stage.

    Of two classes the second is the one to detect. There are at most `stages` stages of
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
    passes it, as a session without these answers goes on. That is ours: Viola and Jones
    have no missing values.
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
            paid = pay(dataset.catalogue, paid, earlier.hypothesis.feature_idxs)
            has_ended = tracker.add_round(earlier.hypothesis, earlier.alpha)
        # The whole stage was done before the interruption.
        if has_ended:
            continue
        table = make_stage_dataset(dataset, rows)
        shards = [(bin_values(table), initial_weights(table))]
        for added in boost(
            shards, table.catalogue, stage_params, repeated, paid_before
        ):
            paid = pay(dataset.catalogue, paid, added.hypothesis.feature_idxs)
            has_ended = tracker.add_round(added.hypothesis, added.alpha)
            yield replace(added, number=number + added.number)
            if has_ended:
                break
        if not has_ended:
            if is_strict:
                raise RefusedError([refuse_missed_rates(tracker)])
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


def refuse_missed_rates(tracker: StageTracker) -> Refusal:
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
