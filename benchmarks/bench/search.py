"""What the searches `ucb` and `lazy` save, and what they cost in test error."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench.children import in_child
from benchmarks.bench.clock import spread, take_turns, timed
from benchmarks.bench.scale import Scale
from benchmarks.bench.tables import make_table
from core.binning import bin_values
from core.boosting import BoostParams, boost, initial_weights
from core.evaluate import evaluate
from core.search import SearchName
from core.training import make_ensemble

SEARCHES: tuple[SearchName, ...] = ("all", "ucb", "lazy")


def measure_search(scale: Scale) -> dict[str, Any]:
    result: dict[str, Any] = in_child(run_search, scale)
    return result


def run_search(scale: Scale) -> dict[str, Any]:
    shape = scale.search
    table = make_table(shape.rows + scale.search_tests, shape.features)
    training = table.take(np.arange(shape.rows))
    testing = table.take(np.arange(shape.rows, table.n_samples))
    del table
    binned = bin_values(training)
    weights = initial_weights(training)
    errors: dict[str, float] = {}

    def train(search: SearchName) -> float:
        params = BoostParams(
            "adaboost",
            rounds=shape.rounds,
            search=search,
            search_size=scale.search_size,
        )
        seconds, rounds = timed(
            lambda: list(boost(binned, weights, training.catalogue, params))
        )
        assert len(rounds) == shape.rounds
        if search not in errors:
            ensemble = make_ensemble(training, params, rounds)
            errors[search] = 100 * evaluate(ensemble, testing, (None,)).errors[0]
        return seconds

    tasks = {one: (lambda s=one: train(s)) for one in SEARCHES}
    seconds = take_turns(tasks, scale.long_runs, "search")
    times = {one: spread(taken) for one, taken in seconds.items()}
    return {
        "rows": shape.rows,
        "features": shape.features,
        "rounds": shape.rounds,
        "search_size": scale.search_size,
        "test_rows": scale.search_tests,
        "seconds": times,
        "times_faster": {
            one: round(times["all"]["median_s"] / times[one]["median_s"], 2)
            for one in SEARCHES
            if one != "all"
        },
        "test_error": {one: round(error, 3) for one, error in errors.items()},
        "points_worse": {
            one: round(errors[one] - errors["all"], 3)
            for one in SEARCHES
            if one != "all"
        },
    }
