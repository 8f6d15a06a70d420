"""Play rows of a table as sessions, each under its own budget."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import multilabel_votes
from askless.core.session.probability import compute_label_chances, decide_label
from askless.core.session.rows.walks import Walks
from askless.core.session.state import Aim, Spend
from askless.core.simulation.simulate import class_probabilities, simulate


class TableRows(NamedTuple):
    """A table's values, (n_rows, n_features), and the random streams of its rows."""

    values: FloatArray
    streams: Sequence[int]
    seed: int


class Outcomes(NamedTuple):
    """Labels, chances and spends at the ends of the rows' sessions."""

    #: class positions, (n_rows,); for a multi-label ensemble 0 or 1, (n_rows, n)
    labels: IntArray
    #: (n_rows, n_classes)
    chances: FloatArray
    #: in micro-units; (n_rows,)
    spent: IntArray
    #: (n_rows, n_features); as in `Walks`
    ranks: IntArray


def simulate_each(
    ensemble: Ensemble,
    rows: TableRows,
    limits: Sequence[int | None],
    policy: str | None,
    aim: Aim | None,
    spend: Spend = "worthwhile",
) -> Outcomes:
    """Simulate a session for each row, under its own budget.

    `limits` (n_rows) are in micro-units, None: unlimited. Rows of one budget are
    simulated together, all with the same `policy`, `aim` and `spend`, as in `simulate`.
    """
    n_rows, n_classes = rows.values.shape[0], len(ensemble.classes)
    shape = (n_rows, n_classes) if ensemble.is_multilabel else (n_rows,)
    ends = Outcomes(
        labels=np.zeros(shape, np.int64),
        chances=np.zeros((n_rows, n_classes)),
        spent=np.zeros(n_rows, np.int64),
        ranks=np.zeros(rows.values.shape, np.int64),
    )
    rows_by_limit: dict[int | None, list[int]] = {}
    for row, limit in enumerate(limits):
        rows_by_limit.setdefault(limit, []).append(row)
    for limit, idxs in rows_by_limit.items():
        walks = simulate(
            ensemble,
            rows.values[idxs],
            [limit],
            policy,
            rows.seed,
            needs_ranks=True,
            streams=[rows.streams[idx] for idx in idxs],
            aims=[aim],
            spend=spend,
        )
        ends.labels[idxs], ends.chances[idxs] = label_ends(ensemble, walks)
        ends.spent[idxs], ends.ranks[idxs] = walks.spent[:, 0], walks.ranks
    return ends


def label_ends(ensemble: Ensemble, walks: Walks) -> tuple[IntArray, FloatArray]:
    """Return the labels and chances at the ends of walks under one budget."""
    if ensemble.is_multilabel:
        labels = multilabel_votes(ensemble, walks.margins[:, 0]).astype(np.int64)
        return labels, compute_label_chances(ensemble, walks.scores[:, 0])
    chances = class_probabilities(ensemble, walks)[:, 0]
    return decide_label(ensemble, chances), chances
