"""The class probabilities and the spend of sessions after every answer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.certificates import N_STRATA, EarlyRule
from askless.core.model.ensemble import Ensemble
from askless.core.session.probability import decide_label


@dataclass(frozen=True)
class Traces:
    """The sessions of many rows under one budget, each asked to its end.

    A session that ends earlier than others keeps the figures of its end.
    """

    #: (n_rows, n_steps), of the label
    confidences: FloatArray
    #: (n_rows, n_steps)
    labels: IntArray
    #: (n_rows, n_steps), in micro-units
    spends: IntArray
    #: (n_rows, n_classes), at the end
    chances: FloatArray


def make_traces(
    ensemble: Ensemble, chances: FloatArray, spends: IntArray, ends: IntArray
) -> Traces:
    """Return traces from the chances and spends after each step.

    `chances` (n_rows, n_steps, n_classes) and `spends` (n_rows, n_steps) are valid up
    to the last step of each row, `ends` (n_rows,).
    """
    steps = np.minimum(np.arange(spends.shape[1]), ends[:, None])
    rows = np.arange(len(ends))[:, None]
    chances = np.ascontiguousarray(chances[rows, steps])
    labels = decide_label(ensemble, chances)
    confidences = np.take_along_axis(chances, labels[..., None], axis=-1)[..., 0]
    return Traces(confidences, labels, spends[rows, steps], chances[:, -1])


@dataclass(frozen=True)
class Stops:
    """The stops of sessions by some rules; (n_rules, n_rows)."""

    strata: IntArray
    labels: IntArray
    #: whether the label isn't the one at the session's end
    differs: BoolArray
    #: in micro-units
    spends: IntArray

    def count(self) -> IntArray:
        """Count stops, then differing labels, by stratum; (n_rules, 2 * N_STRATA)."""
        shape = (len(self.strata), N_STRATA)
        counts = np.zeros((2, *shape), np.int64)
        for place, (strata, differs) in enumerate(
            zip(self.strata, self.differs, strict=True)
        ):
            counts[0, place] = np.bincount(strata, minlength=N_STRATA)
            counts[1, place] = np.bincount(strata[differs], minlength=N_STRATA)
        return np.hstack((counts[0], counts[1]))


def locate_stops(
    traces: Traces, rules: Sequence[EarlyRule], bounds: Sequence[int]
) -> Stops:
    """Return the steps at which sessions stop by each rule; `bounds` as in `Level`."""
    strata = (traces.spends[..., None] >= np.array(bounds, np.int64)).sum(axis=-1)
    rows = np.arange(len(strata))
    stops = np.empty((len(rules), rows.size), np.int64)
    for place, rule in enumerate(rules):
        may_stop = traces.confidences >= rule.threshold
        may_stop &= np.array(rule.opens)[strata]
        # Every session stops at its end at the latest.
        may_stop[:, -1] = True
        stops[place] = may_stop.argmax(axis=1)
    labels = traces.labels[rows, stops]
    differs: BoolArray = labels != traces.labels[:, -1]
    return Stops(strata[rows, stops], labels, differs, traces.spends[rows, stops])
