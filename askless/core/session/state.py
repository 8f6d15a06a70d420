"""The frozen values of a session."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Literal

from annotated_types import Interval, doc

from askless.core.parameters import Amount

Outcome = Literal["value", "ordered", "unavailable", "refused", "unknown"]

#: what a session spends by itself: what is worth it, or all of the budget
Spend = Literal["worthwhile", "all"]

StopReason = Literal[
    "plan_complete",
    "budget_exhausted",
    "certain",
    "confident",
    "certified",
    "all_known",
    "rejected_early",
    "max_questions",
    "client_stopped",
    "expired",
    "not_worth_it",
    "out_of_time",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one feature; in a history with what it was charged."""

    feature_idx: int
    outcome: Outcome
    #: as in `Dataset.values`; with the outcome `value` only
    value: float | None = None
    #: in micro-units
    charged: int = 0
    #: chance with which the question was asked, at the first answer of a purchase;
    #: None: it was not asked, or the chance is not known
    propensity: float | None = None


@dataclass(frozen=True, slots=True)
class Exploration:
    """One draw of whether to explore, before a question or before the end."""

    #: how many answers the session had
    n_answers: int
    #: how many other purchases were open and affordable
    n_open: int
    #: the feature that was drawn; None: the policy goes on
    feature_idx: int | None = None


@dataclass(frozen=True, slots=True)
class StopRule:
    """When a session advises to stop; None or False switches a reason off."""

    certain: Annotated[
        bool, doc("When no answer that may still be asked can change the prediction.")
    ] = True
    confidence: Annotated[
        Annotated[float, Interval(gt=0, le=1)] | None,
        doc("When the predicted class is this probable."),
    ] = None
    disagreement: Annotated[
        Annotated[float, Interval(gt=0, le=0.5)] | None,
        doc("When at most this share of such stops differ from the session's end."),
    ] = None
    delta: Annotated[
        float, Interval(gt=0, le=0.5), doc("Chance at which that share may be missed.")
    ] = 0.1
    max_questions: Annotated[
        Annotated[int, Interval(ge=0, le=1_000_000_000)] | None,
        doc("When so many questions were answered."),
    ] = None
    spend: Annotated[
        Spend,
        doc(
            "`worthwhile`: when going on would not lower the error by more than "
            "held-out rows can tell from nothing; `all`: not for that."
        ),
    ] = "worthwhile"


@dataclass(frozen=True, slots=True)
class Aim:
    """What sessions are to reach on average over many cases; one of these."""

    mean_budget: Annotated[
        Amount | None, doc("What cases may cost on average, for the fewest errors.")
    ] = None
    wanted_error: Annotated[
        Annotated[float, Interval(ge=0, le=1e12)] | None,
        doc(
            "Mean error cost (without error costs the share of errors) to be reached "
            "at the least mean spend."
        ),
    ] = None
    error_price: Annotated[
        Amount | None,
        doc("What an error costs, in units of money: least of errors and spend."),
    ] = None


#: what an amount was charged for: a value, or an answer that came back empty
ChargeKind = Literal["charge", "miss"]


@dataclass(frozen=True, slots=True)
class Charge:
    """What one feature was charged, in micro-units."""

    feature_idx: int
    amount: int
    kind: ChargeKind = "charge"
    #: who sold it, where that is known
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class Purchase:
    """Answers of a seller, at the amount that it charges."""

    #: the first feature of the offer, which carries the charge
    feature_idx: int
    #: in micro-units; 0: nothing was charged
    amount: int
    kind: ChargeKind
    #: by feature; empty: nothing is known, and the offer stays open
    answers: tuple[Answer, ...] = ()
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How long answers take, what waiting costs, and how many are awaited at once."""

    #: (n_features,), seconds that the offer of each feature is expected to take
    seconds: tuple[float, ...]
    #: in micro-units
    second_price: float
    at_once: int
    #: features whose offers are on their way, and what is reserved for each
    sunk: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class State:
    """A session as far as it has come; see `askless.core.session.machine`."""

    policy: str
    #: in micro-units; None: unlimited
    budget: int | None
    seed: int
    stream: int
    stop: StopRule
    #: per feature: None (not asked), "known" (given at the start) or the last outcome
    outcomes: tuple[Outcome | Literal["known"] | None, ...]
    #: per feature, as in `Dataset.values`; NaN where not known
    values: tuple[float, ...]
    #: features given at the start
    known: tuple[int, ...] = ()
    charges: tuple[Charge, ...] = ()
    history: tuple[Answer, ...] = ()
    #: draws that are done with, where the policy draws
    n_draws: int = 0
    next_feature_idx: int | None = None
    stop_reason: StopReason | None = None
    #: whether it was stopped; advice to stop doesn't end it
    is_ended: bool = False
    #: whether no further answer counts: then the forecast is the full vote
    is_decided: bool = False
    #: whether only what was asked was answered, one by one, under one budget
    is_led: bool = True
    #: of the label set at the end; None: there is none
    coverage: float | None = None
    #: what sessions are to reach on average; None: all that the budget pays
    aim: Aim | None = None
    #: class probabilities before and after each known value and answer, of a session
    #: that is led; see `askless.core.session.steps.add_step_chances`
    step_chances: tuple[tuple[float, ...], ...] = ()
    #: chance before each question that another feature is asked, once at most
    explore: float = 0.0
    #: one for each number of questions answered at which there was a choice
    explorations: tuple[Exploration, ...] = ()
    #: reserved for calls that are on their way, in micro-units; no document keeps it
    held: int = 0
    #: None: waiting costs nothing; no document keeps it
    pace: Pace | None = None

    def change(self, **changes: object) -> "State":
        """Return the state with other values of some fields.

        `dataclasses.replace` takes ten times as long.
        """
        assert changes.keys() <= FIELDS, "they are fields"
        changed, held = object.__new__(State), self.__dict__
        changed.__dict__.update({name: held[name] for name in FIELDS}, **changes)
        return changed

    @cached_property
    def spent(self) -> int:
        """Charged so far, misses too, in micro-units."""
        return sum([charge.amount for charge in self.charges])

    @cached_property
    def remaining(self) -> int | None:
        """What may still be charged; None without a budget."""
        return None if self.budget is None else self.budget - self.spent - self.held

    @cached_property
    def explored_idx(self) -> int | None:
        """The feature that exploration drew; None: none so far."""
        # After a feature was drawn there are no more draws.
        return self.explorations[-1].feature_idx if self.explorations else None

    @cached_property
    def propensities(self) -> dict[int, float]:
        """Per feature that was asked: the chance of its question, where it is known."""
        return {
            answer.feature_idx: answer.propensity
            for answer in self.history
            if answer.propensity is not None
        }

    @cached_property
    def pending(self) -> tuple[int, ...]:
        """Features that were ordered and whose value is still to come."""
        return tuple(
            idx for idx, outcome in enumerate(self.outcomes) if outcome == "ordered"
        )


FIELDS = dict.fromkeys(field.name for field in fields(State)).keys()


@dataclass(frozen=True, slots=True)
class Promise:
    """Errors of held-out rows in states as this one, and what the plan may still cost.

    With error costs they are mean costs of errors. None is below the ones after it.
    """

    error_now: float
    #: once the question is answered
    error_after: float
    #: once the whole plan is followed
    error_at_end: float
    #: least and most questions of the plan, this one included
    questions_left: tuple[int, int]
    #: most that the plan may still cost, in micro-units
    spend_left: int


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked next; prices in micro-units."""

    number: int
    feature_idx: int
    #: all features that the price reveals: the open members of a bundle, or this one
    feature_idxs: tuple[int, ...]
    price: int
    is_group_paid: bool
    #: how many hypotheses read the feature; None where they don't vote
    n_hypotheses: int | None
    #: the feature's part of the alpha that is still open; without a vote its part of
    #: the log-loss that the features to buy still gain
    open_share: float
    #: other features that could be asked, with their prices
    alternatives: tuple[tuple[int, int], ...] = ()
    #: None where nothing was measured on such sessions
    promise: Promise | None = None
    #: whether the policy has rules for ending early that don't hold for the case
    is_outside_rules: bool = False
    #: whether it was drawn at random, and is not what the policy would ask
    explores: bool = False
    #: of such a question: why the policy itself would advise to stop, if it would
    policy_stop: StopReason | None = None
    #: chance that it comes back empty, given what is known; None: training saw none
    empty_chance: float | None = None
    #: what it charges on the mean, empty answers counted; in micro-units
    expected_price: int = 0


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is predicted from what is known so far."""

    #: class position to act on
    label: int
    #: class position of the raw vote
    vote: int
    probabilities: tuple[float, ...]
    #: of two classes that of the second, in [-1, 1]; of more classes half the lead of
    #: the first over the next, in [0, 1]
    margin: float
    #: alpha that has voted, by all alpha
    known_share: float
    n_draws: int | None = None
    hoeffding_p: float | None = None
    #: class positions that hold the true one with the coverage asked for; at the end
    label_set: tuple[int, ...] | None = None
