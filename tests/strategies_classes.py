"""Hypothesis strategies for trees, products and several classes; see `strategies`.

Random trees may read a feature twice on a path, as no training would make them.
"""

import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from core.model.ensemble import Ensemble
from core.model.hypotheses import LEAF, Hypothesis, Product, Stump, Tree
from core.table.catalogue import Catalogue, Feature, Group
from core.table.dataset import ClassLabel, Dataset, count_outputs
from tests import naive_hypotheses as naive_h
from tests import strategies

MICROS = 1_000_000


def classes_of(n_classes: int) -> tuple[ClassLabel, ...]:
    """Return classes a, b, c, …"""
    return tuple(ClassLabel(f"c{idx}", f"class {idx}") for idx in range(n_classes))


@st.composite
def stumps(draw, catalogue: Catalogue, n_outputs: int) -> Stump:
    """Return a stump with a vote per output."""
    one = draw(strategies.stumps(catalogue))
    votes = draw(st.tuples(*[st.sampled_from((-1, 1))] * n_outputs))
    return Stump(one.feature_idx, one.cut, votes, one.is_category)


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
        catalogue = draw(strategies.catalogues(max_features=5))
    if n_classes is None:
        n_classes = draw(st.integers(2, 4))
    n_outputs = count_outputs(n_classes, is_multilabel=False)
    made = draw(
        st.lists(
            kinds(catalogue, n_outputs),
            min_size=min_hypotheses,
            max_size=max_hypotheses,
        )
    )
    alphas = draw(st.lists(st.integers(1, 24), min_size=len(made), max_size=len(made)))
    parts = draw(st.lists(st.integers(1, 4), min_size=n_classes, max_size=n_classes))
    policy = policy or draw(st.sampled_from(("ordered", "sample")))
    fitted = ()
    if draw(st.booleans()):
        one = strategies.calibrations(n_outputs)
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
        hypotheses=tuple(made),
        alphas=tuple(alpha / 8 for alpha in alphas),
        priors=tuple(part / sum(parts) for part in parts),
        algorithm="adaboost_rs" if policy == "sample" else "adaboost_bt",
        policy=policy,
        calibrations=fitted,
        error_costs=costs,
    )


def cells(feature: Feature) -> st.SearchStrategy[float]:
    """One cell at prediction: as in training, or a category never seen there."""
    if feature.type == "category":
        return strategies.cells(feature) | st.just(-1.0)
    return strategies.cells(feature)


@st.composite
def tables(draw, catalogue: Catalogue, min_rows=1, max_rows=6) -> np.ndarray:
    """Rows at prediction."""
    row = st.tuples(*[cells(feature) for feature in catalogue.features])
    rows = draw(st.lists(row, min_size=min_rows, max_size=max_rows))
    return np.array(rows, np.float64).reshape(len(rows), len(catalogue.features))


def stumps_of(hypothesis: Hypothesis) -> tuple[Stump, ...]:
    """Return the stumps of a hypothesis."""
    return (hypothesis,) if isinstance(hypothesis, Stump) else hypothesis.stumps


def on_cuts(hypothesis: Hypothesis, cuts: list[np.ndarray]) -> Hypothesis:
    """Return the hypothesis with each stump on a cut that the binned table knows."""
    moved = tuple(
        replace(one, cut=float(its_cuts[np.argmin(np.abs(its_cuts - one.cut))]))
        for one, its_cuts in zip(stumps_of(hypothesis), cuts, strict=True)
    )
    if isinstance(hypothesis, Stump):
        return moved[0]
    return replace(hypothesis, stumps=moved)


def to_naive(hypothesis: Hypothesis):
    """Return a hypothesis as `tests.naive_hypotheses` takes it."""
    if isinstance(hypothesis, Stump):
        return naive_h.Stump(
            hypothesis.feature_idx,
            hypothesis.cut,
            hypothesis.votes,
            hypothesis.is_category,
        )
    made = tuple(to_naive(stump) for stump in hypothesis.stumps)
    if isinstance(hypothesis, Product):
        return naive_h.Product(made)
    children = tuple(
        tuple(None if child == LEAF else child for child in pair)
        for pair in hypothesis.children
    )
    return naive_h.Tree(made, children)


def all_to_naive(ensemble: Ensemble) -> list:
    """Return the hypotheses of an ensemble as `tests.naive_hypotheses` takes them."""
    return [to_naive(one) for one in ensemble.hypotheses]


def all_options(ensemble: Ensemble) -> list[list[float | None]]:
    """Return for each feature values that cover all that its stumps tell apart."""
    made = all_to_naive(ensemble)
    return [
        naive_h.options(
            made,
            idx,
            len(feature.categories) if feature.type == "category" else None,
        )
        for idx, feature in enumerate(ensemble.catalogue.features)
    ]


def make_dataset(
    values: np.ndarray,
    targets: np.ndarray,
    n_classes: int,
    weights: np.ndarray | None = None,
    catalogue: Catalogue | None = None,
    row_groups: np.ndarray | None = None,
) -> Dataset:
    """Return a dataset of number features of cost 1 unless told otherwise."""
    n_samples, n_features = values.shape
    if weights is None:
        weights = np.full(n_samples, 1.0 / n_samples)
    return Dataset(
        catalogue or Catalogue(tuple(Feature(f"f{i}") for i in range(n_features))),
        classes_of(n_classes),
        np.ascontiguousarray(values, np.float64),
        np.asarray(targets, np.int64),
        weights / weights.sum(),
        row_groups,
    )


def random_catalogue(random: np.random.Generator, n_features: int) -> Catalogue:
    """Return features of random costs: categories, a group with a fee, a bundle."""
    features = []
    for idx in range(n_features):
        group = {0: "blood", 1: "blood", 2: "echo", 3: "echo"}.get(idx)
        is_category = idx % 3 == 2
        features.append(
            Feature(
                f"f{idx}",
                "category" if is_category else "number",
                cost=0 if group == "echo" else int(random.integers(0, 5)) * MICROS // 2,
                group=group,
                categories=("a", "b", "c") if is_category else (),
            )
        )
    groups = (
        Group("blood", fee=int(2.1 * MICROS)),
        Group("echo", price=int(3.3 * MICROS)),
    )
    return Catalogue(tuple(features), groups[: min(2, (n_features + 1) // 2)])


def random_dataset(
    seed: int,
    n_classes: int = 3,
    n_samples: int = 30,
    n_features: int = 6,
    n_values: int | None = None,
    share_missing: float = 0.15,
    is_multilabel: bool = False,
) -> Dataset:
    """Return a dataset whose classes follow from its features, more or less.

    `n_values` distinct values per number; None: all different.
    """
    random = np.random.default_rng(seed)
    catalogue = random_catalogue(random, n_features)
    hidden = random.normal(size=(n_samples, n_features))
    scores = hidden @ random.normal(size=(n_features, n_classes))
    scores += 0.7 * hidden[:, :1] * hidden[:, -1:]
    values = hidden.copy()
    if n_values is not None:
        values = np.clip(np.round(hidden * n_values / 4), -n_values // 2, n_values // 2)
    for idx, feature in enumerate(catalogue.features):
        if feature.type == "category":
            values[:, idx] = np.clip(np.round(hidden[:, idx] + 1), 0, 2)
    values[random.random(values.shape) < share_missing] = math.nan
    targets = np.argmax(scores, axis=1)
    targets[:n_classes] = np.arange(n_classes)
    if is_multilabel:
        targets = (scores > 0).astype(np.int64)
    weights = random.uniform(0.5, 2.0, n_samples)
    return make_dataset(values, targets, n_classes, weights, catalogue)


def targets_of(dataset: Dataset) -> list:
    """Return the targets as `tests.naive_hypotheses` takes them."""
    if dataset.is_multilabel:
        return [set(np.flatnonzero(row).tolist()) for row in dataset.targets]
    return dataset.targets.tolist()
