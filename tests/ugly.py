"""Tables for the searches of best stumps, ugly and random, and what is naively right.

Drawn by hypothesis: `dyadic_tables`.
"""

import numpy as np

from tests import small

NAN = float("nan")


def table_of(columns, targets, weights, types):
    return small.table_of(columns, targets, types=types, weights=weights)


def random_table(n_samples, n_features, seed=0):
    """Numbers, booleans and categories with missing cells, weights unlike."""
    generator = np.random.default_rng(seed)
    types = [("number", "category", "boolean")[i % 3] for i in range(n_features)]
    columns = [
        generator.integers(0, 2 if kind == "boolean" else 7, n_samples).astype(float)
        for kind in types
    ]
    for column in columns[1:]:
        column[generator.random(n_samples) < 0.2] = NAN
    weights = generator.random(n_samples) + 0.1
    targets = np.arange(n_samples) % 2
    return table_of(columns, targets, weights / weights.sum(), types)


UGLY = {
    "one sample": table_of([[1.0]], [1], [1.0], ["number"]),
    "one missing sample": table_of([[NAN]], [0], [1.0], ["number"]),
    "constant column": table_of([[2, 2], [0, 1]], [0, 1], [0.5, 0.5], ["number"] * 2),
    "empty column": table_of([[NAN, NAN], [0, 1]], [0, 1], [0.5, 0.5], ["number"] * 2),
    "constant category": table_of(
        [[1, 1, NAN], [0, 1, 0]], [1, 1, 0], [0.5, 0.25, 0.25], ["category"] * 2
    ),
    "only missing differs": table_of([[NAN, 1]], [0, 1], [0.5, 0.5], ["number"]),
    "tied cuts": table_of([[0, 1, 2, 3]], [0, 1, 0, 1], [0.25] * 4, ["number"]),
    "tied categories": table_of([[0, 1, 2, 3]], [0, 1, 0, 1], [0.25] * 4, ["category"]),
    "two categories": table_of([[0, 1, 1, 0]], [0, 1, 1, 0], [0.25] * 4, ["category"]),
    "no edge": table_of([[0, 0, 1, 1]], [0, 1, 0, 1], [0.25] * 4, ["number"]),
    "zero weight": table_of([[0, 1, 2]], [0, 1, 0], [0.5, 0.5, 0.0], ["number"]),
    "all zero but one": table_of([[0, 1, 2]], [0, 1, 0], [0.0, 1.0, 0.0], ["number"]),
    "odd rows": table_of([[0, 1, 2, 3, 4]], [1, 1, 0, 0, 1], [0.125] * 5, ["number"]),
    "weightless row": table_of(
        [[0, 1, 2, 3]], [0, 1, 0, 1], [0.25, 0.5, 2.0**-60, 0.25], ["number"]
    ),
    "four twins": table_of(
        [[3, 1, 2]] * 4, [0, 1, 0], [0.5, 0.25, 0.25], ["number"] * 4
    ),
}
