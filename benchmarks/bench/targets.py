"""The targets, and whether each is reached."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, NamedTuple

PEERS = {
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "adaboost": "scikit-learn's AdaBoost",
}
BOTH = "binning and boosting"


class Target(NamedTuple):
    """`what` names a figure of a part, the greatest of several; `path` leads to it."""

    part: str
    what: str
    path: tuple[str, ...]
    limit: float
    unit: str
    is_floor: bool = False
    scale: float = 1.0

    def measure(self, parts: Mapping[str, Any]) -> float:
        """Return the figure, in the target's unit."""
        found = reduce(lambda one, key: one[key], self.path, parts[self.part])
        return max(found) if isinstance(found, list) else self.scale * float(found)


FASTER = (
    ("numeric", "lightgbm", 3),
    ("numeric", "xgboost", 3),
    ("binary", "lightgbm", 10),
    ("binary", "xgboost", 10),
    ("adaboost", "adaboost", 300),
)
DOUBLED = (("rows", BOTH), ("features", BOTH), ("rounds", "boosting"))
POLICIES = ("ordered", "sample")
ANSWER = "from an answer to the next question"
TARGETS = (
    *(
        Target(
            part,
            f"times as fast as {PEERS[peer]}, {title}",
            ("times_faster", peer, key),
            limit,
            "×",
            is_floor=True,
        )
        for part, peer, limit in FASTER
        for key, title in (("boosting", "boosting"), ("both", BOTH))
    ),
    *(
        Target(
            "doubling",
            f"the time when {size} double, {title}",
            ("sizes", size, "ratios"),
            2.2,
            "×",
        )
        for size, title in DOUBLED
    ),
    Target(
        "memory",
        "peak above the input, per cell",
        ("bytes_per_cell", "max"),
        1.5,
        "bytes",
    ),
    Target(
        "search",
        "`ucb` times as fast as `all`",
        ("times_faster", "ucb"),
        8,
        "×",
        is_floor=True,
    ),
    Target(
        "search",
        "test error of `ucb` above that of `all`, worst table",
        ("points_worse", "ucb", "max"),
        1,
        "points",
    ),
    *(
        Target(
            "sessions",
            f"{ANSWER}, policy `{one}`, p50",
            ("calls", one, "answer_to_question", "p50_us"),
            0.5,
            "ms",
            scale=0.001,
        )
        for one in POLICIES
    ),
    *(
        Target(
            "sessions",
            f"forecast, policy `{one}`, p50",
            ("calls", one, "forecast", "p50_us"),
            50,
            "µs",
        )
        for one in POLICIES
    ),
    *(
        Target("curves", f"policy `{one}`", ("seconds", one, "median_s"), limit, "s")
        for one, limit in zip(POLICIES, (1, 5), strict=True)
    ),
    Target(
        "start",
        "from starting the process to the first round",
        ("first_round", "median_s"),
        2,
        "s",
    ),
)


def judge(parts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every target whose part was measured, with the figure and the verdict."""
    judged = []
    for one in TARGETS:
        if one.part in parts:
            figure = one.measure(parts)
            is_reached = figure >= one.limit if one.is_floor else figure <= one.limit
            judged.append(
                {
                    "part": one.part,
                    "what": one.what,
                    "limit": one.limit,
                    "is_floor": one.is_floor,
                    "figure": round(figure, 4),
                    "unit": one.unit,
                    "verdict": "reached" if is_reached else "not reached",
                }
            )
    return judged
