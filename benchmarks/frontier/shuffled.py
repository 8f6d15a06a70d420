"""Own questions by luck: python -m benchmarks.frontier.shuffled [NAME ...].

Whole trainings by `panels`, with folds, on a table as it is and with its labels
shuffled. Where labels are shuffled nothing can pay, so that `worth` should be in force
under no budget. NAME is a made table (`making`) or a set of the shared data.
"""

import argparse
import sys
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.model import Model
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams, EffortName
from askless.core.work import run_to_end
from benchmarks import data
from benchmarks.data import MICROS
from benchmarks.documents import keep_rows
from benchmarks.frontier.making import MAKERS

NAMES = ("cube_20", "heart_cleveland")


class InForce(NamedTuple):
    """Budgets of a curve where own questions are in force, and their mean gain."""

    n_in_force: int
    n_budgets: int
    best_lead: float
    mean_gain: float
    standard_error: float


def load_rows(name: str, n_rows: int, random: np.random.Generator) -> Dataset:
    """Return rows of a made table or a set, each feature at the price 1."""
    if name in MAKERS:
        return MAKERS[name](n_rows, random).dataset
    table = data.load(name, is_two_class=False)
    features = [replace(feature, cost=MICROS) for feature in table.features]
    rows = random.permutation(table.n_samples)[:n_rows]
    return table.encode(rows, Catalogue(tuple(features)))


def shuffle(dataset: Dataset, random: np.random.Generator) -> Dataset:
    """Return the dataset with its labels in another order."""
    return replace(dataset, targets=random.permutation(dataset.targets))


def train_whole(dataset: Dataset, n_folds: int, effort: EffortName, seed: int) -> Model:
    """Train panels with folds, as a training of the command line does."""
    spec = TrainingSpec(
        TableSpec("y"),
        boost=BoostParams("panels", effort=effort),
        seed=seed,
        folds=n_folds,
    )
    return run_to_end(train(CheckedTable(dataset, None, ()), spec))


def read_in_force(model: Model) -> InForce:
    """Return where the card says that own questions are in force."""
    comparison: Any = model.card["comparison"]
    own = comparison["own_questions"]
    return InForce(
        sum(own["in_force"]),
        len(own["in_force"]),
        max(own["leads"]),
        own["mean_gain"],
        own["standard_error"],
    )


def main() -> int:
    """Fill in where own questions are in force."""
    parser = argparse.ArgumentParser(prog="benchmarks.frontier.shuffled")
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--folds", type=int, default=3)
    given = parser.parse_args()
    for name in given.names:
        for seed in range(given.draws):
            random = np.random.default_rng(seed)
            dataset = load_rows(name, given.rows, random)
            for labels in ("shuffled", "as they are"):
                rows = shuffle(dataset, random) if labels == "shuffled" else dataset
                of = read_in_force(train_whole(rows, given.folds, "fast", seed))
                share = f"{of.n_in_force} of {of.n_budgets}"
                gain = f"{100 * of.mean_gain:+.1f} ± {100 * of.standard_error:.1f}"
                row = [name, dataset.n_samples, labels, seed, share]
                row += [f"{of.best_lead:.1f}", gain.replace("-", "−")]
                keep_rows("frontier", "shuffled", [row], n_keys=4)
                print(*row, file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
