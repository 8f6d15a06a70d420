"""Hand a shard's codes to its process through an unnamed, memory-mapped file."""

import mmap
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from askless.core.arrays import CodeArray


@dataclass(frozen=True)
class Handover:
    """Codes of a shard, (n_features, n_samples), in a file that is open already."""

    n_features: int
    n_samples: int

    def read(self, file_number: int | None, beat: Callable[[], None]) -> CodeArray:
        """Return the codes, mapped from the file; writing leaves the file as it is."""
        del beat
        assert file_number is not None, "the file is handed to the process"
        n_codes = self.n_features * self.n_samples
        # An empty file can't be mapped.
        content: Any = bytearray()
        if n_codes:
            content = mmap.mmap(file_number, n_codes, access=mmap.ACCESS_COPY)
        codes = np.frombuffer(content, np.uint8, n_codes)
        return codes.reshape(self.n_features, self.n_samples)


def write_codes_to_file(codes: CodeArray) -> tuple[Handover, IO[bytes]]:
    """Write the codes of a shard to a file; closing it everywhere removes it."""
    file = tempfile.TemporaryFile(prefix="askless-shard-")  # noqa: SIM115  # is kept
    np.ascontiguousarray(codes).tofile(file)
    file.flush()
    return Handover(*codes.shape), file
