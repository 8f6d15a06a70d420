"""Tables on which one feature says which others tell: where greedy choices fail.

`python -m benchmarks.frontier.generated NAME --rows 1000` trains panels on so many rows
and prints, by number of questions, the error on 4,000 others: of the main panels alone,
of the whole ladder, and of who knows how the table was made. Every offer costs 1.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.panels import PanelLadder
from askless.core.model.routes import MAIN
from askless.core.panels.effort import EFFORTS
from askless.core.panels.ladders import fit_ladder
from askless.core.simulation.simulate import class_votes, walk
from askless.core.table.catalogue import Catalogue, Feature, Group
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import end_of
from benchmarks.data import MICROS
from benchmarks.documents import keep_rows

N_TEST = 4000

# Indicator: features of which one is the label.
N_NAMED = 10

# CUBE-NM: contexts, each with a block of features; labels and how wide values spread.
N_CONTEXTS, BLOCK, N_LABELS, N_BITS = 5, 10, 8, 3
INFORMED_STD, NOISE_MEAN, NOISE_STD = 0.1, 0.5, 0.3
BITS = (np.arange(N_LABELS)[:, None] >> np.arange(N_BITS)) & 1
GRID = np.linspace(-0.8, 1.8, 66)

# Of a made table: the questions under which who knows it errs so much; NaN: not known.
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
    follow = cache(lambda: follow_cube(own, targets))
    return Made(dataset, lambda n_questions: follow()[min(n_questions, BLOCK + 1)])


def follow_cube(blocks: FloatArray, targets: IntArray) -> list[float]:
    """Error of who knows how CUBE-NM was made, after 0, 1, 2 ... questions.

    After the context it asks for the feature of the block that leaves the least entropy
    to be expected. `blocks` (n_rows, BLOCK) are those that tell.
    """
    on_grid = np.stack([likelihoods(GRID, idx) for idx in range(BLOCK)])
    n_rows = targets.size
    beliefs = np.full((n_rows, N_LABELS), 1.0 / N_LABELS)
    is_asked = np.zeros((n_rows, BLOCK), np.bool_)
    errors, every = [1.0 - 1.0 / N_LABELS] * 2, np.arange(n_rows)
    for _ in range(BLOCK):
        entropies = np.array([expect_entropy(beliefs, one) for one in on_grid]).T
        asked = np.where(is_asked, np.inf, entropies).argmin(axis=1)
        is_asked[every, asked] = True
        for idx in range(BLOCK):
            here = np.flatnonzero(asked == idx)
            beliefs[here] *= likelihoods(blocks[here, idx], idx)
        beliefs /= beliefs.sum(axis=1, keepdims=True)
        errors.append(float((beliefs.argmax(axis=1) != targets).mean()))
    return errors


def likelihoods(values: FloatArray, idx: int) -> FloatArray:
    """Density of values of a block's feature under each label; (n_values, N_LABELS)."""
    bits = (idx - np.arange(N_LABELS)) % BLOCK
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
    return -(joint * logs).sum(axis=(1, 2))


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
    "cube_nm": make_cube,
    "syn1": lambda n_rows, random: make_syn(1, n_rows, random),
    "syn2": lambda n_rows, random: make_syn(2, n_rows, random),
    "syn3": lambda n_rows, random: make_syn(3, n_rows, random),
}
QUESTIONS = {
    "indicator": (2, 3, 6, 11),
    "cube_nm": (2, 4, 6, 8, 11),
    **dict.fromkeys(("syn1", "syn2", "syn3"), (3, 5, 11)),
}


def find_errors(
    ensemble: Ensemble, ladder: PanelLadder, testing: Dataset, questions: Sequence[int]
) -> FloatArray:
    """Return error and mean number of questions by budget; (n_budgets, 2)."""
    ensemble = replace(ensemble, panels=ladder)
    walks = walk(ensemble, testing.values, [one * MICROS for one in questions])
    is_wrong = class_votes(ensemble, walks) != testing.targets[:, None]
    return np.column_stack((is_wrong.mean(axis=0), walks.spent.mean(axis=0) / MICROS))


def find_rows(name: str, n_rows: int, effort: str, seed: int) -> list[list[object]]:
    """Return errors and questions asked by budget, without a route and with it."""
    random = np.random.default_rng(seed)
    training, _ = MAKERS[name](n_rows, random)
    testing, reference = MAKERS[name](N_TEST, random)
    ladder = end_of(fit_ladder(training, effort=effort))
    main_ones = ladder.panels[: int(ladder.is_for(MAIN).sum())]
    plain = replace(ladder, panels=main_ones, route=None)
    ensemble = make_ensemble(training, BoostParams("panels"), ())
    questions = QUESTIONS[name]
    before = find_errors(ensemble, plain, testing, questions)
    after = find_errors(ensemble, ladder, testing, questions)
    rows = []
    for place, count in enumerate(questions):
        errors = (before[place, 0], after[place, 0], reference(count))
        fixed, routed, least = (f"{one:.3f}" if one == one else "" for one in errors)
        asked = f"{after[place, 1]:.1f}"
        rows.append([name, n_rows, count, fixed, routed, asked, least])
    return rows


def main() -> int:
    """Fill in errors by number of questions."""
    parser = argparse.ArgumentParser(prog="benchmarks.frontier.generated")
    parser.add_argument("name", choices=MAKERS)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--effort", choices=EFFORTS, default="standard")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows = find_rows(given.name, given.rows, given.effort, given.seed)
    keep_rows("frontier", "generated", rows, n_keys=3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
