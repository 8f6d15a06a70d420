"""Every compiled function, on arrays and records of them; one file per stage.

A kernel calls kernels of its own file only: numba's cache does not notice edits
elsewhere.
"""

from core.kernels.binning import FEW, MISSING, encode, encode_parallel, pack
from core.kernels.histograms import add, add_parallel
from core.kernels.inference import (
    GONE,
    KNOWN,
    OPEN,
    PENDING,
    add_votes,
    bound_votes,
    find_asking,
    find_dues,
    find_plan,
    follow_all,
    tally,
    tally_draws,
    walk_ordered,
    walk_sampled,
)
from core.kernels.records import Best, Change, Coded, Look, Moved
from core.kernels.scanning import scan, scan_parallel
from core.kernels.weights import (
    CHUNK,
    cast,
    count_sides,
    count_sides_parallel,
    gather,
    gather_parallel,
    move,
    move_parallel,
)

__all__ = [
    "CHUNK",
    "FEW",
    "GONE",
    "KNOWN",
    "MISSING",
    "OPEN",
    "PENDING",
    "Best",
    "Change",
    "Coded",
    "Look",
    "Moved",
    "add",
    "add_parallel",
    "add_votes",
    "bound_votes",
    "cast",
    "count_sides",
    "count_sides_parallel",
    "encode",
    "encode_parallel",
    "find_asking",
    "find_dues",
    "find_plan",
    "follow_all",
    "gather",
    "gather_parallel",
    "move",
    "move_parallel",
    "pack",
    "scan",
    "scan_parallel",
    "tally",
    "tally_draws",
    "walk_ordered",
    "walk_sampled",
]
