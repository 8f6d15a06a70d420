"""Values of core as the naive twins take them."""

from dataclasses import replace

import numpy as np

from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import LEAF, Hypothesis, Product, Stump
from askless.core.table.dataset import Dataset
from tests import naive, naive_hypotheses, naive_sessions


def shop_of(catalogue: Catalogue) -> naive.Shop:
    """Return the prices of a catalogue for the twins."""
    return naive.Shop(
        [feature.cost for feature in catalogue.features],
        [None if idx < 0 else int(idx) for idx in catalogue.group_idxs],
        [int(fee) for fee in catalogue.fees],
        [group.is_bundle for group in catalogue.groups],
        frozenset(np.flatnonzero(catalogue.is_per_call).tolist()),
    )


def rows_of(values: np.ndarray) -> list[list[float | None]]:
    """Return a table for the twins."""
    return [[None if cell != cell else cell for cell in row] for row in values.tolist()]


def on_cuts(hypothesis: Hypothesis, cuts: list[np.ndarray]) -> Hypothesis:
    """Return the hypothesis with each stump on a cut that the binned table knows."""
    moved = tuple(
        replace(stump, cut=float(its_cuts[np.argmin(np.abs(its_cuts - stump.cut))]))
        for stump, its_cuts in zip(hypothesis.stumps, cuts, strict=True)
    )
    if isinstance(hypothesis, Stump):
        return moved[0]
    return replace(hypothesis, stumps=moved)


def to_naive(hypothesis: Hypothesis):
    """Return a hypothesis for the twins."""
    if isinstance(hypothesis, Stump):
        return naive_hypotheses.Stump(
            hypothesis.feature_idx,
            hypothesis.cut,
            hypothesis.votes,
            hypothesis.is_category,
        )
    made = tuple(to_naive(stump) for stump in hypothesis.stumps)
    if isinstance(hypothesis, Product):
        return naive_hypotheses.Product(made)
    children = tuple(
        tuple(None if child == LEAF else child for child in pair)
        for pair in hypothesis.children
    )
    return naive_hypotheses.Tree(made, children)


def all_to_naive(ensemble: Ensemble) -> list:
    """Return the hypotheses of an ensemble for the twins."""
    return [to_naive(hypothesis) for hypothesis in ensemble.hypotheses]


def all_options(ensemble: Ensemble) -> list[list[float | None]]:
    """Return for each feature values that cover all that its stumps tell apart."""
    made = all_to_naive(ensemble)
    return [
        naive_sessions.options(
            made,
            idx,
            len(feature.categories) if feature.type == "category" else None,
        )
        for idx, feature in enumerate(ensemble.catalogue.features)
    ]


def targets_of(dataset: Dataset) -> list:
    """Return the targets for the twins."""
    if dataset.is_multilabel:
        return [set(np.flatnonzero(row).tolist()) for row in dataset.targets]
    return dataset.targets.tolist()
