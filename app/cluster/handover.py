"""The rows of a shard as a file without a name, which two processes map."""

import mmap
import tempfile
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np

from core.arrays import FloatArray
from core.table.binning import Binned


@dataclass(frozen=True)
class Handover:
    """What a shard is made of: its table without rows, and where its rows are.

    The file has the weights, (n_samples, n_outputs), the codes, (n_features,
    n_samples), and the packed codes, one after the other.
    """

    heads: Binned
    n_samples: int
    n_outputs: int

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.heads.codes.shape[0])

    @property
    def n_packed(self) -> int:
        """Number of lanes that join several features."""
        return int(self.heads.packing.codes.shape[0])


def without_rows(binned: Binned) -> Binned:
    """Return the cuts and lanes of a table."""
    return binned.take(np.arange(0))


def hand_over(binned: Binned, signed_weights: FloatArray) -> tuple[Handover, IO[bytes]]:
    """Write the rows of a shard to a file; it is gone as soon as nobody has it open."""
    file = tempfile.TemporaryFile(prefix="askless-shard-")  # noqa: SIM115  # is kept
    for rows in (signed_weights, binned.codes, binned.packing.codes):
        np.ascontiguousarray(rows).tofile(file)
    file.flush()
    n_samples, n_outputs = signed_weights.shape
    return Handover(without_rows(binned), n_samples, n_outputs), file


def take_over(handover: Handover, file_number: int) -> tuple[Binned, FloatArray]:
    """Return the rows of a shard, mapped from the file, which stays as it is."""
    n_samples, n_outputs = handover.n_samples, handover.n_outputs
    n_weights = n_samples * n_outputs
    n_codes = n_samples * handover.n_features
    n_bytes = 8 * n_weights + n_codes + n_samples * handover.n_packed
    # An empty file can't be mapped.
    room: Any = bytearray()
    if n_bytes:
        room = mmap.mmap(file_number, n_bytes, access=mmap.ACCESS_COPY)
    weights = np.frombuffer(room, np.float64, n_weights)
    codes = np.frombuffer(room, np.uint8, n_bytes - 8 * n_weights, 8 * n_weights)
    heads = handover.heads
    packed = codes[n_codes:].reshape(handover.n_packed, n_samples)
    packing = replace(heads.packing, codes=packed)
    own = codes[:n_codes].reshape(handover.n_features, n_samples)
    binned = replace(heads, codes=own, packing=packing)
    return binned, weights.reshape(n_samples, n_outputs)
