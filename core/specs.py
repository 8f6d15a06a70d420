"""What training is asked to do, as a checked value; made from JSON by `core.check`."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.boosting import BoostParams
from core.types import Feature, Group


@dataclass(frozen=True)
class TrainingSpec:
    """A training as asked for; see `DESIGN` of the HTTP interface for the JSON.

    `features` None: every column but the target, with `costs` where given, else 1.
    `folds` 0: no validation, hence no curve and no calibration.
    """

    target: str
    name: str = "model"
    positive: str | None = None
    displays: dict[str, str] = field(default_factory=dict)
    cost_unit: str = ""
    features: tuple[Feature, ...] | None = None
    untyped: frozenset[str] = frozenset()
    costs: dict[str, int] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    boost: BoostParams = BoostParams()
    seed: int = 0
    folds: int = 5
    weight: str | None = None
    group_by: str | None = None
    error_costs: dict[str, dict[str, float]] | None = None
