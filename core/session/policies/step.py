"""What a policy answers."""

from __future__ import annotations

from dataclasses import dataclass

from core.session.state import StopReason


@dataclass(frozen=True, slots=True)
class Step:
    """The feature to ask, or None with the reason.

    `n_draws` counts the draws done with (policy `sample`).
    """

    feature_idx: int | None
    reason: StopReason | None = None
    n_draws: int = 0
