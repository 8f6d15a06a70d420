"""Readiness: the database, the disk, and this process."""

import time

from starlette.datastructures import State

from askless.app.service import operations

# Bytes of a disk: what answers and the log of some minutes need.
LEAST_FREE = 50_000_000


def check_serving(state: State) -> dict[str, bool]:
    """Return by check whether requests will be answered; `state` is the app's."""
    results = operations.check_readiness(state.engine, state.folders, LEAST_FREE) | {
        "kernels": state.is_warm.is_set(),
        "serving": not state.draining,
    }
    results["space"] &= time.monotonic() > state.full_until
    return results
