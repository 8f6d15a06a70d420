"""Fit how often offers come back empty: one kind of cases, or two."""

import math

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, evenly_spaced
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ladder.emptiness import (
    LEAST_CHANCE,
    CaseKind,
    Emptiness,
    log_chances_of_rows,
)
from askless.core.table.dataset import Dataset
from askless.core.table.silent import mask_of_silent

# A chance within a kind is fitted as if so many cases more had the offer's rate.
PRIOR_CASES = 10.0
# Steps of expectation and maximisation.
N_STEPS = 60
MOST_ROWS = 10_000


def fit_emptiness(dataset: Dataset) -> Emptiness | None:
    """Return the emptiness of a table's offers; None where no offer is ever empty.

    Two kinds of cases replace one where they raise the log-likelihood of the rows by
    more than half the log of their number for each parameter that they add (BIC;
    Schwarz 1978). Very many rows are represented by some.
    """
    catalogue = dataset.catalogue
    dataset = dataset.take(evenly_spaced(dataset.n_samples, MOST_ROWS))
    is_empty, is_asked = mark_empty_offers(dataset)
    if not is_empty.any():
        return None
    shares, chances, least = fit_kinds(is_empty, is_asked, dataset.weights, 1)
    pair = fit_kinds(is_empty, is_asked, dataset.weights, 2)
    n_added = len(catalogue.offers) + 1
    if pair[2] - least > n_added / 2 * math.log(dataset.n_samples):
        shares, chances, _ = pair
    # What never came back empty is not expected to.
    by_feature = (chances * is_empty.any(axis=0))[:, catalogue.offer_idxs]
    kinds = zip(shares.tolist(), by_feature, strict=True)
    return Emptiness(tuple(CaseKind(share, row) for share, row in kinds))


def mark_empty_offers(dataset: Dataset) -> tuple[BoolArray, BoolArray]:
    """Return which offers came back empty, and which were asked; (n_rows, n_offers)."""
    values, catalogue = dataset.values, dataset.catalogue
    is_asked = ~mask_offers(catalogue, mask_of_silent(values))
    return mask_offers(catalogue, np.isnan(values)) & is_asked, is_asked


def mask_offers(catalogue: Catalogue, is_marked: BoolArray) -> BoolArray:
    """Return which offers have all of their cells marked; (n_rows, n_offers)."""
    is_all = np.take(is_marked, [first for first, *_ in catalogue.offers], axis=1)
    for idx, (_, *others) in enumerate(catalogue.offers):
        if others:
            is_all[:, idx] &= is_marked[:, others].all(axis=1)
    return is_all


def fit_kinds(
    is_empty: BoolArray, is_asked: BoolArray, weights: FloatArray, n_kinds: int
) -> tuple[FloatArray, FloatArray, float]:
    """Fit kinds of cases by expectation and maximisation.

    Returns their shares, (n_kinds,), the chances of offers, (n_kinds, n_offers), and
    the log-likelihood of the rows. The first step ranks the rows by how much more often
    than usual they are empty.
    """
    weights = weights * (len(weights) / max(weights.sum(), LEAST_CHANCE))
    empty, asked = is_empty.astype(np.float64), is_asked.astype(np.float64)
    rates = (weights @ empty + 1.0) / (weights @ asked + 2.0)
    excess = (empty - asked * rates).sum(axis=1)
    ranks = np.argsort(np.argsort(excess, kind="stable"), kind="stable")
    parts = 0.9 * np.eye(n_kinds)[ranks * n_kinds // len(ranks)] + 0.1 / n_kinds
    for _ in range(N_STEPS if n_kinds > 1 else 1):
        held = parts * weights[:, None]
        n_empty, n_asked = held.T @ empty, held.T @ asked
        chances = (n_empty + PRIOR_CASES * rates) / (n_asked + PRIOR_CASES)
        shares = (held.sum(axis=0) + 1.0) / (held.sum() + n_kinds)
        logs = log_chances_of_rows(is_empty, is_asked, shares, chances)
        largest = logs.max(axis=1, keepdims=True)
        parts = np.exp(logs - largest)
        sums = parts.sum(axis=1, keepdims=True)
        parts /= sums
    return shares, chances, float(weights @ (largest + np.log(sums))[:, 0])
