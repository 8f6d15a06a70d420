"""Made tables of any size."""

import numpy as np

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.table.dataset import ClassLabel, Dataset

BLOCK = 10_000
SEED = 7


def make_table(
    n_samples: int,
    n_features: int,
    *,
    is_binary: bool = False,
    max_cost: float = 0.0,
    seed: int = SEED,
) -> Dataset:
    """Normal features, or their signs as 0 and 1; two classes.

    The class is the sign of a noisy sum over half of the features, which lie anywhere
    among the others. Made block by block, so that the table itself is the most memory
    that making it takes.
    """
    generator = np.random.default_rng(seed)
    values = np.empty((n_samples, n_features))
    slopes = generator.standard_normal(n_features // 2)
    telling = np.sort(generator.permutation(n_features)[: slopes.size])
    scores = np.empty(n_samples)
    for start in range(0, n_samples, BLOCK):
        block = values[start : start + BLOCK]
        generator.standard_normal(out=block)
        if is_binary:
            np.greater(block, 0.0, out=block)
        scores[start : start + BLOCK] = np.tanh(block[:, telling]) @ slopes
    scores -= scores.mean()
    noise = scores.std() / 2 * generator.standard_normal(n_samples)
    costs = np.full(n_features, MICROS_PER_UNIT)
    if max_cost:
        units = np.round(generator.uniform(0.0, max_cost, n_features), 6)
        costs = np.rint(units * MICROS_PER_UNIT).astype(np.int64)
    kind = "boolean" if is_binary else "number"
    return Dataset(
        catalogue=Catalogue(
            tuple(
                Feature(f"x{idx}", kind, cost=int(cost))
                for idx, cost in enumerate(costs)
            )
        ),
        classes=(ClassLabel("0", "0"), ClassLabel("1", "1")),
        values=values,
        targets=(scores + noise > 0).astype(np.int64),
        weights=np.full(n_samples, 1.0 / n_samples),
    )
