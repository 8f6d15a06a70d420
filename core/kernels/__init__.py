"""Every compiled function, on plain arrays only; one file per stage.

A kernel calls kernels of its own file only: numba's cache does not notice edits
elsewhere.
"""

from core.kernels.inference import (
    GONE,
    KNOWN,
    OPEN,
    PENDING,
    add_votes,
    bound_votes,
    find_plan,
    walk_ordered,
    walk_sampled,
)
from core.kernels.training import (
    MISSING,
    best_stumps,
    best_stumps_parallel,
    encode,
    reweight,
)
from core.kernels.warm import warm_up

__all__ = [
    "GONE",
    "KNOWN",
    "MISSING",
    "OPEN",
    "PENDING",
    "add_votes",
    "best_stumps",
    "best_stumps_parallel",
    "bound_votes",
    "encode",
    "find_plan",
    "reweight",
    "walk_ordered",
    "walk_sampled",
    "warm_up",
]
