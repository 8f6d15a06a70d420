"""Error and spend against budget over many sessions."""

from collections.abc import Sequence

import numpy as np

from core.arrays import BoolArray, FloatArray
from core.model.ensemble import Ensemble
from core.model.model import Curve
from core.model.votes import TIE, label_votes
from core.session.probability import decide
from core.session.simulate import class_probabilities, class_votes, walk
from core.session.state import Aim
from core.session.walks import Walks
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
    aims: Sequence[Aim | None] | None = None,
) -> Curve:
    """Error and spend against budget over the rows of a dataset.

    The dataset has the ensemble's catalogue and classes; all else is as in `walk`. The
    curve is weighted by the rows' weights. Its `errors` are those of the raw vote,
    `errors_calibrated` those of the label decided from the probability; of a
    multi-label dataset both are the Hamming loss of the votes.
    """
    weights = dataset.weights
    streams = range(dataset.n_samples) if streams is None else streams
    n_margins = max(1, len(budgets) * ensemble.n_outputs)
    n_rows = max(1, MAX_MARGINS // n_margins)
    parts = []
    for start in range(0, max(1, dataset.n_samples), n_rows):
        rows = slice(start, start + n_rows)
        part, keys = dataset.take(rows), streams[rows]
        walks = walk(
            ensemble, part.values, budgets, policy, seed, streams=keys, aims=aims
        )
        parts.append((*judge(ensemble, part, walks), walks.spent))
    wrong_votes, wrong_labels, spent = map(np.concatenate, zip(*parts, strict=True))
    return Curve(
        budgets=tuple(budgets),
        errors=tuple((weights @ wrong_votes).tolist()),
        errors_calibrated=tuple((weights @ wrong_labels).tolist()),
        mean_spends=tuple((weights @ spent).tolist()),
        max_spends=tuple(spent.max(axis=0, initial=0).tolist()),
        n_samples=dataset.n_samples,
        n_effective=count_effective(dataset),
    )


def count_effective(dataset: Dataset) -> float | None:
    """Return how many independent rows of equal weight would say as much.

    1/sum(w^2) over the weights (Kish 1965). Rows that belong together count as one row
    of all their weight, as if they always erred together. None: all rows, where each
    stands for itself.
    """
    weights = dataset.weights
    if dataset.row_groups is not None:
        counted = np.bincount(dataset.row_group_idxs, weights)
        weights = counted.astype(np.float64)
    elif weights.max(initial=0.0) <= (1.0 + TIE) * weights.min(initial=1.0):
        return None
    return float(1.0 / (weights**2).sum())


def judge(
    ensemble: Ensemble, dataset: Dataset, walks: Walks
) -> tuple[FloatArray | BoolArray, FloatArray | BoolArray]:
    """Find where the rows' votes and labels are wrong; (n_rows, n_budgets).

    Of several labels the share that is wrong.
    """
    targets = dataset.targets[:, None]
    if ensemble.is_multilabel:
        shares = (label_votes(ensemble, walks.margins) != targets).mean(axis=-1)
        return shares, shares
    votes = class_votes(ensemble, walks)
    labels = decide(ensemble, class_probabilities(ensemble, walks))
    return votes != targets, labels != targets
