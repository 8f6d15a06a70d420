"""Every compiled function, on plain arrays only; one file per stage.

A kernel calls kernels of its own file only: numba's cache does not notice edits
elsewhere.
"""

from core.kernels.binning import FEW, MISSING, encode, encode_parallel
from core.kernels.histograms import (
    CHUNK,
    add,
    add_parallel,
    cast,
    move,
    move_parallel,
    pack,
    reweight,
    scan_columns,
    scan_columns_parallel,
    sum_groups,
    sum_groups_parallel,
)
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
from core.kernels.outputs import (
    best_output_stumps,
    best_output_stumps_parallel,
    end_rows,
    reweight_outputs,
    sum_sides,
)

__all__ = [
    "CHUNK",
    "FEW",
    "GONE",
    "KNOWN",
    "MISSING",
    "OPEN",
    "PENDING",
    "add",
    "add_parallel",
    "add_votes",
    "best_output_stumps",
    "best_output_stumps_parallel",
    "bound_votes",
    "cast",
    "encode",
    "encode_parallel",
    "end_rows",
    "find_asking",
    "find_dues",
    "find_plan",
    "follow_all",
    "move",
    "move_parallel",
    "pack",
    "reweight",
    "reweight_outputs",
    "scan_columns",
    "scan_columns_parallel",
    "sum_groups",
    "sum_groups_parallel",
    "sum_sides",
    "tally",
    "tally_draws",
    "walk_ordered",
    "walk_sampled",
]
