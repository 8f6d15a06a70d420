"""Train tables of growing length, each in a process of its own; print a table.

`python -m benchmarks.scale [--rows 100000,1000000] [--folder build/scale]`. What was
measured is kept beside the tables: a run that was interrupted goes on.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.scale.tables import N_FEATURES, make_table

ROWS = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
# What a training may take, by the project's own measure: bytes per cell, and beside.
PER_CELL, BESIDE = 1.6, 600e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores; {N_FEATURES} features, 100 rounds, 5 folds")
    print("| rows | seconds | peak MB | bytes per cell beyond 600 MB | sha256 |")
    print("|---|---|---|---|---|")
    for n_rows in map(int, options.rows.split(",")):
        kept = options.folder / f"{n_rows}.measured.json"
        if not kept.exists():
            kept.write_text(json.dumps(measure(options.folder, n_rows)))
        found = json.loads(kept.read_text())
        beyond = (found["peak"] - BESIDE) / (n_rows * N_FEATURES)
        print(
            f"| {n_rows:,} | {found['seconds']:.0f} | {found['peak'] / 1e6:,.0f} "
            f"| {max(beyond, 0):.2f} (at most {PER_CELL}) | {found['sha256'][:12]} |",
            flush=True,
        )


def measure(folder: Path, n_rows: int) -> dict[str, object]:
    """Return how long training took, the most memory it had, and its model's hash."""
    table, spec = make_table(folder, n_rows)
    model = folder / f"{n_rows}.model.json"
    command = [
        sys.executable,
        "-m",
        "askless.app.cli",
        "train",
        str(table),
        "--spec",
        str(spec),
    ]
    start = time.perf_counter()
    training = subprocess.Popen([*command, "-o", str(model)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(training.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"training {n_rows:,} rows ended with {status}")
    peak = used.ru_maxrss * 1024
    sha256 = hashlib.sha256(model.read_bytes()).hexdigest()
    return {"seconds": seconds, "peak": peak, "sha256": sha256}


if __name__ == "__main__":
    main()
