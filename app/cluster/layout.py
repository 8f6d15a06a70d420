"""Where boosting has its rows: in so many processes of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise

import numpy as np

from app.cluster.member import ProcessKind
from app.cluster.processes import ShardProcesses
from core.arrays import FloatArray
from core.kernels import count_threads
from core.table.binned_table import LayOut
from core.table.binning import Binned


def in_processes(n_shards: int) -> LayOut:
    """Return what lays rows out in so many processes, which share the cores."""
    return partial(lay_apart, n_shards)


@contextmanager
def lay_apart(
    n_shards: int, binned: Binned, signed_weights: FloatArray
) -> Iterator[ShardProcesses]:
    """Start processes, each with its share of the rows; they end with the block."""
    ends = np.linspace(0, binned.n_samples, n_shards + 1).round().astype(np.int64)
    shards = []
    for start, stop in pairwise(ends.tolist()):
        rows = np.arange(start, stop)
        shards.append((binned.take(rows), signed_weights[rows]))
    kind = ProcessKind(n_threads=max(1, count_threads() // n_shards))
    with ShardProcesses(shards, kind) as processes:
        del shards
        yield processes
