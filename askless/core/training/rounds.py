"""One round of boosting, and what a rule carries to the next."""

from dataclasses import dataclass

from askless.core.model.hypotheses import Hypothesis


@dataclass(frozen=True, slots=True)
class Memory:
    """The state that a rule carries to the next round (only `hybrid` has one)."""

    first_quality: float = 0.0
    is_smoothing: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One weak hypothesis added by boosting.

    `edge` is gamma in (0, 1], `spent` what the features so far cost in micro-units,
    `z` the normaliser of the weights after this round.
    """

    number: int
    hypothesis: Hypothesis
    edge: float
    alpha: float
    z: float
    spent: int
    memory: Memory = Memory()
