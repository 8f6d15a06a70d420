"""Hypothesis strategies for small core values, full of the ugly cases.

Zero costs, groups with fees, bundles, missing cells, categories, constant columns.
Alphas are multiples of 1/8, so that votes add up without rounding.
"""

import numpy as np
from hypothesis import strategies as st

from core.model.ensemble import N_KNOTS, Calibration, Ensemble
from core.model.hypotheses import Stump
from core.table.catalogue import UNSEEN, Catalogue, Feature, Group
from core.table.dataset import ClassLabel, Dataset
from tests import naive

MICROS = 1_000_000
AMOUNTS = (0, 1, 500_000, MICROS, 2_100_000, 3 * MICROS, 7_270_000)
CLASSES = (ClassLabel("0", "no"), ClassLabel("1", "yes"))
NUMBERS = (-2.5, -1.0, 0.0, 1.0, 1.5, 4.0)


def amounts() -> st.SearchStrategy[int]:
    """Money in micro-units, 0 included."""
    return st.sampled_from(AMOUNTS)


def budgets() -> st.SearchStrategy[int | None]:
    """What a session may spend in micro-units; None: unlimited."""
    return st.none() | amounts() | st.integers(0, 20 * MICROS)


@st.composite
def catalogues(draw, max_features=6, max_groups=2, types=None) -> Catalogue:
    """One to six features, some of them in groups with a fee or in bundles."""
    n_features = draw(st.integers(1, max_features))
    n_groups = draw(st.integers(0, max_groups))
    members = draw(
        st.lists(
            st.integers(-1, n_groups - 1), min_size=n_features, max_size=n_features
        )
    )
    groups = {}
    for idx in sorted(set(members) - {-1}):
        name, amount = f"g{idx}", draw(amounts())
        is_bundle = draw(st.booleans())
        groups[idx] = (
            Group(name, price=amount) if is_bundle else Group(name, fee=amount)
        )
    features = []
    for idx, member in enumerate(members):
        group = groups.get(member)
        is_bundled = group is not None and group.is_bundle
        kind = draw(st.sampled_from(types or ("number", "boolean", "category")))
        n_categories = draw(st.integers(1, 4)) if kind == "category" else 0
        features.append(
            Feature(
                f"f{idx}",
                kind,
                cost=0 if is_bundled else draw(amounts()),
                group=None if group is None else group.name,
                categories=tuple("abcd"[:n_categories]),
            )
        )
    return Catalogue(tuple(features), tuple(groups.values()), "EUR")


def cells(
    feature: Feature, is_missing_allowed=True, has_unseen=False
) -> st.SearchStrategy[float]:
    """One cell as in `Dataset.values`; `has_unseen`: of rows training did not see."""
    if feature.type == "category":
        present = st.integers(0, len(feature.categories) - 1).map(float)
        if has_unseen:
            present |= st.just(UNSEEN)
    elif feature.type == "boolean":
        present = st.sampled_from((0.0, 1.0))
    else:
        present = st.sampled_from(NUMBERS)
    return present | st.just(float("nan")) if is_missing_allowed else present


@st.composite
def tables(
    draw, catalogue: Catalogue, min_rows=1, max_rows=12, has_unseen=False
) -> np.ndarray:
    """Values of some rows; float64 (n_rows, n_features)."""
    row = st.tuples(
        *[cells(feature, has_unseen=has_unseen) for feature in catalogue.features]
    )
    rows = draw(st.lists(row, min_size=min_rows, max_size=max_rows))
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(catalogue.features))


@st.composite
def datasets(draw, catalogue=None, min_rows=2, max_rows=12) -> Dataset:
    """Return a checked table with both classes and weights that sum to 1."""
    if catalogue is None:
        catalogue = draw(catalogues())
    values = draw(tables(catalogue, min_rows, max_rows))
    n_samples = values.shape[0]
    rest = draw(
        st.lists(st.integers(0, 1), min_size=n_samples - 2, max_size=n_samples - 2)
    )
    targets = np.array(draw(st.permutations([0, 1, *rest])), dtype=np.int64)
    weights = np.array(
        draw(st.lists(st.integers(1, 4), min_size=n_samples, max_size=n_samples)),
        dtype=np.float64,
    )
    row_groups = draw(
        st.none()
        | st.lists(
            st.integers(0, n_samples - 1), min_size=n_samples, max_size=n_samples
        )
    )
    if row_groups is not None:
        row_groups = np.unique(row_groups, return_inverse=True)[1].astype(np.int64)
    return Dataset(
        catalogue, CLASSES, values, targets, weights / weights.sum(), row_groups
    )


@st.composite
def stumps(draw, catalogue: Catalogue) -> Stump:
    """Return a stump on some feature of the catalogue."""
    idx = draw(st.integers(0, len(catalogue.features) - 1))
    feature = catalogue.features[idx]
    if feature.type == "category":
        cut = float(draw(st.integers(0, len(feature.categories) - 1)))
    elif feature.type == "boolean":
        cut = 0.5
    else:
        cut = draw(st.sampled_from((-1.75, -0.5, 0.5, 1.25, 2.75)))
    vote = draw(st.sampled_from((-1, 1)))
    return Stump(idx, cut, (vote,), feature.type == "category")


def calibrations(n_outputs: int = 1) -> st.SearchStrategy[Calibration]:
    """Coefficients whose slopes are not negative."""
    knot = st.tuples(*[st.integers(-8, 8).map(lambda k: k / 8)] * n_outputs)
    slope = st.integers(0, 24).map(lambda k: k / 8)
    return st.builds(
        Calibration, st.tuples(*[knot] * N_KNOTS), st.tuples(*[slope] * N_KNOTS)
    )


def calibration(offsets=(0.0,), slope=1.0) -> Calibration:
    """Return one that doesn't vary with the share known."""
    return Calibration((tuple(offsets),) * N_KNOTS, (slope,) * N_KNOTS)


@st.composite
def ensembles(
    draw, catalogue=None, min_hypotheses=1, max_hypotheses=10, policy=None
) -> Ensemble:
    """Return a valid ensemble over a catalogue, not the result of any training."""
    if catalogue is None:
        catalogue = draw(catalogues())
    hypotheses = draw(
        st.lists(stumps(catalogue), min_size=min_hypotheses, max_size=max_hypotheses)
    )
    alphas = draw(
        st.lists(st.integers(1, 24), min_size=len(hypotheses), max_size=len(hypotheses))
    )
    positive = draw(st.integers(1, 15)) / 16
    policy = policy or draw(st.sampled_from(("ordered", "sample")))
    fitted = ()
    if draw(st.booleans()):
        pair = draw(st.tuples(calibrations(), calibrations()))
        fitted = tuple(zip(("ordered", "sample"), pair, strict=True))
    costs = draw(st.none() | st.tuples(st.integers(1, 9), st.integers(1, 9)))
    if costs is not None:
        costs = ((0.0, float(costs[0])), (float(costs[1]), 0.0))
    return Ensemble(
        catalogue=catalogue,
        classes=CLASSES,
        hypotheses=tuple(hypotheses),
        alphas=tuple(alpha / 8 for alpha in alphas),
        priors=(1.0 - positive, positive),
        algorithm="adaboost_rs" if policy == "sample" else "adaboost_bt",
        policy=policy,
        calibrations=fitted,
        error_costs=costs,
    )


def shop_of(catalogue: Catalogue) -> naive.Shop:
    """Return the prices of a catalogue as `tests.naive` takes them."""
    return naive.Shop(
        [feature.cost for feature in catalogue.features],
        [None if idx < 0 else int(idx) for idx in catalogue.group_idxs],
        [int(fee) for fee in catalogue.fees],
        [group.is_bundle for group in catalogue.groups],
    )


def plain_stump(stump: Stump) -> tuple[int, float, int, bool]:
    """Return a stump of two classes as `tests.naive` takes it."""
    (vote,) = stump.votes
    return stump.feature_idx, stump.cut, vote, stump.is_category


def rows_of(values: np.ndarray) -> list[list[float | None]]:
    """Return a table as `tests.naive` takes it."""
    return [[None if cell != cell else cell for cell in row] for row in values.tolist()]
