"""Tables on which one feature says which other decides, and panels made up for them."""

import numpy as np

from askless.core import kernels
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ladder.blends import Blend, LogisticRidge, Trees
from askless.core.model.ladder.columns import NUMBER_CODE, Columns
from askless.core.model.ladder.panels import Panel
from askless.core.table.dataset import Dataset
from tests.panels import NEVER_HIDDEN
from tests.small import MICROS, make_dataset


def indicator(
    n_rows: int = 240, n_parts: int = 2, seed: int = 0, root_cost: int = MICROS
) -> Dataset:
    """Rows whose class is the feature that the first one names; it tells no class."""
    random = np.random.default_rng(seed)
    context = np.arange(n_rows) % n_parts
    bits = random.integers(0, 2, (n_rows, n_parts))
    values = np.column_stack((context, bits)).astype(float)
    others = (Feature(f"x{idx}") for idx in range(n_parts))
    catalogue = Catalogue((Feature("context", cost=root_cost), *others))
    targets = bits[np.arange(n_rows), context]
    return make_dataset(values, targets, 2, catalogue=catalogue)


def teller(order: tuple[int, ...], told_by: int | None = None) -> Panel:
    """A panel of two classes that says what a boolean feature says, or nothing."""
    n_columns = len(order)
    zeros, ones = np.zeros(n_columns), np.ones(n_columns)
    codes = np.full(n_columns, NUMBER_CODE)
    columns = Columns(np.array(order), codes, zeros, 9 * ones, zeros, ones)
    slopes = np.array([[8.0 * (idx == told_by)] for idx in order])
    ridge = LogisticRidge(slopes, np.array([0.0 if told_by is None else -4.0]))
    nowhere = kernels.ServedTrees(
        np.zeros((0, kernels.N_NODE), np.int64),
        np.zeros(0),
        np.array([-1]),
        np.array([0]),
        np.zeros(1),
        np.zeros(0),
    )
    blend = Blend(columns, Trees(np.zeros(1), nowhere), (ridge,), np.array([0.0, 1.0]))
    loss = 0.69 if told_by is None else 0.02
    return Panel(order, loss, frozenset(), blend, (NEVER_HIDDEN,) * n_columns)
