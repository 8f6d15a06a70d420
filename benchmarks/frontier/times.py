"""How long `auto` takes to train, beside LightGBM by hand.

`python -m benchmarks.frontier.times` measures what is missing on this machine and
fills a table of docs/frontier.md. Processor time is that of one thread, children's
included, with kernels loaded; wall time is that of two cores. Each measurement has a
process of its own. `--again auto` measures a party anew.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification

from app.processes.side_by_side import choose_runner
from benchmarks import data
from benchmarks.data import MICROS
from benchmarks.documents import Rows, fill, number
from benchmarks.frontier.draws import LEAST_PRICE, MAX_PRICE
from benchmarks.frontier.hand import Hand
from benchmarks.frontier.jobs import ROOT, find_core
from core.arrays import IntArray
from core.pipeline.preparing import prepare_table
from core.pipeline.spec import TrainingSpec
from core.pipeline.train import train
from core.table.catalogue import Catalogue, Feature
from core.table.check import CheckedTable
from core.table.dataset import ClassLabel, Dataset
from core.table.prices import total_cost
from core.table.spec import TableSpec
from core.work import end_of

DOCUMENT = ROOT / "docs" / "frontier.md"
RESULTS = ROOT / "benchmarks" / "results" / "times.json"
SHARES = (0.05, 0.1, 0.2, 0.4, 0.8)
SEED, CORES = 11, 2
Line = dict[str, Any]
Lines = dict[tuple[str, str, int], Line]


class Wanted(NamedTuple):
    """A table to train on: so many rows of a set, or generated."""

    title: str
    n_rows: int
    #: of a generated one
    n_features: int = 0
    n_classes: int = 0
    has_wall_time: bool = False
    #: whether it counts for the mean
    is_usual: bool = True


#: a table, a party and a number of cores
Key = tuple[Wanted, str, int]
TABLES = (
    Wanted("australian", 690),
    Wanted("pima", 768),
    Wanted("splice", 3190),
    Wanted("thyroid_ann", 7200),
    Wanted("adult", 12000),
    Wanted("generated", 3100, 36, 3, has_wall_time=True),
    Wanted("generated of 19 classes", 680, 35, 19, has_wall_time=True, is_usual=False),
)


def make_table(wanted: Wanted) -> Dataset:
    """Read or generate a table; prices are drawn."""
    if wanted.n_features:
        return generate(wanted)
    generator = np.random.default_rng([SEED, *wanted.title.encode()])
    table = data.load(wanted.title, is_two_class=False)
    rows = generator.permutation(table.n_samples)[: wanted.n_rows]
    return table.training(rows, draw_prices(generator, table.n_features))


def generate(wanted: Wanted) -> Dataset:
    """Generate numbers; of more classes more columns tell."""
    generator = np.random.default_rng([SEED, *wanted.title.encode()])
    n_informative = wanted.n_features // 3 + wanted.n_classes // 3
    values, targets = make_classification(
        wanted.n_rows,
        wanted.n_features,
        n_informative=n_informative,
        n_redundant=wanted.n_features // 6,
        n_classes=wanted.n_classes,
        flip_y=0.05,
        random_state=SEED,
    )
    prices = draw_prices(generator, wanted.n_features).tolist()
    features = [Feature(f"x{idx}", cost=price) for idx, price in enumerate(prices)]
    names = [str(one) for one in range(wanted.n_classes)]
    return Dataset(
        catalogue=Catalogue(tuple(features)),
        classes=tuple(ClassLabel(one, one) for one in names),
        values=np.ascontiguousarray(values, np.float64),
        targets=targets.astype(np.int64),
        weights=np.full(wanted.n_rows, 1 / wanted.n_rows),
    )


def draw_prices(generator: np.random.Generator, n_features: int) -> IntArray:
    units = np.maximum(generator.uniform(0.0, MAX_PRICE, n_features), LEAST_PRICE)
    return np.rint(units * MICROS).astype(np.int64)


def train_auto(dataset: Dataset, n_cores: int) -> float:
    """Train as `askless train` does, at the standard effort and with its folds."""
    spec = TrainingSpec(TableSpec("label"))
    prepared = prepare_table(CheckedTable(dataset, None, ()), spec)
    runner = choose_runner(prepared.table, spec, 1 if n_cores == 1 else None)
    end_of(train(prepared, spec, run_parts=runner))
    return 0.0


def work_by_hand(dataset: Dataset, n_cores: int) -> float:
    """Return how many seconds more it would take to fit known sets again."""
    most, hand = total_cost(dataset.catalogue), Hand(dataset, n_cores)
    hand.work([share * most for share in SHARES])
    return hand.spared_s


#: They return what they were spared.
WORK: dict[str, Callable[[Dataset, int], float]] = {
    "auto": train_auto,
    "hand": work_by_hand,
}


def measure(party: str, wanted: Wanted, n_cores: int) -> Line:
    """Measure a party on a table, in a process that did nothing before."""
    dataset = make_table(wanted)
    n_classes = max(2, wanted.n_classes)
    tiny = generate(Wanted("tiny", 150, max(8, 2 * n_classes), n_classes))
    WORK[party](tiny, 1)
    wall, processor = time.perf_counter(), find_processor_s()
    spared = WORK[party](dataset, n_cores)
    return {
        **{"table": wanted.title, "party": party, "n_cores": n_cores},
        "n_samples": dataset.n_samples,
        "n_features": len(dataset.catalogue.features),
        "n_classes": len(dataset.classes),
        "processor_s": round(find_processor_s() - processor, 2),
        "wall_s": round(time.perf_counter() - wall, 2),
        "spared_s": round(spared, 2),
    }


def find_processor_s() -> float:
    """Return the processor time of this process and of children that ended."""
    return sum(os.times()[:4])


def measure_apart(party: str, wanted: Wanted, n_cores: int) -> Line:
    """Measure in a process of its own, with so many threads."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(n_cores)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn) as pool:
        return pool.submit(measure, party, wanted, n_cores).result()


def list_missing(tables: Sequence[Wanted], lines: Lines) -> list[Key]:
    return [
        (one, party, n_cores)
        for one in tables
        for n_cores in ((1, CORES) if one.has_wall_time else (1,))
        for party in WORK
        if (one.title, party, n_cores) not in lines
    ]


def read_lines(path: Path) -> Lines:
    """Read what is kept, by table, party and cores; of each the line read last."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    return {(one["table"], one["party"], one["n_cores"]): one for one in lines}


def write_rows(lines: Lines) -> Rows:
    """Both times of each table, and the mean of the ratios of the usual ones."""
    ratios, again = [], []
    for one in TABLES:
        its = [lines.get((one.title, party, 1)) for party in WORK]
        if None in its:
            continue
        auto, hand = (line["processor_s"] for line in its)
        whole = hand + its[1]["spared_s"]
        if one.is_usual:
            ratios.append(auto / hand)
            again.append(auto / whole)
        walls = [lines.get((one.title, party, CORES)) for party in WORK]
        yield (
            one.title,
            *(its[0][name] for name in ("n_samples", "n_features", "n_classes")),
            number(auto),
            number(hand),
            f"{auto / hand:.2f}",
            f"{auto / whole:.2f}",
            *("" if line is None else number(line["wall_s"]) for line in walls),
        )
    if ratios:
        means = (f"**{np.mean(found):.2f}**" for found in (ratios, again))
        yield f"mean of {len(ratios)}", *[""] * 5, *means, "", ""


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks.frontier.times", description=__doc__
    )
    parser.add_argument("--tables", nargs="+", help="these only")
    parser.add_argument("--again", nargs="+", default=[], choices=WORK)
    parser.add_argument("--results", type=Path, default=RESULTS, help="kept here")
    parser.add_argument("--document", action="store_true", help="write it only")
    return parser.parse_args()


def main() -> int:
    """Measure what is missing, one after the other, then write the table."""
    arguments = read_arguments()
    lines = read_lines(arguments.results)
    valid = {key: one for key, one in lines.items() if key[1] not in arguments.again}
    names = arguments.tables or [one.title for one in TABLES]
    missing = list_missing([one for one in TABLES if one.title in names], valid)
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    for one, party, n_cores in [] if arguments.document else missing:
        line = {**measure_apart(party, one, n_cores), "core": find_core()}
        lines[one.title, party, n_cores] = line
        rows = [json.dumps(kept) for kept in lines.values()]
        arguments.results.write_text("\n".join(rows) + "\n", encoding="utf-8")
        print(json.dumps(line), file=sys.stderr, flush=True)
    rows = list(write_rows(lines))
    for row in rows:
        print(" | ".join(map(str, row)))
    if arguments.results == RESULTS:
        text = DOCUMENT.read_text(encoding="utf-8")
        filled = fill(text, {"training-times": rows})
        DOCUMENT.write_text(filled, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
