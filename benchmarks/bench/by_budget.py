"""The processor time of `auto` with its folds, beside LightGBM by hand without any.

By hand: forward selection for five budgets, one of four settings chosen, and a fit for
each budget, by `benchmarks.frontier.rivals`. Each party has a process with one thread.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from askless.core.catalogue.prices import total_cost
from askless.core.kernels import use_threads
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.table.check import CheckedTable
from askless.core.table.spec import TableSpec
from askless.core.work import run_to_end
from benchmarks.bench.runs import make_worker, sum_up, take_turns
from benchmarks.bench.scale import SEED, Scale
from benchmarks.data import MICROS
from benchmarks.frontier import rivals
from benchmarks.frontier.draws import MAX_PRICE, SHARES, Draw, fill, load

MOST_ROWS = 6000
TABLES = ("australian", "pima", "vehicle", "splice", "thyroid_ann", "adult")
PARTIES = ("auto", "auto of five folds", "by hand")


def draw_training(name: str, most: int) -> Draw:
    """Draw rows and uniform prices; the budgets grow by one factor to all prices."""
    table, generator = load(name), np.random.default_rng(SEED)
    rows = generator.permutation(table.n_samples)[:most]
    units = generator.uniform(0.0, MAX_PRICE, table.n_features)
    prices = np.maximum(np.rint(units * MICROS), 1).astype(np.int64)
    training = fill(table, rows).training(rows, prices)
    whole = total_cost(training.catalogue)
    return Draw(training, training, tuple(int(share * whole) for share in SHARES))


def fit_by_hand(drawn: Draw) -> None:
    sets = rivals.find_forward(drawn)
    fit, training = rivals.tune_to(drawn, sets), drawn.training
    for members in filter(None, dict.fromkeys(sets)):
        assert fit is not None, "tuned on a set that isn't empty"
        fit(rivals.lay(training, members), training.targets)


def fit_auto(drawn: Draw, **fields: int) -> None:
    spec = TrainingSpec(TableSpec("label"), **fields)
    run_to_end(train(CheckedTable(drawn.training, None, ()), spec))


FITS: dict[str, Callable[[Draw], None]] = dict(
    zip(PARTIES, (fit_auto, partial(fit_auto, folds=5), fit_by_hand), strict=True)
)


def warm_up(party: str) -> None:
    """Load what a party needs, on a few rows."""
    use_threads(1)
    few = draw_training(TABLES[0], 200)
    FITS[party](replace(few, budgets=few.budgets[:1]))


def take_processor_time(party: str, name: str, most: int) -> float:
    drawn = draw_training(name, most)
    start = time.process_time()
    FITS[party](drawn)
    return time.process_time() - start


def measure_by_budget(scale: Scale) -> dict[str, Any]:
    most = min(MOST_ROWS, scale.training.rows)
    sets: dict[str, Any] = {}
    with ExitStack() as stack:
        workers = {
            party: stack.enter_context(make_worker(warm_up, (party,)))
            for party in PARTIES
        }
        for name in TABLES[: scale.auto_tables]:
            drawn = draw_training(name, most)
            tasks = {
                party: partial(ask, worker, party, name, most)
                for party, worker in workers.items()
            }
            seconds = take_turns(tasks, scale.long_runs, f"auto on {name}")
            medians = {party: sum_up(seconds[party]) for party in PARTIES}
            *ours, by_hand = (np.array(seconds[party]) for party in PARTIES)
            ratios = [sum_up((taken / by_hand).tolist(), digits=3) for taken in ours]
            n_rows, n_features = drawn.training.values.shape
            sets[name] = {
                "rows": n_rows,
                "features": n_features,
                **medians,
                "ratios": ratios,
            }
    return {"sets": sets, "budgets": len(SHARES)}


def ask(worker: Any, party: str, name: str, most: int) -> float:
    taken: float = worker.submit(take_processor_time, party, name, most).result()
    return taken
