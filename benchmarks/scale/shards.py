"""Rounds a second: one process of two threads beside two shard processes of one each.

`python -m benchmarks.scale.shards [--rows 10000,1000000] [--shards 2]`. Both boost the
same table, in turn for some rounds, which must be the same: least and median of all
turns, and processor time of all processes. Other work on the machine counts in the
former: let it be idle.
"""

import app.threads  # noqa: I001  # sets threads before numpy is imported

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from app.cluster.processes import ProcessKind, ShardProcesses
from core.kernels import count_threads
from core.table.binning import bin_values
from core.table.catalogue import Catalogue, Feature
from core.table.dataset import ClassLabel, Dataset
from core.training.boosting import boost, initial_weights
from core.training.params import BoostParams
from core.training.rounds import Round

__all__ = ["app"]
N_FEATURES = 50
N_TURNS = 12
ROUNDS_A_TURN = 8
MOST_ROUNDS = 2 + (N_TURNS + 1) * ROUNDS_A_TURN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="10000,1000000")
    parser.add_argument("--shards", type=int, default=2)
    options = parser.parse_args()
    print(f"{count_threads()} threads here; {options.shards} processes of one thread")
    print("| rows | ms a round here | in processes | times as fast | CPU ms | KB |")
    print("|---|---|---|---|---|---|")
    for n_rows in map(int, options.rows.split(",")):
        print(measure(make_rows(n_rows), options.shards), flush=True)


def measure(dataset: Dataset, n_shards: int) -> str:
    """Return a row of the table: least (median) ms a round, and what they come to."""
    binned, signed = bin_values(dataset), initial_weights(dataset)
    parts = np.array_split(np.arange(dataset.n_samples), n_shards)
    codes = [binned.codes[:, rows] for rows in parts]
    params = BoostParams("adaboost_bt_smoothed", rounds=MOST_ROUNDS)
    with ShardProcesses(codes, ProcessKind(n_threads=1)) as processes:
        processes.weigh(binned.without_rows(), [signed[rows] for rows in parts])
        runs = [
            boost(source, dataset.catalogue, params)
            for source in ([(binned, signed)], processes)
        ]
        # The first rounds load kernels and sum all rows.
        first = [play(run)[0] for run in runs]
        assert first[0] == first[1], "the same rounds"
        before = processes.traffic.bytes_received
        turns: list[list[float]] = [[], []]
        used = [0.0, 0.0]
        for turn in range(N_TURNS):
            order = (0, 1) if turn % 2 else (1, 0)
            rounds = {}
            for which in order:
                cpu_ms = count_cpu_ms(processes.pids)
                rounds[which], seconds = play(runs[which])
                used[which] += count_cpu_ms(processes.pids) - cpu_ms
                turns[which].append(1e3 * seconds / ROUNDS_A_TURN)
            assert rounds[0] == rounds[1], "the same rounds"
        received = processes.traffic.bytes_received - before
    here, there = turns
    n_rounds = N_TURNS * ROUNDS_A_TURN
    return (
        f"| {dataset.n_samples:,} | {min(here):.2f} ({median(here):.2f}) "
        f"| {min(there):.2f} ({median(there):.2f}) "
        f"| {min(here) / min(there):.2f} ({median(here) / median(there):.2f}) "
        f"| {used[0] / n_rounds:.1f}, {used[1] / n_rounds:.1f} "
        f"| {received / n_rounds / 1e3:.0f} |"
    )


def play(run: Iterator[Round]) -> tuple[list[Round], float]:
    """Return some rounds and how long they took."""
    start = time.perf_counter()
    rounds = [next(run) for _ in range(ROUNDS_A_TURN)]
    return rounds, time.perf_counter() - start


def count_cpu_ms(pids: list[int]) -> float:
    """Return the processor time of this process and of others, so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return 1e3 * (time.process_time() + ticks / os.sysconf("SC_CLK_TCK"))


def make_rows(n_rows: int) -> Dataset:
    """Return rows of numbers with some gaps, whose class follows from all of them."""
    random = np.random.default_rng(5)
    values = random.normal(size=(n_rows, N_FEATURES))
    scores = values @ random.normal(size=N_FEATURES)
    targets = (scores + 4.0 * random.normal(size=n_rows) > 0.0).astype(np.int64)
    values[:, :5][random.random((n_rows, 5)) < 0.05] = np.nan
    features = tuple(
        Feature(f"f{idx}", cost=1_000_000 * (1 + idx % 5)) for idx in range(N_FEATURES)
    )
    classes = tuple(ClassLabel(label, label) for label in "ab")
    weights = np.full(n_rows, 1 / n_rows)
    return Dataset(Catalogue(features), classes, values, targets, weights)


if __name__ == "__main__":
    main()
