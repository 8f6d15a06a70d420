"""What the searches `ucb` and `lazy` save, and what they cost in test error."""

from typing import Any

import numpy as np

from benchmarks.bench.runs import in_child, sum_up, take_turns, timed
from benchmarks.bench.scale import Scale
from benchmarks.engine import boost_rounds
from benchmarks.made import make_table
from core.simulation.curves import evaluate
from core.table.binning import bin_values
from core.training.algorithms import make_ensemble
from core.training.feature_sampling import SearchName
from core.training.params import BoostParams

SEARCHES: tuple[SearchName, ...] = ("all", "ucb", "ucb_unscaled", "lazy")
# The bonus of `ucb` was chosen by looking at such tables of other seeds.
FIRST_SEED = 21


def measure_search(scale: Scale) -> dict[str, Any]:
    seeds = range(FIRST_SEED, FIRST_SEED + scale.search_tables)
    tables = [in_child(run_search, scale, seed) for seed in seeds]
    times = {
        one: sum_up([taken for seconds, _ in tables for taken in seconds[one]])
        for one in SEARCHES
    }
    errors = {one: np.array([errors[one] for _, errors in tables]) for one in SEARCHES}
    return {
        **scale.search._asdict(),
        "search_size": scale.search_size,
        "test_rows": scale.search_tests,
        "tables": len(tables),
        "seconds": times,
        "times_faster": {
            one: round(times["all"]["median_s"] / times[one]["median_s"], 2)
            for one in SEARCHES[1:]
        },
        "test_error": {one: round(float(errors[one].mean()), 3) for one in SEARCHES},
        "points_worse": {
            one: {
                name: round(float(getattr(errors[one] - errors["all"], name)()), 3)
                for name in ("mean", "min", "max")
            }
            for one in SEARCHES[1:]
        },
    }


def run_search(
    scale: Scale, seed: int
) -> tuple[dict[SearchName, list[float]], dict[SearchName, float]]:
    """Seconds and test errors in %, by search, on a table of its own."""
    shape = scale.search
    table = make_table(shape.rows + scale.search_tests, shape.features, seed=seed)
    training = table.take(np.arange(shape.rows))
    testing = table.take(np.arange(shape.rows, table.n_samples))
    del table
    binned = bin_values(training)
    errors: dict[SearchName, float] = {}

    def train(search: SearchName) -> float:
        params = BoostParams(
            "adaboost",
            rounds=shape.rounds,
            search=search,
            search_size=scale.search_size,
        )
        seconds, rounds = timed(lambda: list(boost_rounds(training, params, binned)))
        assert len(rounds) == shape.rounds
        if search not in errors:
            ensemble = make_ensemble(training, params, rounds)
            errors[search] = 100 * evaluate(ensemble, testing, (None,)).errors[0]
        return seconds

    tasks = {one: (lambda s=one: train(s)) for one in SEARCHES}
    return take_turns(tasks, scale.long_runs, f"search, table {seed}"), errors
