"""Models trained on cases that a policy has logged, on tables whose cells are known.

A model that was trained on old rows plays the new ones under a budget. What it does not
ask is hidden, as it is in a service's log. Models trained on what is left are measured
on full rows that nobody has seen.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.panels.chances import LEAST_CHANCE
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.simulation.simulate import class_probabilities, walk
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset
from askless.core.table.silent import SILENT
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams
from askless.core.work import end_of
from benchmarks.data import MICROS, load, read_prices

MOST_ROWS = 1500
#: Budgets at which a model is measured, as shares of the price of all features.
SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
ROUNDS = 200
#: In units; of other sets a tenth of the price of all features.
BUDGETS = {"heart_cleveland": 60.0}
#: How often one feature more is asked of a case, drawn at random.
EXPLORED = (0.02, 0.1, 0.3, 1.0)


class Figures(NamedTuple):
    """Error and log-loss on full rows, the mean over all budgets."""

    error: float
    loss: float


@dataclass(frozen=True)
class Draw:
    """Old rows, new ones and those that nobody has seen, of one catalogue."""

    old: Dataset
    new: Dataset
    unseen: Dataset
    #: in micro-units, of the sessions that are logged
    budget: int

    @property
    def budgets(self) -> list[int]:
        whole = int(self.old.catalogue.costs.sum())
        return [round(share * whole) for share in SHARES]


def draw_rows(name: str, number: int, budget: float | None) -> Draw:
    """Deal the rows of a set; a third is old, a third new, a third unseen."""
    table = load(name)
    prices, _ = read_prices(name)
    costs = np.array([round(prices[one.name] * MICROS) for one in table.features])
    rows = np.random.default_rng([number, 28]).permutation(table.n_samples)[:MOST_ROWS]
    third = rows.size // 3
    # The catalogue's categories are those of the old rows, as of a model's training.
    old = table.training(rows[:third], costs)
    new = table.encode(rows[third : 2 * third], old.catalogue)
    unseen = table.encode(rows[2 * third :], old.catalogue)
    if budget is None:
        budget = 0.1 * costs.sum() / MICROS
    return Draw(old, new, unseen, round(budget * MICROS))


class Learner(NamedTuple):
    """What is trained, and by which policy its cases are asked before."""

    algorithm: str
    policy: str


#: By what documents call them.
LEARNERS = {
    "panels": Learner("panels", "panels"),
    "boosting": Learner("adaboost_bt_smoothed", "sample"),
    "one tree": Learner("decision_tree", "sample"),
}


def fit(dataset: Dataset, algorithm: str, seed: int) -> Ensemble:
    params = BoostParams(algorithm, rounds=ROUNDS, seed=seed, effort="fast")
    spec = TrainingSpec(TableSpec("label"), boost=params, folds=0)
    return end_of(train(CheckedTable(dataset, None, ()), spec)).ensemble


def measure(ensemble: Ensemble, draw: Draw) -> Figures:
    """Measure a model on full rows, under each budget."""
    rows = draw.unseen
    chances = class_probabilities(ensemble, walk(ensemble, rows.values, draw.budgets))
    is_right = chances.argmax(axis=-1) == rows.targets[:, None]
    told = np.take_along_axis(chances, rows.targets[:, None, None], -1)
    loss = -np.log(np.maximum(told, LEAST_CHANCE)).mean()
    return Figures(float(1.0 - is_right.mean()), float(loss))


def log_cases(model: Ensemble, draw: Draw, policy: str) -> BoolArray:
    """Return which features a model asks of the new rows, (n_rows, n_features)."""
    values = draw.new.values
    walked = walk(model, values, [draw.budget], policy, needs_ranks=True)
    is_asked: BoolArray = walked.ranks.reshape(draw.new.values.shape) > 0
    return is_asked


def explore(is_asked: BoolArray, share: float, number: int) -> BoolArray:
    """Return what is asked if some cases are asked one feature more, at random."""
    random = np.random.default_rng([number, 29])
    scores = np.where(is_asked, -1.0, random.random(is_asked.shape))
    more = scores.argmax(axis=1)
    is_explored = (random.random(len(is_asked)) < share) & ~is_asked.all(axis=1)
    asked = is_asked.copy()
    asked[np.flatnonzero(is_explored), more[is_explored]] = True
    return asked


def hide(rows: Dataset, is_asked: BoolArray, gap: float = SILENT[0]) -> Dataset:
    """Return rows without what was not asked, by default as no information."""
    return replace(rows, values=np.where(is_asked, rows.values, gap))


def join(*parts: Dataset) -> Dataset:
    values = np.concatenate([one.values for one in parts])
    targets: IntArray = np.concatenate([one.targets for one in parts])
    weights: FloatArray = np.full(targets.size, 1.0 / targets.size)
    return replace(parts[0], values=values, targets=targets, weights=weights)


def list_tables(draw: Draw, is_asked: BoolArray, number: int) -> dict[str, Dataset]:
    """Return the tables that models are trained on, by name."""
    logged = hide(draw.new, is_asked)
    tables = {
        "full": draw.new,
        "logged": logged,
        "as missing": hide(draw.new, is_asked, np.nan),
        "old": draw.old,
        "old + full": join(draw.old, draw.new),
        "old + logged": join(draw.old, logged),
        "old + as missing": join(draw.old, hide(draw.new, is_asked, np.nan)),
    }
    for share in EXPLORED:
        explored = hide(draw.new, explore(is_asked, share, number))
        tables[f"explored {share:g}"] = explored
    return tables


def play(name: str, learner: str, number: int) -> dict[str, Figures]:
    """Log the cases of one draw, and measure what is learnt from them."""
    algorithm, policy = LEARNERS[learner]
    draw = draw_rows(name, number, BUDGETS.get(name))
    # AdaBoostRS draws stumps, and so other features each time.
    logging = "adaboost_rs" if policy == "sample" else algorithm
    model = fit(draw.old, logging, number)
    tables = list_tables(draw, log_cases(model, draw, policy), number)
    return {
        one: measure(fit(table, algorithm, number), draw)
        for one, table in tables.items()
    }
