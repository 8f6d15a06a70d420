"""Sebban and Nock (1999): which features, how accurate, after how many hypotheses.

A set is measured in pieces, stored as repetitions 0, 1, ...: the choice of every method
and how often each is right; the least number of rounds from which a choice stands; the
choice under other tests, k and Z of no feature; choices where classes are shuffled.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.selection.neighbours import compute_neighbour_credits
from askless.core.selection.params import N_NEIGHBOURS, SelectionParams
from askless.core.selection.search import select_subset
from askless.core.selection.subset import make_subset
from askless.core.selection.table import make_selection_table
from askless.core.table.dataset import Dataset
from askless.core.work import run_to_end
from benchmarks import data
from benchmarks.papers import selection_paths as paths
from benchmarks.papers.runs import Measurement, Record
from benchmarks.papers.selection_paths import Variant

# Our sets: those of table 1 in its order, with their names in the reference file, then
# two more.
ROWS = data.read_rows(Path(__file__).with_suffix(".csv"))
TITLES = tuple(row["name"] for row in ROWS)
PAPER = {row["name"]: row["paper"] for row in ROWS if row["paper"]}
LACKING = {"artificial": "artificial: the paper doesn't say how it was made"}
# Its tables stand in the document as they were measured; no program fills them in.
TABLES: dict[str, Any] = {}
QUICK_SETS = ("monks3", "led24_even", "echocardiogram", "glass2", "xd6", "hard")

METHODS = {
    "sfs": SelectionParams("sfs"),
    "fs2boost": SelectionParams("fs2boost"),
    "ifs2boost": SelectionParams("ifs2boost"),
    "ifs2boost_z": SelectionParams("ifs2boost", criterion="z"),
    "sfs_stump": SelectionParams("sfs", "stump"),
    "fs2boost_stump": SelectionParams("fs2boost", "stump"),
    "ifs2boost_stump": SelectionParams("ifs2boost", "stump"),
}
SWEPT = ("fs2boost", "ifs2boost", "ifs2boost_z")

# The sets on which k was chosen, and from which values.
TUNED = ("xd6", "led24")
NEIGHBOURS = (1, 3, 5, 7, 10, 12, 15, 20, 25)
VARIANTS = (
    Variant(),
    Variant(least_fall=0.0),
    Variant(least_fall=0.005),
    Variant(least_fall=0.02),
    Variant(n_neighbours=1),
    Variant(n_neighbours=5),
    Variant(n_neighbours=15),
    Variant(is_infinite=True),
    Variant(least_fall=0.005, is_infinite=True),
    Variant(least_fall=0.005, n_neighbours=1, is_infinite=True),
)


@dataclass(frozen=True)
class Plan:
    """How much is measured of a set."""

    rounds: int = 50
    max_rounds: int = 100
    n_nulls: int = 20


WHOLE = Plan()
QUICK = Plan(max_rounds=50, n_nulls=2)


def measure(quick: bool) -> Measurement:
    """Every piece of every set that is there."""
    plan = QUICK if quick else WHOLE
    names = QUICK_SETS if quick else TITLES
    repetitions, lacking = data.read_each(names, count_pieces)
    settings: dict[str, Any] = {
        **vars(plan),
        "n_neighbours": N_NEIGHBOURS,
        "neighbours": NEIGHBOURS,
        "variants": [variant.title for variant in VARIANTS],
        "methods": {name: repr(params) for name, params in METHODS.items()},
    }
    return Measurement(
        settings, repetitions, partial(play, plan=plan), LACKING | lacking
    )


def count_pieces(name: str) -> int:
    """The last pieces are for the paper's sets, and for two classes."""
    if name not in PAPER:
        return 3 if name in TUNED else 2
    n_classes = len(data.load(name, is_two_class=False).classes)
    return len(PIECES) if n_classes == 2 else len(PIECES) - 1


def play(title: str, repetition: int, *, plan: Plan) -> Record:
    return PIECES[repetition](title, plan)


def load(name: str) -> Dataset:
    table = data.load(name, is_two_class=False)
    return table.training(np.arange(table.n_samples))


def choose(name: str, plan: Plan) -> Record:
    """What every method chooses, and FS2Boost beside the others row by row."""
    dataset = load(name)
    everything = range(len(dataset.catalogue.features))
    methods = {
        method: run_method(dataset, replace(params, rounds=plan.rounds))
        for method, params in METHODS.items()
    }
    boosted = methods["fs2boost"]["features"]
    return {
        "names": [feature.name for feature in dataset.catalogue.features],
        "rows": dataset.n_samples,
        "classes": len(dataset.classes),
        "empty": round(100 * loo_accuracy(dataset, ()), 2),
        "all": round(100 * loo_accuracy(dataset, everything), 2),
        "methods": methods,
        "beside": {
            "sfs": compare(dataset, boosted, methods["sfs"]["features"]),
            "all": compare(dataset, boosted, everything),
        },
    }


def run_method(dataset: Dataset, params: SelectionParams) -> Record:
    start = time.process_time()
    found = run_to_end(select_subset(dataset, params))
    return {
        "features": [int(idx) for idx in found.feature_idxs],
        "accuracy": round(100 * found.accuracy, 2),
        "path": [round(value, 5) for value in found.path],
        "n_hypotheses": found.n_hypotheses,
        "seconds": round(time.process_time() - start, 2),
    }


def compare(
    dataset: Dataset,
    ours: Sequence[int],
    theirs: Sequence[int],
    n_neighbours: int = N_NEIGHBOURS,
) -> list[int]:
    """On how many rows one subset is right and the other not, either way.

    A tie of votes is half right, so it counts as right beside wrong and as wrong
    beside right.
    """
    gaps = loo_rights(dataset, ours, n_neighbours) - loo_rights(
        dataset, theirs, n_neighbours
    )
    return [int((gaps > 0).sum()), int((gaps < 0).sum())]


def settle(name: str, plan: Plan) -> Record:
    """From how many rounds on the subset stands."""
    dataset = load(name)
    stable = {
        method: paths.find_stable(
            paths.sweep(dataset, replace(METHODS[method], rounds=plan.max_rounds))
        )
        for method in SWEPT
    }
    return {"stable": stable}


def loo_rights(
    dataset: Dataset, features: Iterable[int], k: int = N_NEIGHBOURS
) -> FloatArray:
    """Where k nearest neighbours on some features are right, the row left out."""
    return compute_neighbour_credits(
        make_subset(make_selection_table(dataset), features), k
    )


def loo_accuracy(
    dataset: Dataset, features: Iterable[int], k: int = N_NEIGHBOURS
) -> float:
    """How often they are, by the weights of the rows."""
    return float(dataset.weights @ loo_rights(dataset, features, k))


def vary(name: str, plan: Plan) -> Record:
    """What becomes of FS2Boost beside SFS elsewhere than at our choices.

    The test only says where the path of one k ends, so a path is walked once per k.
    """
    dataset = load(name)
    sizes = {variant.n_neighbours for variant in VARIANTS} if name in PAPER else set()
    n_tested = NEIGHBOURS if name in TUNED else ()
    walks, sfs = {}, {}
    for k in sorted({*sizes, *n_tested}):
        params = SelectionParams(rounds=plan.rounds, n_neighbours=k)
        walks[k] = paths.walk(make_selection_table(dataset), params)
        if k in sizes:
            plain = replace(params, method="sfs")
            sfs[k] = run_to_end(select_subset(dataset, plain)).feature_idxs
    variants = {}
    for variant in VARIANTS if sizes else ():
        k = variant.n_neighbours
        features = paths.cut(walks[k], variant)
        variants[variant.title] = {
            "features": features,
            "accuracy": round(100 * loo_accuracy(dataset, features, k), 2),
            "sfs": round(100 * loo_accuracy(dataset, sfs[k], k), 2),
            "beside_sfs": compare(dataset, features, sfs[k], k),
        }
    neighbours = {str(k): paths.cut(walks[k], Variant()) for k in n_tested}
    return {"variants": variants, "neighbours": neighbours}


def shuffle(name: str, plan: Plan) -> Record:
    """How many features FS2Boost takes where there is nothing to find."""
    dataset = load(name)
    sizes: dict[str, list[int]] = {"knn": [], "stump": []}
    for method, learner in (("fs2boost", "knn"), ("fs2boost_stump", "stump")):
        params = replace(METHODS[method], rounds=plan.rounds)
        for draw in range(plan.n_nulls):
            order = np.random.default_rng(draw).permutation(dataset.n_samples)
            shuffled = replace(dataset, targets=dataset.targets[order])
            sizes[learner].append(
                len(run_to_end(select_subset(shuffled, params)).feature_idxs)
            )
    return {"null_sizes": sizes}


PIECES = (choose, settle, vary, shuffle)
