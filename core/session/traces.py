"""Sessions step by step: how probable which label was after every answer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.certification import N_STRATA, EarlyRule
from core.model.ensemble import Ensemble
from core.session.probability import decide


@dataclass(frozen=True)
class Traces:
    """The sessions of many rows under one budget, each asked to its end.

    What ends earlier than others stays as it ended.
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
    """Return traces from what was so far.

    `chances` (n_rows, n_steps, n_classes) and `spends` (n_rows, n_steps) count up to
    the step of each row's end, `ends` (n_rows,).
    """
    steps = np.minimum(np.arange(spends.shape[1]), ends[:, None])
    rows = np.arange(len(ends))[:, None]
    chances = np.ascontiguousarray(chances[rows, steps])
    labels = decide(ensemble, chances)
    confidences = np.take_along_axis(chances, labels[..., None], axis=-1)[..., 0]
    return Traces(confidences, labels, spends[rows, steps], chances[:, -1])


def count_stops(
    traces: Traces, rules: Sequence[EarlyRule], bounds: Sequence[int]
) -> tuple[IntArray, IntArray]:
    """Count where sessions stop by each of some rules, and where labels differ.

    A label differs where it isn't that of the session's end. Returns the counts,
    (n_rules, 2 * N_STRATA), and the sums of what is spent, (n_rules,). `bounds` are
    those of `Level`.
    """
    strata = (traces.spends[..., None] >= np.array(bounds, np.int64)).sum(axis=-1)
    counts = np.empty((len(rules), 2 * N_STRATA), np.int64)
    spends = np.empty(len(rules), np.int64)
    rows = np.arange(len(strata))
    for place, rule in enumerate(rules):
        may_stop = traces.confidences >= rule.threshold
        may_stop &= np.array(rule.opens)[strata]
        may_stop[:, -1] = True
        stops = may_stop.argmax(axis=1)
        differs = traces.labels[rows, stops] != traces.labels[:, -1]
        where = strata[rows, stops]
        counts[place, :N_STRATA] = np.bincount(where, minlength=N_STRATA)
        counts[place, N_STRATA:] = np.bincount(where[differs], minlength=N_STRATA)
        spends[place] = traces.spends[rows, stops].sum()
    return counts, spends
