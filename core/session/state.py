"""The frozen values of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval, doc

Outcome = Literal["value", "ordered", "unavailable", "refused", "unknown"]

StopReason = Literal[
    "budget_exhausted",
    "certain",
    "confident",
    "all_known",
    "rejected_early",
    "max_questions",
    "client_stopped",
    "expired",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """One entry of a session's history; `value` is a float as in `Dataset.values`."""

    feature_idx: int
    outcome: Outcome
    value: float | None = None
    charged: int = 0


@dataclass(frozen=True, slots=True)
class StopRule:
    """When a session advises to stop; None or False switches a reason off."""

    certain: Annotated[
        bool, doc("When no answer still affordable can change the prediction.")
    ] = True
    confidence: Annotated[
        Annotated[float, Interval(gt=0, le=1)] | None,
        doc("When the predicted class is this probable."),
    ] = None
    max_questions: Annotated[
        Annotated[int, Interval(ge=0, le=1_000_000_000)] | None,
        doc("When so many questions were answered."),
    ] = None


@dataclass(frozen=True, slots=True)
class Charge:
    """What one feature was charged, in micro-units."""

    feature_idx: int
    amount: int


@dataclass(frozen=True)
class State:
    """A session as far as it has come; `core.session.machine` makes the next from it.

    `outcomes` per feature: None (not asked), "known" (given at the start) or the
    last outcome. `values` per feature: as in `Dataset.values`, NaN where not known.
    `known` are the features given at the start; they are never charged.
    `n_draws` counts the draws of the policy `sample` that are done with. `is_decided`
    once no further answer counts: then its forecast is the full vote.
    """

    policy: str
    budget: int | None
    seed: int
    stream: int
    stop: StopRule
    outcomes: tuple[Outcome | Literal["known"] | None, ...]
    values: tuple[float, ...]
    known: tuple[int, ...] = ()
    charges: tuple[Charge, ...] = ()
    history: tuple[Answer, ...] = ()
    n_draws: int = 0
    next_feature_idx: int | None = None
    stop_reason: StopReason | None = None
    is_ended: bool = False
    is_decided: bool = False

    @property
    def spent(self) -> int:
        """Charged so far, in micro-units."""
        return sum(charge.amount for charge in self.charges)

    @property
    def remaining(self) -> int | None:
        """What may still be charged; None without a budget."""
        return None if self.budget is None else self.budget - self.spent

    @property
    def pending(self) -> tuple[int, ...]:
        """Features that were ordered and whose value is still to come."""
        return tuple(
            idx for idx, outcome in enumerate(self.outcomes) if outcome == "ordered"
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked next; prices in micro-units.

    `feature_idxs` are all features that the price reveals: the open members of a
    bundle, else the feature itself. `share` is the feature's part of the alpha that
    is still open.
    """

    number: int
    feature_idx: int
    feature_idxs: tuple[int, ...]
    price: int
    is_group_paid: bool
    n_hypotheses: int
    share: float
    alternatives: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is predicted from what is known so far.

    `vote` is the class position of the raw vote, `label` the one to act on. `margin`
    of two classes is that of the second, in [-1, 1]; of more classes half the lead of
    the first over the next, in [0, 1].
    """

    label: int
    vote: int
    probabilities: tuple[float, ...]
    margin: float
    share: float
    n_draws: int | None = None
    hoeffding_p: float | None = None
