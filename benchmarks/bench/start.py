"""How soon a first training starts in a new process, its kernels in the cache.

`python -m benchmarks.bench.start` is that process.
"""

import json
import subprocess
import sys
import time
from typing import Any

from benchmarks.bench.runs import sum_up
from benchmarks.bench.scale import Scale

ROWS, FEATURES = 1_000, 20


def measure_start(scale: Scale) -> dict[str, Any]:
    """Seconds from starting the process; a first one fills the cache."""
    runs: list[dict[str, float]] = []
    for number in range(scale.runs + 1):
        start = time.monotonic()
        command = [sys.executable, "-m", __name__]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        times = {key: at - start for key, at in json.loads(answer.stdout).items()}
        if number:
            runs.append(times)
        print(f"start: run {number} of {scale.runs}", flush=True)
    return {
        "rows": ROWS,
        "features": FEATURES,
        **{key: sum_up([run[key] for run in runs]) for key in runs[0]},
    }


def first_round() -> dict[str, float]:
    """When each step was done, by the clock that all processes share."""
    from askless.core.training.params import BoostParams
    from askless.core.warm import warm_up
    from benchmarks.engine import boost_rounds
    from benchmarks.made import make_table

    table = make_table(ROWS, FEATURES)
    imported = time.monotonic()
    warm_up()
    warm = time.monotonic()
    next(boost_rounds(table, BoostParams()))
    return {"imported": imported, "warm": warm, "first_round": time.monotonic()}


if __name__ == "__main__":
    print(json.dumps(first_round()))
