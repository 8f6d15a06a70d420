"""Made tables, each with the error of who knows how it was made.

Every offer costs 1, so that a budget is a number of questions. `MAKERS` has them by
name; docs/frontier.md says where each comes from.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.table.dataset import ClassLabel, Dataset
from benchmarks.data import MICROS

# Indicator: features of which one is the label.
N_NAMED = 10

# The multiplexer: bits of the address, and the bits that it points at.
N_ADDRESS, N_DATA = 3, 8

# CUBE: labels, told by three neighbours among features of noise. CUBE-NM has contexts,
# each with a block of features.
N_LABELS, N_BITS, N_CUBE = 8, 3, 20
N_CONTEXTS, BLOCK = 5, 10
INFORMED_STD, NOISE_MEAN, NOISE_STD = 0.1, 0.5, 0.3
BITS = (np.arange(N_LABELS)[:, None] >> np.arange(N_BITS)) & 1
GRID = np.linspace(-0.8, 1.8, 66)
MOST_STEPS = 10

# The error by number of questions of who knows how a table was made; NaN: not known.
Reference = Callable[[int], float]


class Made(NamedTuple):
    """A table, and the error of who knows how it was made, by number of questions."""

    dataset: Dataset
    reference: Reference


def make_indicator(n_rows: int, random: np.random.Generator) -> Made:
    """The label is the feature that a category names (Norcliffe et al. 2025)."""
    context = random.integers(0, N_NAMED, n_rows)
    bits = random.integers(0, 2, (n_rows, N_NAMED))
    names = tuple(map(str, range(N_NAMED)))
    features = [Feature("context", "category", categories=names)]
    features += [Feature(f"x{idx}", "boolean") for idx in range(N_NAMED)]
    targets = bits[np.arange(n_rows), context]
    dataset = lay(np.column_stack((context, bits)), targets, 2, features)
    return Made(dataset, lambda n_questions: 0.0 if n_questions > 1 else np.nan)


def make_cube(n_rows: int, random: np.random.Generator) -> Made:
    """CUBE-NM of AFABench (arXiv 2508.14734), after CUBE (Shim, Hwang and Yang 2018).

    A one-hot context, bought whole, says which block tells: there features y, y + 1 and
    y + 2 of label y (modulo the block) are near its bits. All else is noise.
    """
    context = random.integers(0, N_CONTEXTS, n_rows)
    hot = np.eye(N_CONTEXTS)[context]
    hot += random.normal(0.0, INFORMED_STD, hot.shape)
    targets = random.integers(0, N_LABELS, n_rows)
    shape = n_rows, N_CONTEXTS, BLOCK
    blocks = random.normal(NOISE_MEAN, NOISE_STD, shape)
    every = np.arange(n_rows)
    for bit in range(N_BITS):
        near = BITS[targets, bit] + random.normal(0.0, INFORMED_STD, n_rows)
        blocks[every, context, (targets + bit) % BLOCK] = near
    features = [Feature(f"c{idx}", cost=0, group="c") for idx in range(N_CONTEXTS)]
    features += [Feature(f"b{idx}") for idx in range(N_CONTEXTS * BLOCK)]
    values = np.hstack((hot, blocks.reshape(n_rows, -1)))
    dataset = lay(values, targets, N_LABELS, features, Group("c", price=MICROS))
    own = blocks[every, context]
    return Made(dataset, follow_cube(own, targets, n_before=1))


def make_cube_20(n_rows: int, random: np.random.Generator) -> Made:
    """CUBE (Shim, Hwang and Yang 2018): features y, y + 1 and y + 2 tell of label y.

    They are near its bits, the other 17 are noise. The spreads are those of CUBE-NM.
    """
    targets = random.integers(0, N_LABELS, n_rows)
    values = random.normal(NOISE_MEAN, NOISE_STD, (n_rows, N_CUBE))
    for bit in range(N_BITS):
        near = BITS[targets, bit] + random.normal(0.0, INFORMED_STD, n_rows)
        values[np.arange(n_rows), targets + bit] = near
    features = [Feature(f"x{idx}") for idx in range(N_CUBE)]
    dataset = lay(values, targets, N_LABELS, features)
    return Made(dataset, follow_cube(values, targets, n_before=0))


def make_cube_nm_12(n_rows: int, random: np.random.Generator) -> Made:
    """CUBE-NM-12 of BRiG-AFA: x0 says which three of six features tell the label.

    Two more tell a little in both cases. Who knows all of it still can't be followed
    exactly, so that there is no reference.
    """
    regime = random.integers(0, 2, n_rows)
    x = random.normal(size=(n_rows, 12))
    x[:, 0] = 2 * regime - 1 + random.normal(0.0, 0.35, n_rows)
    below = 1.6 * x[:, 3] - 1.1 * x[:, 4] + 0.9 * x[:, 5]
    above = -1.4 * x[:, 6] + 1.2 * x[:, 7] + x[:, 8]
    scores = 0.55 * x[:, 1] - 0.45 * x[:, 2] + np.where(regime, above, below)
    scores += random.normal(0.0, 0.25, n_rows)
    features = [Feature(f"x{idx}") for idx in range(12)]
    dataset = lay(x, (scores > 0).astype(np.int64), 2, features)
    return Made(dataset, lambda _: np.nan)


def make_multiplexer(n_rows: int, random: np.random.Generator) -> Made:
    """The 11-multiplexer: three bits are the address of the one of eight that counts.

    Three questions find it in one case of two, and else nothing is known; four always.
    """
    bits = random.integers(0, 2, (n_rows, N_ADDRESS + N_DATA))
    address = bits[:, :N_ADDRESS] @ (1 << np.arange(N_ADDRESS))
    targets = bits[np.arange(n_rows), N_ADDRESS + address]
    names = [f"a{idx}" for idx in range(N_ADDRESS)]
    names += [f"d{idx}" for idx in range(N_DATA)]
    dataset = lay(bits, targets, 2, [Feature(name, "boolean") for name in names])
    known = {N_ADDRESS: 0.25}
    return Made(
        dataset,
        lambda n_questions: (
            0.0 if n_questions > N_ADDRESS else known.get(n_questions, np.nan)
        ),
    )


def follow_cube(blocks: FloatArray, targets: IntArray, n_before: int) -> Reference:
    """Return the error of who knows how CUBE was made, by number of questions.

    After `n_before` questions that tell nothing of the label, each is the feature that
    leaves the least entropy to be expected. `blocks` (n_rows, n_features) have those
    that tell. It is computed when it is first read.
    """

    @cache
    def list_errors() -> list[float]:
        n_rows, n_features = blocks.shape
        on_grid = [likelihoods(GRID, idx, n_features) for idx in range(n_features)]
        beliefs = np.full((n_rows, N_LABELS), 1.0 / N_LABELS)
        is_asked = np.zeros(blocks.shape, np.bool_)
        errors, every = [1.0 - 1.0 / N_LABELS] * (1 + n_before), np.arange(n_rows)
        for _ in range(min(n_features, MOST_STEPS)):
            left = np.array([expect_entropy(beliefs, shares) for shares in on_grid]).T
            asked = np.where(is_asked, np.inf, left).argmin(axis=1)
            is_asked[every, asked] = True
            for idx in range(n_features):
                here = np.flatnonzero(asked == idx)
                beliefs[here] *= likelihoods(blocks[here, idx], idx, n_features)
            beliefs /= beliefs.sum(axis=1, keepdims=True)
            errors.append(float((beliefs.argmax(axis=1) != targets).mean()))
        return errors

    def read_error(n_questions: int) -> float:
        errors = list_errors()
        return errors[min(n_questions, len(errors) - 1)]

    return read_error


def likelihoods(values: FloatArray, idx: int, n_features: int) -> FloatArray:
    """Density of values of a block's feature under each label; (n_values, N_LABELS)."""
    bits = (idx - np.arange(N_LABELS)) % n_features
    is_informed = bits < N_BITS
    informed = BITS[np.arange(N_LABELS), np.minimum(bits, N_BITS - 1)]
    means = np.where(is_informed, informed, NOISE_MEAN)
    stds = np.where(is_informed, INFORMED_STD, NOISE_STD)
    return np.exp(-0.5 * ((values[:, None] - means) / stds) ** 2) / stds


def expect_entropy(beliefs: FloatArray, densities: FloatArray) -> FloatArray:
    """Entropy to be expected once a feature is known; (n_rows,).

    `densities` (n_grid, N_LABELS): sum over labels of -p f log(p f / sum of p f).
    """
    joint = beliefs[:, None, :] * densities
    totals = joint.sum(axis=2, keepdims=True)
    logs = np.log(np.maximum(joint, 1e-300)) - np.log(np.maximum(totals, 1e-300))
    entropies: FloatArray = -(joint * logs).sum(axis=(1, 2))
    return entropies


def make_syn(number: int, n_rows: int, random: np.random.Generator) -> Made:
    """Syn1 to 3: the sign of x11 says which others tell.

    Made of those of Chen et al. (2018); Yoon et al. (2019) call them Syn4 to 6.
    """
    x = random.normal(size=(n_rows, 11))
    pair = x[:, 0] * x[:, 1]
    ring = (x[:, 2:6] ** 2).sum(axis=1) - 4.0
    wave = -10.0 * np.sin(2.0 * x[:, 6]) + 2.0 * np.abs(x[:, 7])
    wave += x[:, 8] + np.exp(-x[:, 9]) - 2.4
    below, above = {1: (pair, ring), 2: (pair, wave), 3: (ring, wave)}[number]
    chances = 1.0 / (1.0 + np.exp(np.where(x[:, 10] < 0, below, above)))
    targets = (random.random(n_rows) < chances).astype(np.int64)
    error = float(np.minimum(chances, 1.0 - chances).mean())
    features = [Feature(f"x{idx + 1}") for idx in range(11)]
    dataset = lay(x, targets, 2, features)
    return Made(dataset, lambda n_questions: error if n_questions >= 5 else np.nan)


def lay(
    values: FloatArray,
    targets: IntArray,
    n_classes: int,
    features: Sequence[Feature],
    *groups: Group,
) -> Dataset:
    """Return a table of equal weights."""
    names = map(str, range(n_classes))
    return Dataset(
        Catalogue(tuple(features), groups),
        tuple(ClassLabel(name, name) for name in names),
        np.ascontiguousarray(values, np.float64),
        targets.astype(np.int64),
        np.full(targets.size, 1.0 / targets.size),
    )


MAKERS: dict[str, Callable[[int, np.random.Generator], Made]] = {
    "indicator": make_indicator,
    "multiplexer": make_multiplexer,
    "cube_20": make_cube_20,
    "cube_nm": make_cube,
    "cube_nm_12": make_cube_nm_12,
    "syn1": lambda n_rows, random: make_syn(1, n_rows, random),
    "syn2": lambda n_rows, random: make_syn(2, n_rows, random),
    "syn3": lambda n_rows, random: make_syn(3, n_rows, random),
}
