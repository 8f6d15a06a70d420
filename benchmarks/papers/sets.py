"""The papers' sets as they used them: every feature a yes or no, rows drawn at random.

Huang, Powers and Reyzin (2015) collapse features "into binary categories". Their counts
show how: a number with k distinct values becomes its k - 1 thresholds, each a feature
with a cost of its own. That gives exactly their 356 features for ecoli, 11,196 for
sonar and 8,114 for ionosphere, and some 402 of the digits' pixels in 6,000 drawn rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.catalogue import Feature
from askless.core.table.dataset import Dataset
from benchmarks import data
from benchmarks.data import MICROS, Table
from benchmarks.papers.runs import Measurement, Record

MAX_COST = 2.0
SEED = 2015


@dataclass(frozen=True)
class PaperSet:
    """A set as the papers describe it (001, Table 1), and where it is here.

    `rounds` is the paper's figure for AdaBoost, the best on its test rows; we take it
    as published and look for no better one. Only whole rows count where `is_complete`,
    and where `n_held` says how many features hold in a whole one.
    """

    title: str
    name: str
    n_train: int
    n_test: int
    rounds: int
    n_features: int
    is_complete: bool
    n_held: int
    note: str


def read_sets() -> dict[str, PaperSet]:
    """Return the papers' sets, in the order of 001."""
    found = {}
    for row in data.read_rows(Path(__file__).with_suffix(".csv")):
        title, name, *counts, complete, held, note = row.values()
        numbers = [int(count) for count in counts]
        whole = (complete == "yes", int(held or 0))
        found[title] = PaperSet(title, name, *numbers, *whole, note)
    return found


SETS = read_sets()


@lru_cache(maxsize=len(SETS))
def load(title: str) -> Table:
    """Read the whole rows of a set and turn its features into yes or no."""
    paper_set = SETS[title]
    table = data.load(paper_set.name)
    is_whole = np.ones(table.n_samples, np.bool_)
    if paper_set.is_complete:
        is_whole &= ~np.isnan(table.values).any(axis=1)
    if paper_set.n_held:
        is_whole &= table.values.sum(axis=1) == paper_set.n_held
    values, targets = table.values[is_whole], table.targets[is_whole]
    return binarise(replace(table, values=values, targets=targets))


def plan(
    titles: Iterable[str],
    settings: dict[str, Any],
    play: Callable[[str, int], Record],
    n_repetitions: tuple[int, int],
    quick: bool,
) -> Measurement:
    """Plan repetitions, in full or of a quick run, of those sets that are there."""
    n_rows, lacking = data.read_each(titles, lambda title: load(title).n_samples)
    repetitions = dict.fromkeys(n_rows, n_repetitions[quick])
    return Measurement({"seed": SEED, **settings}, repetitions, play, lacking, n_rows)


def binarise(table: Table) -> Table:
    """One feature per threshold of a number and per category of a nominal."""
    features: list[Feature] = []
    columns: list[FloatArray] = []
    for idx, feature in enumerate(table.features):
        column = table.values[:, idx]
        levels = np.unique(column[~np.isnan(column)])
        is_nominal = feature.type == "category" and levels.size > 2
        for level in levels if is_nominal else levels[:-1]:
            holds = column == level if is_nominal else column > level
            columns.append(np.where(np.isnan(column), np.nan, holds))
            sign = "=" if is_nominal else ">"
            features.append(Feature(f"{feature.name}{sign}{level:g}", "boolean"))
    return replace(table, features=tuple(features), values=np.column_stack(columns))


@dataclass(frozen=True)
class Draw:
    """One repetition: rows to train and to test on, and costs uniform on [0, 2]."""

    training: Dataset
    testing: Dataset


def draw(title: str, repetition: int, *, uniform_costs: bool = False) -> Draw:
    """Draw rows and costs; a repetition has the same rows in every part."""
    paper_set, table = SETS[title], load(title)
    generator = np.random.default_rng([SEED, repetition])
    order = generator.permutation(table.n_samples)
    units = np.round(generator.uniform(0.0, MAX_COST, table.n_features), 6)
    costs = None if uniform_costs else np.rint(units * MICROS).astype(np.int64)
    training = table.training(order[: paper_set.n_train], costs)
    stop = paper_set.n_train + paper_set.n_test
    rows = order[paper_set.n_train : stop]
    return Draw(training, table.encode(rows, training.catalogue))


def with_unit_costs(dataset: Dataset) -> Dataset:
    """Return the same rows with every feature at one unit."""
    features = tuple(
        replace(feature, cost=MICROS) for feature in dataset.catalogue.features
    )
    return replace(dataset, catalogue=replace(dataset.catalogue, features=features))


def count_features(drawn: Draw) -> int:
    """Count the features that are not constant over the drawn rows."""
    rows = np.vstack((drawn.training.values, drawn.testing.values))
    return int((np.nanmin(rows, axis=0) < np.nanmax(rows, axis=0)).sum())
