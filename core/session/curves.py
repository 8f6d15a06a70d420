"""Error and spend against budget over many sessions."""

from collections.abc import Sequence

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.model import Curve
from core.model.votes import label_votes
from core.session.probability import decide
from core.session.simulate import class_probabilities, class_votes, walk
from core.table.dataset import Dataset

# Of `evaluate` at a time: 64 MB.
MAX_MARGINS = 1 << 23


def evaluate(
    ensemble: Ensemble,
    dataset: Dataset,
    budgets: Sequence[int | None],
    policy: str | None = None,
    seed: int = 0,
    streams: Sequence[int] | None = None,
) -> Curve:
    """Error and spend against budget over the rows of a dataset.

    Parameters
    ----------
    dataset : Dataset
        With the ensemble's catalogue and classes.
    budgets : sequence of int or None
        In micro-units; None: unlimited.
    policy, seed, streams
        As in `walk`.

    Returns
    -------
    Curve
        Weighted by the rows' weights. `errors` are those of the raw vote,
        `errors_calibrated` those of the label decided from the probability; of a
        multi-label dataset both are the Hamming loss of the votes.
    """
    weights = dataset.weights
    streams = range(dataset.n_samples) if streams is None else streams
    n_margins = max(1, len(budgets) * ensemble.n_outputs)
    n_rows = max(1, MAX_MARGINS // n_margins)
    starts = range(0, max(1, dataset.n_samples), n_rows)
    slices = [slice(start, start + n_rows) for start in starts]
    parts = [
        judge(ensemble, dataset.take(rows), budgets, policy, seed, streams[rows])
        for rows in slices
    ]
    wrong_votes, wrong_labels, spent = map(np.concatenate, zip(*parts, strict=True))
    return Curve(
        budgets=tuple(budgets),
        errors=tuple((weights @ wrong_votes).tolist()),
        errors_calibrated=tuple((weights @ wrong_labels).tolist()),
        mean_spends=tuple((weights @ spent).tolist()),
        max_spends=tuple(spent.max(axis=0, initial=0).tolist()),
        n_samples=dataset.n_samples,
    )


def judge(
    ensemble: Ensemble,
    dataset: Dataset,
    budgets: Sequence[int | None],
    policy: str | None,
    seed: int,
    streams: Sequence[int],
) -> tuple[FloatArray | BoolArray, FloatArray | BoolArray, IntArray]:
    """Find where the rows' votes and labels are wrong, and what they spent.

    All (n_rows, n_budgets); of several labels the share that is wrong.
    """
    walks = walk(ensemble, dataset.values, budgets, policy, seed, streams=streams)
    targets = dataset.targets[:, None]
    if ensemble.is_multilabel:
        is_wrong = label_votes(ensemble, walks.margins) != targets
        shares = is_wrong.mean(axis=-1)
        return shares, shares, walks.spent
    votes = class_votes(ensemble, walks, policy)
    labels = decide(ensemble, class_probabilities(ensemble, walks, policy))
    return votes != targets, labels != targets, walks.spent
