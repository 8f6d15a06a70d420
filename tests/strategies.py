"""Hypothesis strategies for small core values, full of the ugly cases.

Zero costs, groups with fees, bundles, empty answers that cost, missing cells,
categories, constant columns. Alphas are multiples of 1/8, so that votes add up without
rounding. Random trees may read a feature twice on a path, as no training would make
them.
"""

import numpy as np
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature, Group
from askless.core.model.ensemble import N_KNOTS, Calibration, Ensemble
from askless.core.model.hypotheses import LEAF, Hypothesis, Product, Stump, Tree
from askless.core.table.dataset import Dataset, count_outputs
from tests.small import MICROS, classes_of

AMOUNTS = (0, 1, 500_000, MICROS, 2_100_000, 3 * MICROS, 7_270_000)
NUMBERS = (-2.5, -1.0, 0.0, 1.0, 1.5, 4.0)


def amounts() -> st.SearchStrategy[int]:
    """Money in micro-units, 0 included."""
    return st.sampled_from(AMOUNTS)


def billings() -> st.SearchStrategy[str]:
    """What an empty answer costs: nothing, or the price."""
    return st.sampled_from(("per_answer", "per_call"))


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
        is_bundle, billing = draw(st.booleans()), draw(billings())
        groups[idx] = (
            Group(name, price=amount, billing=billing)
            if is_bundle
            else Group(name, fee=amount)
        )
    features = []
    for idx, member in enumerate(members):
        group = groups.get(member)
        is_bundled = group is not None and group.is_bundle
        billing = group.billing if is_bundled else draw(billings())
        kind = draw(st.sampled_from(types or ("number", "boolean", "category")))
        n_categories = draw(st.integers(1, 4)) if kind == "category" else 0
        features.append(
            Feature(
                f"f{idx}",
                kind,
                cost=0 if is_bundled else draw(amounts()),
                group=None if group is None else group.name,
                categories=tuple("abcd"[:n_categories]),
                billing=billing,
            )
        )
    return Catalogue(tuple(features), tuple(groups.values()), "EUR")


def cells(feature: Feature, has_unseen=True) -> st.SearchStrategy[float]:
    """One cell as in `Dataset.values`; `has_unseen`: of rows training did not see."""
    if feature.type == "category":
        present = st.integers(0, len(feature.categories) - 1).map(float)
        if has_unseen:
            present |= st.just(UNSEEN)
    elif feature.type == "boolean":
        present = st.sampled_from((0.0, 1.0))
    else:
        present = st.sampled_from(NUMBERS)
    return present | st.just(float("nan"))


@st.composite
def tables(
    draw, catalogue: Catalogue, min_rows=1, max_rows=6, has_unseen=True
) -> np.ndarray:
    """Values of some rows; float64 (n_rows, n_features)."""
    row = st.tuples(*[cells(feature, has_unseen) for feature in catalogue.features])
    rows = draw(st.lists(row, min_size=min_rows, max_size=max_rows))
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(catalogue.features))


@st.composite
def datasets(draw, catalogue=None, min_rows=2, max_rows=12) -> Dataset:
    """Return a checked table with both classes and weights that sum to 1."""
    if catalogue is None:
        catalogue = draw(catalogues())
    values = draw(tables(catalogue, min_rows, max_rows, has_unseen=False))
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
        catalogue, classes_of(2), values, targets, weights / weights.sum(), row_groups
    )


@st.composite
def stumps(draw, catalogue: Catalogue, n_outputs: int = 1) -> Stump:
    """Return a stump on some feature of the catalogue, with a vote per output."""
    idx = draw(st.integers(0, len(catalogue.features) - 1))
    feature = catalogue.features[idx]
    if feature.type == "category":
        cut = float(draw(st.integers(0, len(feature.categories) - 1)))
    elif feature.type == "boolean":
        cut = 0.5
    else:
        cut = draw(st.sampled_from((-1.75, -0.5, 0.5, 1.25, 2.75)))
    votes = draw(st.tuples(*[st.sampled_from((-1, 1))] * n_outputs))
    return Stump(idx, cut, votes, feature.type == "category")


@st.composite
def trees(draw, catalogue: Catalogue, n_outputs: int, max_stumps=4) -> Tree:
    """Return a tree of one to four stumps, in the order in which they were grown."""
    n_stumps = draw(st.integers(1, max_stumps))
    nodes = draw(
        st.lists(stumps(catalogue, n_outputs), min_size=n_stumps, max_size=n_stumps)
    )
    children = [[LEAF, LEAF]]
    for position in range(1, n_stumps):
        places = [
            (parent, side)
            for parent, pair in enumerate(children)
            for side in range(2)
            if pair[side] == LEAF
        ]
        parent, side = draw(st.sampled_from(places))
        children[parent][side] = position
        children.append([LEAF, LEAF])
    return Tree(tuple(nodes), tuple((above, below) for above, below in children))


@st.composite
def products(draw, catalogue: Catalogue, n_outputs: int, max_stumps=4) -> Product:
    """Return a product of one to four stumps."""
    factors = st.lists(stumps(catalogue, n_outputs), min_size=1, max_size=max_stumps)
    return Product(tuple(draw(factors)))


def hypotheses(catalogue: Catalogue, n_outputs: int) -> st.SearchStrategy[Hypothesis]:
    """Return a stump, a tree or a product."""
    return (
        stumps(catalogue, n_outputs)
        | trees(catalogue, n_outputs)
        | products(catalogue, n_outputs)
    )


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
    draw,
    catalogue=None,
    n_classes=None,
    min_hypotheses=1,
    max_hypotheses=5,
    policy=None,
    kinds=hypotheses,
) -> Ensemble:
    """Return an ensemble of anything over a catalogue, for two to four classes."""
    if catalogue is None:
        catalogue = draw(catalogues())
    if n_classes is None:
        n_classes = draw(st.integers(2, 4))
    n_outputs = count_outputs(n_classes, is_multilabel=False)
    found = draw(
        st.lists(
            kinds(catalogue, n_outputs),
            min_size=min_hypotheses,
            max_size=max_hypotheses,
        )
    )
    alphas = draw(
        st.lists(st.integers(1, 24), min_size=len(found), max_size=len(found))
    )
    parts = draw(st.lists(st.integers(1, 4), min_size=n_classes, max_size=n_classes))
    policy = policy or draw(st.sampled_from(("ordered", "sample")))
    fitted = ()
    if draw(st.booleans()):
        one = calibrations(n_outputs)
        fitted = (("ordered", draw(one)), ("sample", draw(one)))
    costs = None
    if draw(st.booleans()):
        numbers = draw(
            st.lists(st.integers(1, 9), min_size=n_classes**2, max_size=n_classes**2)
        )
        square = np.array(numbers, np.float64).reshape(n_classes, n_classes)
        np.fill_diagonal(square, 0.0)
        costs = tuple(tuple(row) for row in square.tolist())
    return Ensemble(
        catalogue=catalogue,
        classes=classes_of(n_classes),
        hypotheses=tuple(found),
        alphas=tuple(alpha / 8 for alpha in alphas),
        priors=tuple(part / sum(parts) for part in parts),
        algorithm="adaboost_rs" if policy == "sample" else "adaboost_bt",
        policy=policy,
        calibrations=fitted,
        error_costs=costs,
    )


def stump_ensembles(catalogue=None, max_hypotheses=10, **more):
    """Return many stumps for two classes."""
    more |= {"n_classes": 2, "kinds": stumps}
    return ensembles(catalogue, max_hypotheses=max_hypotheses, **more)
