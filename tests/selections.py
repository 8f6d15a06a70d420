"""Small tables to select features of."""

import numpy as np

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.selection.params import SelectionParams
from askless.core.selection.search import (
    Selection,
    select_subset,
)
from askless.core.selection.subset import make_subset
from askless.core.selection.table import make_selection_table
from tests.small import finish, table_of

LEARNERS = ("knn", "stump")


def run(dataset, **params) -> Selection:
    return finish(select_subset(dataset, SelectionParams(**params)))


def make_dataset(columns, targets, kinds=None, n_classes=2):
    """Rows of equal weight from columns; a category has eight values."""
    features = tuple(
        Feature(f"f{idx}", kind, categories=tuple("abcdefgh"[: 8 * (kind[0] == "c")]))
        for idx, kind in enumerate(kinds or ["number"] * len(columns))
    )
    return table_of(columns, targets, Catalogue(features), n_classes)


def subset_of(dataset, feature_idxs):
    return make_subset(make_selection_table(dataset), feature_idxs)


def kinds_of(dataset):
    return [feature.type for feature in dataset.catalogue.features]


def noisy(seed, n_samples=160):
    """Two features that tell the class together, a copy of one, and two of noise."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(4, n_samples))
    targets = x[0] + x[1] + 0.3 * generator.normal(size=n_samples) > 0
    return make_dataset([x[2], x[0], x[1], x[3], x[0]], targets)
