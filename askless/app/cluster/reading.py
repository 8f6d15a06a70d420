"""Rows that a shard reads from the table itself, and encodes by given cuts.

The coordinator has read each column whole to compute its cuts. It sends a shard the
numbers of its rows, not their values.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from askless.app.uploads.streams import StreamedTable
from askless.core.arrays import CodeArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import Feature
from askless.core.codes.binning import encode_rows
from askless.core.table.columns import read_feature


@dataclass(frozen=True)
class RowsToRead:
    """The rows of a shard: those from `start` up to `stop` that `is_in` marks.

    `is_in` are bits, as `np.packbits` makes them; None: all. `features` and `cuts` come
    from the whole table.
    """

    table: StreamedTable
    features: tuple[Feature, ...]
    cuts: tuple[FloatArray, ...]
    start: int
    stop: int
    is_in: CodeArray | None = None

    def read(self, file_number: int | None, beat: Callable[[], None]) -> CodeArray:
        """Return the codes; raise RefusedError if the table can't be read."""
        del file_number
        n_rows = self.stop - self.start
        taken: IntArray | slice = slice(None)
        if self.is_in is not None:
            taken = np.flatnonzero(np.unpackbits(self.is_in, count=n_rows))
            n_rows = taken.size
        codes = np.empty((len(self.features), n_rows), np.uint8)
        for idx, feature in enumerate(self.features):
            beat()
            name = feature.name
            column = self.table.read_rows(self.start, self.stop, [name])[name]
            values = read_feature(feature, column)[0][taken]
            codes[idx] = encode_rows(values[:, np.newaxis], [self.cuts[idx]])[0]
        return codes


def deal_rows(
    table: StreamedTable,
    features: tuple[Feature, ...],
    cuts: tuple[FloatArray, ...],
    row_idxs: IntArray | None,
    ends: Sequence[int],
) -> Iterator[RowsToRead]:
    """Yield the rows of each shard: a share, by `ends`, of `row_idxs` (None: all)."""
    for start, stop in pairwise(ends):
        if row_idxs is None or start == stop:
            yield RowsToRead(table, features, cuts, start, stop)
            continue
        shard_idxs = row_idxs[start:stop]
        first, last = int(shard_idxs[0]), int(shard_idxs[-1]) + 1
        is_in = np.zeros(last - first, np.bool_)
        is_in[shard_idxs - first] = True
        bits = np.packbits(is_in)
        yield RowsToRead(table, features, cuts, first, last, bits)
