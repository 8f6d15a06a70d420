"""Tables whose rows are dealt to shards."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from askless.core.codes.binning import bin_values
from askless.core.training.boosting import initial_weights
from askless.core.training.params import BoostParams
from askless.core.training.rules import RULES
from tests import strategies
from tests.small import make_dataset

LEARNERS = ("stump", "tree", "product")
SEARCHES = ("all", "lazy", "ucb")


def tables_of(dataset, parts, label_weights="balanced"):
    binned, signed = (
        bin_values(dataset),
        initial_weights(dataset, label_weights),
    )
    return [(binned.take(rows), signed[rows]) for rows in parts]


def whole_of(dataset):
    return tables_of(dataset, [np.arange(dataset.n_samples)])


@st.composite
def boosted_tables(draw):
    """A table with gaps and rows of weight 0, of two or three classes, and its parting.

    Some parts may have no rows.
    """
    dataset = draw(strategies.datasets(max_rows=16))
    n_samples = dataset.n_samples
    if draw(st.booleans()):
        targets = np.array(draw(st.permutations(range(n_samples)))) % 3
        dataset = make_dataset(
            dataset.values, targets, 3, dataset.weights, dataset.catalogue
        )
    is_held_out = draw(st.lists(st.booleans(), min_size=n_samples, max_size=n_samples))
    weights = np.where(is_held_out, 0.0, dataset.weights)
    if weights.any():
        dataset = replace(dataset, weights=weights / weights.sum())
    n_parts = draw(st.integers(1, 7))
    numbers = st.integers(0, n_parts - 1)
    dealt = np.array(draw(st.lists(numbers, min_size=n_samples, max_size=n_samples)))
    return dataset, [np.flatnonzero(dealt == part) for part in range(n_parts)]


PARAMS = st.builds(
    BoostParams,
    st.sampled_from([*RULES]),
    rounds=st.integers(1, 5),
    learner=st.sampled_from(LEARNERS),
    leaves=st.integers(2, 4),
    factors=st.integers(2, 3),
    search=st.sampled_from(SEARCHES),
    search_size=st.integers(1, 3),
    switch=st.just(0.5),
)
