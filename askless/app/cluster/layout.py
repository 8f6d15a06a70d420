"""A layout places the rows of a training: in processes here, or on a cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from askless.app.cluster.group import ShardGroup
from askless.app.cluster.processes import ProcessKind, ShardProcesses
from askless.app.cluster.reading import deal_rows
from askless.app.settings.places import ADDRESS, ClusterPlace
from askless.app.uploads.checking import prepare_streamed
from askless.app.uploads.streams import StreamedTable
from askless.core.arrays import FloatArray
from askless.core.codes.binning import Binned
from askless.core.errors import Refusal, RefusedError
from askless.core.kernels import count_threads
from askless.core.pipeline.preparing import PreparedTable
from askless.core.pipeline.spec import TrainingSpec
from askless.core.training.algorithms import ALGORITHMS


@contextmanager
def move_rows_to_processes(
    prepared: PreparedTable, spec: TrainingSpec, n_shards: int
) -> Iterator[PreparedTable]:
    """Move the rows to processes of this machine, which share its cores."""
    refuse_values(spec, "--shards")
    binned = prepared.table.binned
    ends = shard_ends(binned.n_samples, n_shards)
    codes = [binned.codes[:, start:stop] for start, stop in pairwise(ends)]
    kind = ProcessKind(n_threads=max(1, count_threads() // n_shards))
    with ShardProcesses(codes, kind) as processes:
        # The rows are in the processes' files now; here they would only take memory.
        del codes, binned
        yield table_in_shards(prepared, processes, ends)


@contextmanager
def prepare_on_cluster(
    table: StreamedTable,
    spec: TrainingSpec,
    place: ClusterPlace,
    n_shards: int | None = None,
) -> Iterator[PreparedTable]:
    """Prepare a table whose rows the workers of a cluster read themselves.

    This process reads each column once for its cuts, and keeps a sample. None: a shard
    for each worker. Raises RefusedError as `prepare_streamed` does or if the cluster
    can't be used, ClusterError if it is lost.
    """
    refuse_values(spec, ADDRESS)
    place.check()
    # An extra, and slow.
    from askless.app.cluster.engine import Cluster
    from askless.app.cluster.worker_lines import assign_shards

    with Cluster(place) as cluster:
        n_shards = cluster.count_shards(n_shards)
        prepared = prepare_streamed(table, spec, keeps_codes=False)
        ends = shard_ends(len(prepared.table.targets), n_shards)
        features = prepared.table.catalogue.features
        cuts = prepared.table.binned.cuts
        sources = deal_rows(table, features, cuts, prepared.row_idxs, ends)
        yield table_in_shards(prepared, assign_shards(cluster, [*sources]), ends)


def refuse_values(spec: TrainingSpec, field: str) -> None:
    """Refuse an algorithm that needs the values of all rows in one process."""
    if ALGORITHMS[spec.boost.algorithm].needs_values:
        rule = "must not be given for an algorithm that does not boost on codes"
        raise RefusedError([Refusal(field, rule, spec.boost.algorithm)])


def shard_ends(n_rows: int, n_shards: int) -> list[int]:
    """Return the row numbers at which shards of equal size begin and end."""
    ends: list[int] = np.linspace(0, n_rows, n_shards + 1).round().astype(int).tolist()
    return ends


def table_in_shards(
    prepared: PreparedTable, shards: ShardGroup[Any], ends: Sequence[int]
) -> PreparedTable:
    """Return a table without rows, which boosts in the shards."""
    binned = prepared.table.binned.without_rows()
    lay_out = partial(set_shard_weights, shards, ends)
    table = replace(prepared.table, binned=binned, lay_out=lay_out)
    return replace(prepared, table=table)


@contextmanager
def set_shard_weights(
    shards: ShardGroup[Any],
    ends: Sequence[int],
    heads: Binned,
    signed_weights: FloatArray,
) -> Iterator[ShardGroup[Any]]:
    """Set the weights of all rows in one part of a training; yield the shards."""
    parts = [signed_weights[start:stop] for start, stop in pairwise(ends)]
    shards.weigh(heads, parts)
    yield shards
