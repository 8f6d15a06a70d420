"""Reyzin (2010): the error against draws, as a table."""

import numpy as np

from askless.core.arrays import FloatArray
from benchmarks.documents import Rows, plus_minus
from benchmarks.intervals import interval
from benchmarks.papers.results import SetResults, Sets
from benchmarks.papers.reyzin import find_marks

SHOWN = (11, 31, 101, 311, 1001, 2501)


def fit_of_excess(found: SetResults) -> tuple[float, float]:
    """Determination of log(excess error) by the draws and by their logarithm.

    Over the marks where the excess is at least a tenth of AdaBoost's error, thinned to
    even steps of the logarithm.
    """
    full = float(found.mean("adaboost"))
    excess = found.mean("errors") - full
    wanted = np.unique(np.searchsorted(find_marks(), 1.15 ** np.arange(58)))
    idxs = np.array([i for i in wanted if i < excess.size and excess[i] > full / 10])
    draws, logs = find_marks()[idxs], np.log(excess[idxs])
    fits = [np.corrcoef(one, logs)[0, 1] ** 2 for one in (draws, np.log(draws))]
    return float(fits[0]), float(fits[1])


def unread(found: SetResults) -> dict[str, FloatArray]:
    """Share of features unread; what even draws would leave; by marks.

    `even_used`: even draws over the features that some round of AdaBoost reads.
    """
    n_features, n_used = (
        found.column(key)[:, None] for key in ("n_features", "n_used")
    )
    even = (1 - 1 / n_features) ** find_marks()
    used_left = n_used * (1 - 1 / n_used) ** find_marks()
    even_used = (n_features - n_used + used_left) / n_features
    measured = 1 - found.column("read") / n_features
    shares = {"measured": measured, "even": even, "even_used": even_used}
    return {key: share.mean(axis=0) for key, share in shares.items()}


def write_draws(sets: Sets) -> Rows:
    idxs = [int(np.argmin(abs(find_marks() - name))) for name in SHOWN]
    for title, found in sets.items():
        errors = found.column("errors")
        cells = [plus_minus(interval(errors[:, idx]), 1) for idx in idxs]
        yield title, *cells, *(f"{one:.2f}" for one in fit_of_excess(found))


TABLES = {
    "reyzin-draws": write_draws,
}
