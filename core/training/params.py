"""The parameters of a boosting run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.training.feature_sampling import SearchName

LearnerName = Literal["stump", "tree", "product"]

LabelWeights = Literal["balanced", "uniform"]


@dataclass(frozen=True, slots=True)
class BoostParams:
    """The parameters of a boosting run; `cost_floor` in micro-units.

    `leaves` are those of a tree and `factors` those of a product; `search_size` is
    the k of the searches `lazy`, `ucb` and `ucb_unscaled`, and `seed` that of the draws
    of `lazy`.
    `label_weights`: see `initial_weights`. `stages`, `detection` and `false_alarm` are
    those of a cascade.
    """

    algorithm: str = "adaboost_bt_smoothed"
    rounds: int = 300
    tau: float = 1.0
    switch: float = 0.1
    cost_floor: int | None = None
    learner: LearnerName = "stump"
    leaves: int = 8
    factors: int = 3
    search: SearchName = "all"
    search_size: int = 20
    seed: int = 0
    label_weights: LabelWeights = "balanced"
    stages: int = 3
    detection: float = 0.99
    false_alarm: float = 0.5
