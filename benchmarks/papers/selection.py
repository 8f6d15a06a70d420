"""Sebban and Nock's tables again: which features, how accurate, how many hypotheses.

`python -m benchmarks.papers.selection` goes on set by set from what is in
`benchmarks/results/selection.json` and prints the tables; `--summary` only prints
them; `--quick` takes three sets and few rounds, and stores nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.data import (
    FOLDER,
    TARGET,
    MissingDataError,
    Table,
    is_nominal,
    load,
    read_columns,
    read_feature,
)
from core import selection
from core.selection import SelectionParams, boosting, loo_accuracy, search, select
from core.types import ClassLabel, Dataset

RESULTS = Path(__file__).parents[1] / "results" / "selection.json"
ROUNDS = 50
MAX_ROUNDS = 100
N_NULLS = 20
NEIGHBOURS = (1, 3, 5, 7, 10, 12, 15, 20, 25)

# Our set, the paper's name for it, and its table 1: SFS, FS2Boost, all attributes.
PAPER = {
    "monks1": ("Monks 1", 97.9, 97.9, 81.0),
    "monks2": ("Monks 2", 67.2, 67.2, 68.3),
    "monks3": ("Monks 3 (printed as 2)", 99.0, 99.0, 94.4),
    "led_even": ("LED", 81.4, 90.2, 90.2),
    "led24_even": ("LED24", 81.4, 87.2, 77.9),
    "credit_approval": ("Credit", 86.1, 87.1, 76.8),
    "echocardiogram": ("EchoCardio", 73.0, 74.8, 66.9),
    "glass2": ("Glass2", 62.5, 73.2, 72.0),
    "heart_cleveland": ("Heart", 82.2, 81.7, 82.8),
    "hepatitis": ("Hepatitis", 78.7, 81.9, 82.4),
    "horse_colic": ("Horse", 77.6, 86.3, 72.2),
    "breast_cancer_wisconsin": ("Breast Cancer", 96.4, 96.4, 96.5),
    "xd6": ("Xd6", 79.9, 79.9, 78.1),
    "australian": ("Australian", 83.8, 81.6, 78.7),
    "house_votes": ("White House", 95.7, 95.7, 91.5),
    "pima": ("Pima", 73.2, 73.3, 73.0),
    "hard": ("Hard", 58.7, 58.7, 59.0),
    "vehicle": ("Vehicle", 72.9, 73.7, 71.6),
}
EXTRA = ("led", "led24")
SETS = (*PAPER, *EXTRA)
QUICK_SETS = ("monks3", "glass2", "xd6")
RELEVANT = {
    "monks1": (0, 1, 4),
    "monks3": (1, 3, 4),
    "led": range(7),
    "led24": range(7),
    "xd6": range(9),
    "hard": (0, 1),
}

METHODS: dict[str, SelectionParams] = {
    "sfs": SelectionParams("sfs"),
    "fs2boost": SelectionParams("fs2boost"),
    "ifs2boost": SelectionParams("ifs2boost"),
    "ifs2boost_z": SelectionParams("ifs2boost", criterion="z"),
    "sfs_stump": SelectionParams("sfs", "stump"),
    "fs2boost_stump": SelectionParams("fs2boost", "stump"),
    "ifs2boost_stump": SelectionParams("ifs2boost", "stump"),
}
SWEPT = ("fs2boost", "ifs2boost", "ifs2boost_z")

Results = dict[str, Any]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Plan:
    """What is measured of a set."""

    rounds: int = ROUNDS
    max_rounds: int = MAX_ROUNDS
    n_nulls: int = N_NULLS

    def settings(self) -> dict[str, Any]:
        return {
            "rounds": self.rounds,
            "max_rounds": self.max_rounds,
            "n_nulls": self.n_nulls,
            "neighbours": list(NEIGHBOURS),
            "methods": {name: repr(params) for name, params in METHODS.items()},
        }


def load_classes(name: str) -> Table:
    """Read a set of any number of classes."""
    folder = Path(os.environ.get("ASKLESS_DATA") or FOLDER)
    try:
        return load(name)
    except MissingDataError:
        manifest_path = folder / "manifest.json"
        if not (folder / f"{name}.csv.gz").is_file() or not manifest_path.is_file():
            raise
    entry = json.loads(manifest_path.read_text())[name]
    columns = read_columns(folder / entry["file"])
    class_names, targets = np.unique(columns.pop(TARGET), return_inverse=True)
    read = [
        read_feature(column, cells, is_nominal(column, entry["nominal_features"]))
        for column, cells in columns.items()
    ]
    return Table(
        name=name,
        features=tuple(feature for feature, _ in read),
        classes=tuple(ClassLabel(str(one), str(one)) for one in class_names),
        values=np.column_stack([values for _, values in read]),
        targets=targets.astype(np.int64),
    )


def run_out(generator: Generator[Any, None, Value]) -> Value:
    while True:
        try:
            next(generator)
        except StopIteration as stop:
            result: Value = stop.value
            return result


def measure_method(dataset: Dataset, params: SelectionParams) -> Results:
    start = time.perf_counter()
    found = run_out(select(dataset, params))
    return {
        "features": [int(idx) for idx in found.feature_idxs],
        "accuracy": round(100 * found.accuracy, 2),
        "path": [round(value, 5) for value in found.path],
        "n_hypotheses": found.n_hypotheses,
        "seconds": round(time.perf_counter() - start, 2),
    }


def sweep(dataset: Dataset, params: SelectionParams) -> dict[int, list[int]]:
    """The subset for every T from 1 to `params.rounds`.

    Round t of boosting does not depend on T, so one run on a subset gives its Z for
    every T; runs that agree so far are continued together.
    """
    table = selection.make_table(dataset)
    fits: dict[frozenset[int], boosting.Fit] = {}
    found: dict[int, list[int]] = {}
    empty = selection.make_empty(table)
    z = search.empty_z(table)
    queue = [(empty, dict.fromkeys(range(1, params.rounds + 1), z))]
    while queue:
        subset, before = queue.pop()
        open_idxs = sorted(set(range(table.n_features)) - set(subset.feature_idxs))
        for idx in open_idxs:
            key = frozenset((*subset.feature_idxs, idx))
            if key not in fits:
                candidate = selection.extend(subset, idx)
                fits[key] = selection.boost_subset(candidate, params)
        going: dict[int, dict[int, float]] = {}
        for rounds, value in before.items():
            trials = []
            for idx in open_idxs:
                fit = fits[frozenset((*subset.feature_idxs, idx))]
                z = float(fit.zs[rounds - 1])
                trials.append(search.Trial(idx, z, fit.concentration, 0))
            step = trials and search.decide(table, params, [], value, trials)
            if step and step.is_taken:
                going.setdefault(step.feature_idx, {})[rounds] = step.value
            else:
                found[rounds] = sorted(subset.feature_idxs)
        for idx, after in going.items():
            queue.append((selection.extend(subset, idx), after))
    return found


def find_stable(subsets: dict[int, list[int]]) -> Results:
    """The least T from which on the subset stays the same (the paper's T_Z)."""
    last = rounds = max(subsets)
    while rounds > 1 and subsets[rounds - 1] == subsets[last]:
        rounds -= 1
    return {"rounds": rounds, "features": subsets[last]}


def measure_nulls(dataset: Dataset, learner: str, n_nulls: int) -> list[int]:
    """How many features FS2Boost takes where the classes were shuffled."""
    params = replace(METHODS["fs2boost"], learner=learner)
    sizes = []
    for draw in range(n_nulls):
        order = np.random.default_rng(draw).permutation(dataset.n_samples)
        shuffled = replace(dataset, targets=dataset.targets[order])
        sizes.append(len(run_out(select(shuffled, params)).feature_idxs))
    return sizes


def measure_set(name: str, plan: Plan) -> Results:
    table = load_classes(name)
    dataset = table.training(np.arange(table.n_samples))
    everything = range(table.n_features)
    found: Results = {
        "names": [feature.name for feature in table.features],
        "rows": table.n_samples,
        "classes": len(table.classes),
        "empty": round(100 * loo_accuracy(dataset, ()), 2),
        "all": round(100 * loo_accuracy(dataset, everything), 2),
        "methods": {
            method: measure_method(dataset, replace(params, rounds=plan.rounds))
            for method, params in METHODS.items()
        },
        "stable": {
            method: find_stable(
                sweep(dataset, replace(METHODS[method], rounds=plan.max_rounds))
            )
            for method in SWEPT
        },
    }
    if name in PAPER and found["classes"] == 2:
        found["null_sizes"] = {
            learner: measure_nulls(dataset, learner, plan.n_nulls)
            for learner in ("knn", "stump")
        }
    if name in ("xd6", "led24"):
        found["neighbours"] = {
            str(k): measure_method(
                dataset, SelectionParams(rounds=plan.rounds, n_neighbours=k)
            )["features"]
            for k in NEIGHBOURS
        }
    return found


def read_results(plan: Plan) -> Results:
    if not RESULTS.is_file():
        return {"settings": plan.settings(), "sets": {}}
    results: Results = json.loads(RESULTS.read_text())
    if results["settings"] != plan.settings():
        sys.exit(f"{RESULTS.name} was measured under other settings: move it away")
    return results


def write_results(results: Results) -> None:
    """Replace the file whole, so that an interrupted run leaves a readable one."""
    RESULTS.parent.mkdir(exist_ok=True)
    sets = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(found)}"
        for name, found in results["sets"].items()
    )
    head = json.dumps(results["settings"])
    draft = RESULTS.with_suffix(".part")
    draft.write_text(f'{{\n "settings": {head},\n "sets": {{\n{sets}\n }}\n}}\n')
    draft.replace(RESULTS)


def run(names: tuple[str, ...], plan: Plan, results: Results, is_kept: bool) -> None:
    for number, name in enumerate(names, start=1):
        if name in results["sets"]:
            continue
        start = time.perf_counter()
        try:
            results["sets"][name] = measure_set(name, plan)
        except MissingDataError as error:
            print(f"skipped {error}", file=sys.stderr)
            continue
        if is_kept:
            write_results(results)
        took = time.perf_counter() - start
        print(f"{number}/{len(names)} {name}: {took:.1f} s", file=sys.stderr)


def name_features(found: Results, idxs: list[int]) -> str:
    return " ".join(found["names"][idx] for idx in idxs) or "none"


def show_accuracies(sets: Results) -> None:
    print("leave-one-out accuracy in % (k nearest neighbours), in brackets the paper's")
    print(f"{'set':<24}{'SFS':>14}{'FS2Boost':>14}{'iFS2Boost':>11}{'all':>14}", end="")
    print("   features of FS2Boost")
    for name, found in sets.items():
        paper = PAPER.get(name, (name, math.nan, math.nan, math.nan))
        methods = found["methods"]
        boosted = methods["fs2boost"]
        print(
            f"{name:<24}{methods['sfs']['accuracy']:>7.1f} ({paper[1]:.1f})"
            f"{boosted['accuracy']:>7.1f} ({paper[2]:.1f})"
            f"{methods['ifs2boost']['accuracy']:>11.1f}{found['all']:>7.1f} "
            f"({paper[3]:.1f})   {name_features(found, boosted['features'])}"
        )


def show_means(sets: Results) -> None:
    print("\nmean accuracy in % and hypotheses fitted (T = 50), over all sets")
    for method in METHODS:
        ones = [found["methods"][method] for found in sets.values()]
        accuracy = np.mean([one["accuracy"] for one in ones])
        size = np.mean([len(one["features"]) for one in ones])
        n_hypotheses = sum(one["n_hypotheses"] for one in ones)
        print(f"{method:<20}{accuracy:>6.1f} %{size:>6.1f} features{n_hypotheses:>9}")
    print(f"{'all':<20}{np.mean([found['all'] for found in sets.values()]):>6.1f} %")


def show_relevant(sets: Results) -> None:
    print("\nrelevant features that are missing, and irrelevant ones, by method")
    for name in [name for name in sets if name in RELEVANT]:
        for method, one in sets[name]["methods"].items():
            lacking = sorted(set(RELEVANT[name]) - set(one["features"]))
            extra = sorted(set(one["features"]) - set(RELEVANT[name]))
            print(
                f"{name:<10}{method:<20}lacks {name_features(sets[name], lacking)}; "
                f"extra {name_features(sets[name], extra)}"
            )
        for k, idxs in sets[name].get("neighbours", {}).items():
            lacking = sorted(set(RELEVANT[name]) - set(idxs))
            extra = sorted(set(idxs) - set(RELEVANT[name]))
            print(
                f"{name:<10}{f'fs2boost, k = {k}':<20}"
                f"lacks {name_features(sets[name], lacking)}; "
                f"extra {name_features(sets[name], extra)}"
            )


def show_stable(sets: Results) -> None:
    print("\nleast T from which the subset is that of every larger T up to 100")
    gains: dict[str, list[tuple[int, int]]] = {method: [] for method in SWEPT[1:]}
    for name, found in sets.items():
        stable = found["stable"]
        base = stable["fs2boost"]
        cells = [f"{name:<24}{base['rounds']:>4}"]
        for method, pairs in gains.items():
            one = stable[method]
            pairs.append((base["rounds"], one["rounds"]))
            note = "same subset"
            if one["features"] != base["features"]:
                plus = sorted(set(one["features"]) - set(base["features"]))
                minus = sorted(set(base["features"]) - set(one["features"]))
                note = f"+ {name_features(found, plus)} - {name_features(found, minus)}"
            cells.append(f"{one['rounds']:>4} {note}")
        print("  ".join(cells))
    for method, pairs in gains.items():
        before, after = np.array(pairs).T
        print(
            f"{method}: mean T {before.mean():.1f} -> {after.mean():.1f}, "
            f"mean relative gain {100 * np.mean((before - after) / after):.1f} %, "
            f"fewer on {np.sum(after < before)}, more on {np.sum(after > before)} "
            f"of {len(pairs)} sets"
        )


def show_nulls(sets: Results) -> None:
    print("\nshuffled classes: runs of FS2Boost that took any feature")
    for learner in ("knn", "stump"):
        sizes = {
            n: f["null_sizes"][learner] for n, f in sets.items() if "null_sizes" in f
        }
        wrong = {name: int(np.count_nonzero(one)) for name, one in sizes.items()}
        total = sum(len(one) for one in sizes.values())
        some = {name: count for name, count in wrong.items() if count}
        print(f"{learner}: {sum(wrong.values())} of {total}; {some}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    plan = Plan(rounds=10, max_rounds=20, n_nulls=2) if options.quick else Plan()
    results: Results = {"sets": {}} if options.quick else read_results(plan)
    if not options.summary:
        names = QUICK_SETS if options.quick else SETS
        run(names, plan, results, is_kept=not options.quick)
    if results["sets"]:
        show_accuracies(results["sets"])
        show_means(results["sets"])
        show_relevant(results["sets"])
        show_stable(results["sets"])
        show_nulls(results["sets"])


if __name__ == "__main__":
    main()
