"""The targets, and whether each is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PEERS = {
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "adaboost": "scikit-learn's AdaBoost",
}
TRAINING_PARTS = {"boosting": "boosting", "both": "binning and boosting"}


@dataclass(frozen=True)
class Target:
    """`what` names a figure of a part; at least `limit` times as fast, or at most."""

    part: str
    what: str
    limit: float
    unit: str
    figure: Callable[[Mapping[str, Any]], float]
    is_floor: bool = False


def faster(part: str, peer: str, limit: float) -> list[Target]:
    return [
        Target(
            part,
            f"times as fast as {PEERS[peer]}, {title}",
            limit,
            "×",
            lambda one, key=key: float(one["times_faster"][peer][key]),
            is_floor=True,
        )
        for key, title in TRAINING_PARTS.items()
    ]


def doubled(size: str, title: str) -> Target:
    return Target(
        "doubling",
        f"the time when {size} double, {title}",
        2.2,
        "×",
        lambda one: float(max(one["sizes"][size]["ratios"])),
    )


def answered(policy: str) -> Target:
    return Target(
        "sessions",
        f"from an answer to the next question, policy `{policy}`, p50",
        0.5,
        "ms",
        lambda one: one["calls"][policy]["answer_to_question"]["p50_us"] / 1000,
    )


def foretold(policy: str) -> Target:
    return Target(
        "sessions",
        f"forecast, policy `{policy}`, p50",
        50,
        "µs",
        lambda one: float(one["calls"][policy]["forecast"]["p50_us"]),
    )


def drawn(policy: str, limit: float) -> Target:
    return Target(
        "curves",
        f"policy `{policy}`",
        limit,
        "s",
        lambda one: float(one["seconds"][policy]["median_s"]),
    )


TARGETS = (
    *faster("numeric", "lightgbm", 3),
    *faster("numeric", "xgboost", 3),
    *faster("binary", "lightgbm", 10),
    *faster("binary", "xgboost", 10),
    *faster("adaboost", "adaboost", 300),
    doubled("rows", "binning and boosting"),
    doubled("features", "binning and boosting"),
    doubled("rounds", "boosting"),
    Target(
        "memory",
        "peak above the input, per cell",
        1.5,
        "bytes",
        lambda one: float(one["bytes_per_cell"]["max"]),
    ),
    Target(
        "search",
        "`ucb` times as fast as `all`",
        8,
        "×",
        lambda one: float(one["times_faster"]["ucb"]),
        is_floor=True,
    ),
    Target(
        "search",
        "test error of `ucb` above that of `all`, worst table",
        1,
        "points",
        lambda one: float(one["points_worse"]["ucb"]["max"]),
    ),
    answered("ordered"),
    answered("sample"),
    foretold("ordered"),
    foretold("sample"),
    drawn("ordered", 1),
    drawn("sample", 5),
    Target(
        "start",
        "from starting the process to the first round",
        2,
        "s",
        lambda one: float(one["first_round"]["median_s"]),
    ),
)


def judge(parts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every target whose part was measured, with the figure and the verdict."""
    judged = []
    for one in TARGETS:
        if one.part not in parts:
            continue
        figure = one.figure(parts[one.part])
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
