"""The frozen values core works with; no behaviour beyond what follows from a field.

Money is an integer number of micro-units (one unit = 1,000,000) everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.hypotheses import Hypothesis, Paths, Stump, lay_paths

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.uint8]
BallotArray = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]

FeatureType = Literal["number", "boolean", "category"]
Outcome = Literal["value", "ordered", "unavailable", "refused", "unknown"]
PolicyName = Literal["ordered", "sample", "cascade"]
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

NO_GROUP = -1

# A category never seen in training: it is charged, and no stump can read it.
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
    holds class positions; of two classes the second is the positive one. Where a row
    may belong to several classes at once (multi-label) it is (n_samples, n_classes), 1
    for each that the row belongs to, else 0. `weights` are positive and sum to 1.
    `units` numbers the rows that belong together.
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
    def is_multilabel(self) -> bool:
        """Whether a row may belong to several classes at once, or to none."""
        return self.targets.ndim == 2

    @property
    def signs(self) -> FloatArray:
        """-1 for the first of two classes, +1 for the second; (n_samples,)."""
        signs: FloatArray = np.where(self.targets == 1, 1.0, -1.0)
        return signs

    @property
    def class_signs(self) -> FloatArray:
        """+1 for each class that a row belongs to, else -1; (n_samples, n_classes)."""
        belongs = self.targets
        if not self.is_multilabel:
            belongs = self.targets[:, None] == np.arange(len(self.classes))
        signs: FloatArray = np.where(belongs == 1, 1.0, -1.0)
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
class Calibration:
    """Coefficients of the logistic model of a channel's class.

    logit p = offset + drift*s + m*(slope_unknown*(1 - s) + slope_known*s), with m
    the channel's margin and s the share of the whole ensemble's alpha that is known.
    """

    offset: float
    drift: float
    slope_unknown: float
    slope_known: float


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a cascade: the hypotheses up to `length`, after the stage before.

    A row whose vote by them is below `threshold` is rejected, unless none of them votes
    on it. The rest is measured on held-out rows that reached the stage: the share of
    the second class that passes, of the first that passes, and the share of the second
    class among all that reached it and among those rejected.
    """

    length: int
    threshold: float
    detection: float
    false_alarm: float
    chance_reaching: float
    chance_rejected: float


@dataclass(frozen=True, slots=True)
class Cascade:
    """Stages in order, and the chance of the second class after the last of them."""

    stages: tuple[Stage, ...]
    chance_passed: float


@dataclass(frozen=True)
class Ensemble(Derived):
    """The mathematical result of training.

    `priors` are the class shares of the training weight. `calibrations` give, by
    policy, one calibration per channel. `error_costs[i][j]` is what it costs to say
    class j where class i is true.
    """

    catalogue: Catalogue
    classes: tuple[ClassLabel, ...]
    hypotheses: tuple[Hypothesis, ...]
    alphas: tuple[float, ...]
    priors: tuple[float, ...]
    algorithm: str
    policy: PolicyName
    calibrations: tuple[tuple[PolicyName, tuple[Calibration, ...]], ...] = ()
    error_costs: tuple[tuple[float, ...], ...] | None = None
    is_multilabel: bool = False
    cascade: Cascade | None = None

    @property
    def n_channels(self) -> int:
        """Numbers in a vote: 1 for two classes, else one per class."""
        return count_channels(len(self.classes), self.is_multilabel)

    @cached_property
    def paths(self) -> Paths:
        """The hypotheses as kernels follow them."""
        return lay_paths(self.hypotheses, self.n_channels)

    @cached_property
    def weighted_votes(self) -> FloatArray:
        """Each vote of `paths` times its hypothesis' alpha; (n_votes, n_channels)."""
        if not self.hypotheses:
            return np.zeros((1, self.n_channels))
        votes: FloatArray = self.paths.votes * self.alpha_array[self.paths.owners, None]
        return votes

    @cached_property
    def alpha_array(self) -> FloatArray:
        """The alphas; (n_hypotheses,)."""
        return np.array(self.alphas, dtype=np.float64)

    @cached_property
    def alpha_sums(self) -> FloatArray:
        """Running sums of alpha, the first one 0; (n_hypotheses + 1,)."""
        sums: FloatArray = np.cumsum(np.array([0.0, *self.alphas], np.float64))
        return sums

    @cached_property
    def is_used(self) -> BoolArray:
        """Which features some hypothesis reads; (n_features,)."""
        is_used = np.zeros(len(self.catalogue.features), dtype=np.bool_)
        is_used[self.paths.nodes[:, 0]] = True
        return is_used

    @cached_property
    def first_uses(self) -> tuple[int, ...]:
        """The features that are read, in the order in which hypotheses need them."""
        return tuple(dict.fromkeys(self.paths.nodes[:, 0].tolist()))

    @cached_property
    def readers(self) -> tuple[IntArray, IntArray]:
        """Hypotheses by the feature they read: where each part starts, and all.

        (n_features + 1,) and one entry for each pair of hypothesis and feature.
        """
        parts: list[list[int]] = [[] for _ in self.catalogue.features]
        for position, hypothesis in enumerate(self.hypotheses):
            for feature_idx in hypothesis.feature_idxs:
                parts[feature_idx].append(position)
        starts = np.cumsum([0, *(len(part) for part in parts)])
        return starts, np.array([h for part in parts for h in part], np.int64)

    @cached_property
    def segments(self) -> tuple[FloatArray, ...]:
        """Per feature one value from each segment between the cuts of its stumps.

        A tree or product of one stump is one here.

        A category that no cut names is infinity, where there is one. Nothing where a
        feature has no stump.
        """
        cuts_by_feature: dict[int, list[float]] = {}
        for one in self.hypotheses:
            stumps = (one,) if isinstance(one, Stump) else one.stumps
            if len(stumps) == 1:
                stump = stumps[0]
                cuts_by_feature.setdefault(stump.feature_idx, []).append(stump.cut)
        segments = [np.empty(0)] * len(self.catalogue.features)
        for feature_idx, its_cuts in cuts_by_feature.items():
            feature = self.catalogue.features[feature_idx]
            cuts = np.unique(np.array(its_cuts, dtype=np.float64))
            has_rest = feature.type != "category" or cuts.size < len(feature.categories)
            segments[feature_idx] = np.append(cuts, [np.inf] * has_rest)
        return tuple(segments)

    @cached_property
    def segment_starts(self) -> IntArray:
        """Where each feature's part of `segment_cuts` starts; (n_features + 1,)."""
        return np.cumsum([0, *(part.size for part in self.segments)])

    @cached_property
    def segment_cuts(self) -> FloatArray:
        """All `segments`, one after the other."""
        return np.concatenate(self.segments)

    @cached_property
    def stage_ends(self) -> IntArray:
        """Where each stage of the cascade ends; empty without one; (n_stages,)."""
        stages = self.cascade.stages if self.cascade else ()
        return np.array([stage.length for stage in stages], dtype=np.int64)

    @cached_property
    def thresholds(self) -> FloatArray:
        """Least vote that passes each stage of the cascade; (n_stages,)."""
        stages = self.cascade.stages if self.cascade else ()
        return np.array([stage.threshold for stage in stages], dtype=np.float64)

    @cached_property
    def calibration_arrays(self) -> dict[PolicyName, FloatArray]:
        """Offsets, drifts and both slopes by policy; (4, n_channels)."""
        return {
            policy: np.array(
                [(c.offset, c.drift, c.slope_unknown, c.slope_known) for c in channels]
            ).T.copy()
            for policy, channels in self.calibrations
        }

    @cached_property
    def preference(self) -> IntArray:
        """Class positions as ties prefer them: larger prior, then higher position."""
        priors = np.array(self.priors)
        return np.lexsort((np.arange(priors.size), priors))[::-1].copy()

    @property
    def majority(self) -> int:
        """Position of the majority class of training; on a tie the last of them."""
        return int(self.preference[0])


def count_channels(n_classes: int, is_multilabel: bool) -> int:
    """How many numbers a vote has: 1 for two classes, else one per class."""
    return 1 if n_classes == 2 and not is_multilabel else n_classes


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
    hypothesis: Hypothesis
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
