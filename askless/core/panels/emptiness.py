"""Fit how often offers come back empty: one kind of cases, or two."""

import math

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, evenly_spaced
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ladder.emptiness import LEAST_CHANCE, CaseKind, Emptiness
from askless.core.table.dataset import Dataset
from askless.core.table.silent import mask_of_silent

# A chance within a kind is fitted as if so many cases more had the offer's rate.
PRIOR_CASES = 10.0
# Steps of expectation and maximisation.
N_STEPS = 60
N_FOLDS, MOST_ROWS = 5, 10_000
# Two kinds must tell this many standard errors more than one about rows held out.
N_ERRORS = 2.0


def fit_emptiness(dataset: Dataset) -> Emptiness | None:
    """Return the emptiness of a table's offers; None where no offer is ever empty.

    Two kinds of cases are told apart where that makes the answers of held-out rows,
    all of a row together, more probable than the rates of offers do. Very many rows are
    represented by some.
    """
    catalogue = dataset.catalogue
    dataset = dataset.take(evenly_spaced(dataset.n_samples, MOST_ROWS))
    is_asked = ~mask_offers(catalogue, mask_of_silent(dataset.values))
    is_empty = mask_offers(catalogue, np.isnan(dataset.values)) & is_asked
    if not is_empty.any():
        return None
    numbers = np.arange(dataset.n_samples) % N_FOLDS
    gains = np.zeros(dataset.n_samples)
    for fold in range(N_FOLDS):
        is_out = numbers == fold
        seen = is_empty[~is_out], is_asked[~is_out], dataset.weights[~is_out]
        judged = is_empty[is_out], is_asked[is_out]
        for n_kinds, sign in ((1, -1.0), (2, 1.0)):
            shares, chances = fit_kinds(*seen, n_kinds)
            logs = log_chances_of_rows(*judged, shares, chances)
            most = logs.max(axis=1)
            gains[is_out] += sign * (most + np.log(np.exp(logs.T - most).sum(axis=0)))
    error = gains.std() / math.sqrt(gains.size)
    n_kinds = 1 + int(gains.mean() > N_ERRORS * error)
    shares, chances = fit_kinds(is_empty, is_asked, dataset.weights, n_kinds)
    # What never came back empty is not expected to.
    return make_emptiness(catalogue, shares, chances * is_empty.any(axis=0))


def make_emptiness(
    catalogue: Catalogue, shares: FloatArray, chances: FloatArray
) -> Emptiness:
    """Return the kinds of cases, with the chance of each feature's offer."""
    by_feature = np.zeros((len(shares), len(catalogue.features)))
    for number, offer in enumerate(catalogue.offers):
        by_feature[:, list(offer)] = chances[:, number, None]
    kinds = zip(shares.tolist(), by_feature, strict=True)
    return Emptiness(tuple(CaseKind(share, row) for share, row in kinds))


def mask_offers(catalogue: Catalogue, is_marked: BoolArray) -> BoolArray:
    """Return which offers have all of their cells marked; (n_rows, n_offers)."""
    columns = [is_marked[:, list(offer)].all(axis=1) for offer in catalogue.offers]
    return np.column_stack(columns)


def fit_kinds(
    is_empty: BoolArray, is_asked: BoolArray, weights: FloatArray, n_kinds: int
) -> tuple[FloatArray, FloatArray]:
    """Return shares of kinds and chances of offers by expectation and maximisation.

    Shapes (n_kinds,) and (n_kinds, n_offers). It begins with rows in the order of how
    much more often than usual they are empty.
    """
    weights = weights * (len(weights) / max(weights.sum(), LEAST_CHANCE))
    empty, there = (
        is_empty.astype(np.float64),
        (is_asked & ~is_empty).astype(np.float64),
    )
    asked = weights @ (empty + there)
    rates = (weights @ empty + 1.0) / (asked + 2.0)
    excess = (empty * (1.0 - rates) - there * rates).sum(axis=1)
    ranks = np.argsort(np.argsort(excess, kind="stable"), kind="stable")
    parts = np.eye(n_kinds)[ranks * n_kinds // len(ranks)]
    parts = 0.9 * parts + 0.1 / n_kinds
    for _ in range(N_STEPS if n_kinds > 1 else 1):
        held = parts * weights[:, None]
        counts = held.T @ empty, held.T @ (empty + there)
        chances = (counts[0] + PRIOR_CASES * rates) / (counts[1] + PRIOR_CASES)
        chances = np.clip(chances, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
        shares = (held.sum(axis=0) + 1.0) / (held.sum() + n_kinds)
        logs = log_chances_of_rows(is_empty, is_asked, shares, chances)
        parts = np.exp(logs - logs.max(axis=1, keepdims=True))
        parts /= parts.sum(axis=1, keepdims=True)
    return shares, chances


def log_chances_of_rows(
    is_empty: BoolArray, is_asked: BoolArray, shares: FloatArray, chances: FloatArray
) -> FloatArray:
    """Return the log chance of each row's answers together with each kind."""
    empty = (is_empty & is_asked).astype(np.float64)
    there = (is_asked & ~is_empty).astype(np.float64)
    logs: FloatArray = np.log(shares) + empty @ np.log(chances).T
    return logs + there @ np.log1p(-chances).T
