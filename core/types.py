"""The frozen values core works with; no behaviour beyond what follows from a field.

Money is an integer number of micro-units (one unit = 1,000,000) everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.uint8]
BoolArray = npt.NDArray[np.bool_]

FeatureType = Literal["number", "boolean", "category"]
Outcome = Literal["value", "ordered", "unavailable", "refused", "unknown"]
PolicyName = Literal["ordered", "sample"]
StopReason = Literal[
    "budget_exhausted",
    "certain",
    "confident",
    "all_known",
    "max_questions",
    "client_stopped",
    "expired",
]

NO_GROUP = -1

# A category never seen in training: it is charged, and every stump abstains on it.
UNSEEN = -1.0


@dataclass(frozen=True, slots=True)
class Feature:
    """A column that costs something to read.

    `cost` is in micro-units; a member of a bundle has none of its own (0).
    `categories` are the values seen in training, sorted; code k is the k-th.
    """

    name: str
    type: FeatureType = "number"
    cost: int = 1_000_000
    label: str | None = None
    unit: str | None = None
    group: str | None = None
    categories: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The label where there is one, else the name."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Group:
    """Features that share a one-time fee, or, with a price, a bundle bought whole."""

    name: str
    fee: int = 0
    price: int | None = None
    label: str | None = None

    @property
    def is_bundle(self) -> bool:
        """Whether the group is bought whole at one price."""
        return self.price is not None


class Derived:
    """Values whose arrays follow from their fields, and are not pickled with them."""

    def __getstate__(self) -> dict[str, object]:
        """Give the fields alone; arrays mapped read-only would suit no kernel."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]  # a dataclass


@dataclass(frozen=True)
class Catalogue(Derived):
    """All features with their groups, and the unit that costs are given in."""

    features: tuple[Feature, ...]
    groups: tuple[Group, ...] = ()
    cost_unit: str = ""

    @cached_property
    def feature_idxs(self) -> dict[str, int]:
        """Position of each feature by name."""
        return {feature.name: idx for idx, feature in enumerate(self.features)}

    @cached_property
    def group_idxs(self) -> IntArray:
        """Group of each feature, `NO_GROUP` where it has none; (n_features,)."""
        positions = {group.name: idx for idx, group in enumerate(self.groups)}
        return np.array(
            [
                NO_GROUP if feature.group is None else positions[feature.group]
                for feature in self.features
            ],
            dtype=np.int64,
        )

    @cached_property
    def costs(self) -> IntArray:
        """Cost of each feature in micro-units; (n_features,)."""
        return np.array([feature.cost for feature in self.features], dtype=np.int64)

    @cached_property
    def fees(self) -> IntArray:
        """Fee of each group, or the price of a bundle, in micro-units; (n_groups,)."""
        return np.array(
            [
                group.fee if group.price is None else group.price
                for group in self.groups
            ],
            dtype=np.int64,
        )

    @cached_property
    def is_bundle(self) -> BoolArray:
        """Which groups are bundles; (n_groups,)."""
        return np.array([group.is_bundle for group in self.groups], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class ClassLabel:
    """A class as it stands in the table, and as it is shown to people."""

    label: str
    display: str


@dataclass(frozen=True)
class Dataset:
    """A checked table.

    `values` is float64 (n_samples, n_features): numbers as they are, booleans 0 or
    1, categories as codes into `Feature.categories` (`UNSEEN` for any other, in
    rows that training did not see), NaN where missing. `targets`
    holds class positions; of two classes the second is the positive one. `weights`
    are positive and sum to 1. `units` numbers the rows that belong together.
    """

    catalogue: Catalogue
    classes: tuple[ClassLabel, ...]
    values: FloatArray
    targets: IntArray
    weights: FloatArray
    units: IntArray | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def signs(self) -> FloatArray:
        """-1 for the first class, +1 for the second; (n_samples,)."""
        signs: FloatArray = np.where(self.targets == 1, 1.0, -1.0)
        return signs

    def take(self, row_idxs: IntArray) -> Dataset:
        """Give the rows at these positions, their weights rescaled to sum to 1."""
        weights = self.weights[row_idxs]
        return replace(
            self,
            values=np.ascontiguousarray(self.values[row_idxs]),
            targets=self.targets[row_idxs],
            weights=weights / weights.sum(),
            units=None if self.units is None else self.units[row_idxs],
        )


@dataclass(frozen=True, slots=True)
class Stump:
    """A weak hypothesis on one feature.

    It votes `vote` where the value exceeds `cut` (numbers, booleans) or equals the
    category code `cut` (`is_category`), -`vote` otherwise, 0 where it is missing or a
    category never seen in training.
    """

    feature_idx: int
    cut: float
    vote: int
    is_category: bool = False


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coefficients of the logistic model of the positive class.

    logit p = offset + drift*s + m*(slope_unknown*(1 - s) + slope_known*s), with m
    the margin and s the share of the whole ensemble's alpha that is known.
    """

    offset: float
    drift: float
    slope_unknown: float
    slope_known: float


@dataclass(frozen=True)
class Ensemble(Derived):
    """The mathematical result of training.

    `priors` are the class shares of the training weight. `error_costs[i][j]` is
    what it costs to say class j where class i is true.
    """

    catalogue: Catalogue
    classes: tuple[ClassLabel, ...]
    hypotheses: tuple[Stump, ...]
    alphas: tuple[float, ...]
    priors: tuple[float, ...]
    algorithm: str
    policy: PolicyName
    calibrations: tuple[tuple[PolicyName, Calibration], ...] = ()
    error_costs: tuple[tuple[float, ...], ...] | None = None

    @cached_property
    def feature_idxs(self) -> IntArray:
        """Feature each stump reads; (n_hypotheses,)."""
        return np.array([h.feature_idx for h in self.hypotheses], dtype=np.int64)

    @cached_property
    def cuts(self) -> FloatArray:
        """Threshold or category code of each stump; (n_hypotheses,)."""
        return np.array([h.cut for h in self.hypotheses], dtype=np.float64)

    @cached_property
    def signed_alphas(self) -> FloatArray:
        """Alpha times the vote above the cut; (n_hypotheses,)."""
        votes = np.array([h.vote for h in self.hypotheses], dtype=np.float64)
        return votes * np.array(self.alphas, dtype=np.float64)

    @cached_property
    def is_category(self) -> BoolArray:
        """Which stumps compare with a category; (n_hypotheses,)."""
        return np.array([h.is_category for h in self.hypotheses], dtype=np.bool_)

    @cached_property
    def alpha_sums(self) -> FloatArray:
        """Running sums of alpha, the first one 0; (n_hypotheses + 1,)."""
        sums: FloatArray = np.cumsum(np.array([0.0, *self.alphas], np.float64))
        return sums

    @cached_property
    def is_used(self) -> BoolArray:
        """Which features some hypothesis reads; (n_features,)."""
        is_used = np.zeros(len(self.catalogue.features), dtype=np.bool_)
        is_used[self.feature_idxs] = True
        return is_used

    @cached_property
    def segments(self) -> tuple[FloatArray, ...]:
        """Per feature one value from each segment between its stumps' cuts.

        A category that no cut names is infinity, where there is one.
        """
        segments = []
        for idx, feature in enumerate(self.catalogue.features):
            cuts = np.unique(self.cuts[self.feature_idxs == idx])
            if feature.type == "category":
                has_rest = cuts.size < len(feature.categories)
                segments.append(np.append(cuts, [np.inf] * has_rest))
            else:
                segments.append(np.append(cuts, np.inf))
        return tuple(segments)

    @cached_property
    def segment_starts(self) -> IntArray:
        """Where each feature's part of `segment_cuts` starts; (n_features + 1,)."""
        return np.cumsum([0, *(part.size for part in self.segments)])

    @cached_property
    def segment_cuts(self) -> FloatArray:
        """All `segments`, one after the other."""
        return np.concatenate(self.segments)

    @property
    def majority(self) -> int:
        """Position of the majority class of training; the positive one on a tie."""
        return int(len(self.priors) - 1 - np.argmax(self.priors[::-1]))


@dataclass(frozen=True, slots=True)
class Memory:
    """What a rule carries from one round to the next (only `hybrid` does)."""

    first_quality: float = 0.0
    is_smoothing: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One weak hypothesis added by boosting.

    `edge` is gamma in (0, 1], `spent` what the features so far cost in micro-units,
    `z` the normaliser of the weights after this round.
    """

    number: int
    hypothesis: Stump
    edge: float
    alpha: float
    z: float
    spent: int
    memory: Memory = Memory()


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

    certain: bool = True
    confidence: float | None = None
    max_questions: int | None = None


@dataclass(frozen=True, slots=True)
class Charge:
    """What one feature was charged, in micro-units."""

    feature_idx: int
    amount: int


@dataclass(frozen=True)
class State:
    """A session as far as it has come; `core.anytime` makes the next from it.

    `outcomes` per feature: None (not asked), "known" (given at the start) or the
    last outcome. `values` per feature: as in `Dataset.values`, NaN where not known.
    `known` are the features given at the start; they are never charged.
    `n_draws` counts the draws of the policy `sample` that are done with. `is_decided`
    once no further answer counts: then its forecast is the full vote.
    """

    policy: PolicyName
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

    `vote` is the class position of the raw vote, `label` the one to act on.
    """

    label: int
    vote: int
    probabilities: tuple[float, ...]
    margin: float
    share: float
    n_draws: int | None = None
    hoeffding_p: float | None = None


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
