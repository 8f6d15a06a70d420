"""How long a training takes, beside the peers', all in turn."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench.parties import PARTIES, bin_once, boost_once, sit_down
from benchmarks.bench.runs import AVX2, make_worker, sum_up, take_turns
from benchmarks.bench.scale import BINS, Scale

# Party, "binning" or "boosting", and the layout or mode.
Task = tuple[str, str, str]
HISTOGRAM_PEERS = ("lightgbm", "xgboost")
# Ours twice: compiled for this machine, and for AVX2 alone. Peers choose themselves.
OURS: Mapping[str, Mapping[str, str]] = {"askless": {}, "askless_avx2": AVX2}


def measure_training(
    kind: str, scale: Scale, *, peers: tuple[str, ...] = HISTOGRAM_PEERS
) -> dict[str, Any]:
    shape = scale.training if peers == HISTOGRAM_PEERS else scale.adaboost
    names = (*OURS, *peers)
    with ExitStack() as stack:
        tasks: dict[Task, Callable[[], float]] = {}
        for name in names:
            worker = stack.enter_context(
                make_worker(
                    sit_down, (name, shape, kind == "binary"), OURS.get(name, {})
                )
            )
            for layout in PARTIES[name].layouts:
                task = (name, "binning", layout)
                tasks[task] = partial(ask, worker, bin_once, layout)
            for mode in PARTIES[name].modes:
                task = (name, "boosting", mode)
                tasks[task] = partial(ask, worker, boost_once, mode)
        seconds = take_turns(tasks, scale.runs, f"{kind}, beside {', '.join(peers)}")
    parties = {name: gather(name, seconds) for name in names}
    best = {name: party["best"] for name, party in parties.items()}
    return {
        "kind": kind,
        **shape._asdict(),
        "bins": BINS,
        "parties": parties,
        **{
            f"times_faster{suffix}{ours.removeprefix('askless')}": {
                peer: {
                    part: round(best[peer][part][key] / best[ours][part][key], 2)
                    for part in ("boosting", "both")
                }
                for peer in peers
            }
            for suffix, key in (("", "median_s"), ("_by_least", "min_s"))
            for ours in OURS
        },
    }


def ask(worker: Executor, call: Callable[[str], float], what: str) -> float:
    return worker.submit(call, what).result()


def gather(party: str, seconds: Mapping[Task, list[float]]) -> dict[str, Any]:
    """Every layout and mode, and the best of each.

    `both` adds the fastest binning to each mode's boosting, run by run.
    """
    parts: dict[str, dict[str, list[float]]] = {"binning": {}, "boosting": {}}
    for (name, part, what), taken in seconds.items():
        if name == party:
            parts[part][what] = taken
    best: dict[str, Any] = {}
    binning = np.zeros(1)
    for part, taken_by in parts.items():
        if taken_by:
            fastest = min(taken_by, key=lambda what: float(np.median(taken_by[what])))
            best[part] = {"name": fastest, **sum_up(taken_by[fastest])}
    if parts["binning"]:
        binning = np.array(parts["binning"][best["binning"]["name"]])
    parts["both"] = {
        mode: (binning + taken).tolist() for mode, taken in parts["boosting"].items()
    }
    best["both"] = sum_up(parts["both"][best["boosting"]["name"]])
    return {
        **{
            part: {what: sum_up(taken) for what, taken in taken_by.items()}
            for part, taken_by in parts.items()
        },
        "best": best,
    }
