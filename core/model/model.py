"""A model: an ensemble with its curve and its card."""

from dataclasses import dataclass, field

from core.model.ensemble import Ensemble


@dataclass(frozen=True, slots=True)
class Curve:
    """Error and spend against budget; money in micro-units, None is unlimited."""

    budgets: tuple[int | None, ...]
    errors: tuple[float, ...]
    errors_calibrated: tuple[float, ...]
    mean_spends: tuple[float, ...]
    max_spends: tuple[int, ...]
    n_samples: int


@dataclass(frozen=True, slots=True)
class Model:
    """An ensemble with what a reader of it needs.

    `target` names the column it predicts, `params` are those of the training, `curve`
    comes from its held-out rows, and the `card` holds facts about both.
    """

    name: str
    ensemble: Ensemble
    target: str = ""
    params: dict[str, object] = field(default_factory=dict)
    curve: Curve | None = None
    card: dict[str, object] = field(default_factory=dict)
