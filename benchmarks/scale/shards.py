"""Rounds a second: this process of two threads, shard processes, workers of a cluster.

`python -m benchmarks.scale.shards [--rows 10000,1000000] [--shards 1,2,4]`. All boost
the same table, in turn for some rounds, which must be the same: least and median of all
turns, the part of them that is spent waiting for shards, processor time of all
processes, and what shards have sent. Shard processes have one thread each, and so have
the workers of a cluster, which is started here, with TLS. Other work on the machine
counts in the times: let it be idle.
"""

import askless.app.processes.threads  # noqa: I001  # sets threads before numpy is imported

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from distributed import LocalCluster, Security

from askless.app.cluster.engine import Cluster
from askless.app.cluster.group import Traffic
from askless.app.cluster.layout import find_shard_ends
from askless.app.cluster.processes import ProcessKind, ShardProcesses
from askless.app.cluster.reading import deal_rows
from askless.app.cluster.worker_lines import take_shards
from askless.app.settings.places import ClusterPlace
from askless.app.uploads.streams import open_table
from askless.core.kernels import count_threads
from askless.core.table.binning import Binned, bin_values
from askless.core.table.catalogue import Catalogue, Feature
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round

__all__ = ["askless"]
N_FEATURES = 50
N_TURNS = 12
ROUNDS_A_TURN = 8
MOST_ROUNDS = 2 + (N_TURNS + 1) * ROUNDS_A_TURN
PARAMS = BoostParams("adaboost_bt_smoothed", rounds=MOST_ROUNDS)


@dataclass
class Runner:
    """One way to boost the table, and what its turns took."""

    name: str
    run: Iterator[Round]
    #: other processes than this one
    pids: list[int]
    #: what came from shards, and how long that was waited for
    traffic: Traffic = field(default_factory=Traffic)
    turns_ms: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="10000,1000000")
    parser.add_argument("--shards", default="1,2,4")
    options = parser.parse_args()
    print(f"{count_threads()} threads here, one in each shard")
    print("| rows | where | ms a round | times as fast | waiting | CPU ms | KB |")
    print("|---|---|---|---|---|---|---|")
    for n_rows in map(int, options.rows.split(",")):
        dataset = make_rows(n_rows)
        for n_shards in map(int, options.shards.split(",")):
            for line in measure(dataset, n_shards):
                print(line, flush=True)


def measure(dataset: Dataset, n_shards: int) -> Iterator[str]:
    """Yield rows of the table: least (median) ms a round, and what they come to."""
    binned, signed = bin_values(dataset), initial_weights(dataset)
    ends = find_shard_ends(dataset.n_samples, n_shards)
    weights = [signed[start:stop] for start, stop in pairwise(ends)]
    heads, catalogue = binned.without_rows(), dataset.catalogue
    with ExitStack() as opened:
        codes = [binned.codes[:, start:stop] for start, stop in pairwise(ends)]
        processes = opened.enter_context(
            ShardProcesses(codes, ProcessKind(n_threads=1))
        )
        processes.weigh(heads, weights)
        workers, pids = opened.enter_context(start_workers(dataset, binned, ends))
        workers.weigh(heads, weights)
        here = boost([(binned, signed)], catalogue, PARAMS)
        runners = [
            Runner("here", here, []),
            Runner(
                f"{n_shards} processes",
                boost(processes, catalogue, PARAMS),
                processes.pids,
                processes.traffic,
            ),
            Runner(
                f"{n_shards} workers",
                boost(workers, catalogue, PARAMS),
                pids,
                workers.traffic,
            ),
        ]
        # The first rounds load kernels and sum all rows.
        first = [play(runner)[0] for runner in runners]
        before = [replace(runner.traffic) for runner in runners]
        assert first[0] == first[1] == first[2], "the same rounds"
        for turn in range(N_TURNS):
            rounds = {}
            for place in range(len(runners)):
                runner = runners[(turn + place) % len(runners)]
                cpu_ms = count_cpu_ms(runner.pids)
                rounds[runner.name], seconds = play(runner)
                runner.cpu_ms += count_cpu_ms(runner.pids) - cpu_ms
                runner.turns_ms.append(1e3 * seconds / ROUNDS_A_TURN)
            here_rounds = rounds["here"]
            assert all(its == here_rounds for its in rounds.values()), "the same"
        n_rounds = N_TURNS * ROUNDS_A_TURN
        here_ms = runners[0].turns_ms
        for runner, earlier in zip(runners, before, strict=True):
            its, traffic = runner.turns_ms, runner.traffic
            least, usual = min(here_ms) / min(its), median(here_ms) / median(its)
            waited = 1e3 * (traffic.waited_s - earlier.waited_s)
            received = traffic.bytes_received - earlier.bytes_received
            yield (
                f"| {dataset.n_samples:,} | {runner.name} "
                f"| {min(its):.2f} ({median(its):.2f}) | {least:.2f} ({usual:.2f}) "
                f"| {waited / ROUNDS_A_TURN / sum(its):.0%} "
                f"| {runner.cpu_ms / n_rounds:.1f} | {received / n_rounds / 1e3:.0f} |"
            )


@contextmanager
def start_workers(
    dataset: Dataset, binned: Binned, ends: Sequence[int]
) -> Iterator[tuple[Any, list[int]]]:
    """Start a cluster on this machine, with TLS; yield its shards and their processes.

    Its workers read the table from a file, as those of other machines would.
    """
    os.environ["NUMBA_NUM_THREADS"], threads = "1", os.environ.get("NUMBA_NUM_THREADS")
    security = Security.temporary()
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        names = [feature.name for feature in dataset.catalogue.features]
        columns = dict(zip(names, dataset.values.T, strict=True))
        table = folder / "table.parquet"
        pyarrow.parquet.write_table(pa.table(columns), table)
        cluster = opened.enter_context(
            LocalCluster(
                n_workers=len(ends) - 1,
                threads_per_worker=1,
                host="127.0.0.1",
                security=security,
                memory_limit=0,
                dashboard_address="127.0.0.1:0",
            )
        )
        files = []
        for part in ("tls_ca_file", "tls_client_cert", "tls_client_key"):
            (folder / part).write_text(getattr(security, part))
            files.append(folder / part)
        there = opened.enter_context(
            Cluster(ClusterPlace(cluster.scheduler_address, *files))
        )
        features = dataset.catalogue.features
        sources = deal_rows(open_table(table), features, binned.cuts, None, ends)
        shards = take_shards(there, [*sources])
        pids = [worker.pid for worker in cluster.workers.values()]
        yield shards, pids
    if threads is None:
        del os.environ["NUMBA_NUM_THREADS"]
    else:
        os.environ["NUMBA_NUM_THREADS"] = threads


def play(runner: Runner) -> tuple[list[Round], float]:
    """Return some rounds and how long they took."""
    start = time.perf_counter()
    rounds = [next(runner.run) for _ in range(ROUNDS_A_TURN)]
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
