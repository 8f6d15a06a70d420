"""Accuracy at a mean spend, on real prices: python -m benchmarks.frontier.mean NAME.

Prices after Turney (1995), from the manifest, with his groups. heart_cleveland and
pima: five stratified folds, ten times; thyroid_ann: the 3,772 rows to train on, the
rest to test, ill (hyperthyroid or subnormal) against normal. Beside sessions of a
mean budget those that have it as their budget, by `panels`. Nothing is chosen on test
rows: the rules come from held-out rows of the training.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from askless.core.catalogue.catalogue import Catalogue, Group
from askless.core.model.ensemble import Ensemble
from askless.core.panels.ladders import fit_ladder
from askless.core.session.state import Aim
from askless.core.simulation.simulate import class_probabilities, simulate
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from benchmarks import data
from benchmarks.data import MICROS, Table
from benchmarks.documents import keep_rows

LEVELS = {
    "heart_cleveland": (75, 130),
    "pima": (14, 22),
    "thyroid_ann": (22, 25),
}
N_TRAIN = {"thyroid_ann": 3772}
NORMAL = "3"


def load_priced(name: str) -> tuple[Table, Catalogue]:
    """Read a set with the prices and groups of the manifest."""
    table = data.load(name, is_two_class=False)
    if len(table.classes) > 2:
        normal = [label.label for label in table.classes].index(NORMAL)
        table = replace(
            table,
            classes=(ClassLabel("normal", "normal"), ClassLabel("ill", "ill")),
            targets=(table.targets != normal).astype(np.int64),
        )
    costs, detail = data.read_prices(name)
    group_of, fees = {}, {}
    for group, found in detail.items():
        for member, later in found["cost_when_not_first"].items():
            group_of[member] = group
            fees[group] = round((costs[member] - later) * MICROS)
            costs[member] = later
    features = tuple(
        replace(
            feature,
            cost=round(costs[feature.name] * MICROS),
            group=group_of.get(feature.name),
        )
        for feature in table.features
    )
    groups = tuple(Group(group, fee=fee) for group, fee in fees.items())
    return table, Catalogue(features, groups, "CAD")


def split(
    name: str, table: Table, catalogue: Catalogue, n_times: int
) -> Iterator[tuple[Dataset, Dataset]]:
    """Yield rows to train and to test on."""
    if name in N_TRAIN:
        everything, first = np.arange(table.n_samples), N_TRAIN[name]
        parts = [(everything[:first], everything[first:])]
    else:
        parts = [
            part
            for number in range(n_times)
            for part in StratifiedKFold(5, shuffle=True, random_state=number).split(
                table.values, table.targets
            )
        ]
    for train, test in parts:
        yield table.encode(train, catalogue), table.encode(test, catalogue)


def play(ensemble: Ensemble, testing: Dataset, level: float) -> Iterator[list[float]]:
    """Yield mean spend, accuracy and AUROC of an aim, then of a budget."""
    budget = round(level * MICROS)
    for limit, aim in ((None, Aim(mean_budget=budget)), (budget, None)):
        policy = None if aim else "panels"
        walks = simulate(ensemble, testing.values, [limit], policy, aims=[aim])
        chances = class_probabilities(ensemble, walks)[:, 0]
        is_right = chances.argmax(axis=1) == testing.targets
        auroc = roc_auc_score(testing.targets, chances[:, 1])
        yield [walks.spent.mean() / MICROS, is_right.mean(), auroc]


def main() -> int:
    """Fill in mean spend, accuracy and AUROC, each the mean over the folds."""
    parser = argparse.ArgumentParser(prog="benchmarks.frontier.mean")
    parser.add_argument("name", choices=LEVELS)
    parser.add_argument("--times", type=int, default=10)
    arguments = parser.parse_args()
    table, catalogue = load_priced(arguments.name)
    figures: dict[float, list[list[list[float]]]] = {}
    parts = split(arguments.name, table, catalogue, arguments.times)
    for number, (training, testing) in enumerate(parts):
        ladder = run_to_end(fit_ladder(training, number))
        ensemble = make_ensemble(training, BoostParams("panels"), [])
        ensemble = replace(ensemble, panels=ladder)
        for level in LEVELS[arguments.name]:
            figures.setdefault(level, []).append([*play(ensemble, testing, level)])
        print(f"{number + 1} done", file=sys.stderr, flush=True)
    rows = []
    for level, played in figures.items():
        for place, who in enumerate(("adaptive", "panels")):
            spend, accuracy, auroc = np.mean(played, axis=0)[place]
            shown = (f"{spend:.2f}", f"{accuracy:.4f}", f"{auroc:.4f}")
            rows.append([arguments.name, level, who, *shown])
    keep_rows("frontier", "mean-budgets", rows, n_keys=3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
