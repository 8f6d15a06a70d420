"""Hold the frozen ensemble, which training makes and sessions read."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Annotated

import numpy as np
from annotated_types import Interval, Len

from askless.core import kernels
from askless.core.arrays import BoolArray, Derived, FloatArray, IntArray, Results
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.price_lists import PriceList, apply_prices
from askless.core.catalogue.prices import total_cost
from askless.core.kernels import Paths
from askless.core.model.certificates import Certification
from askless.core.model.hypotheses import Hypothesis, build_paths
from askless.core.model.ladder.panels import PanelLadder
from askless.core.model.measured import MeasuredErrors
from askless.core.model.ranges import Chance, Each, MeanCost, Micros, Number, Share
from askless.core.table.dataset import ClassLabel, count_outputs

# A calibration has coefficients at the shares 0, 1/4, 1/2, 3/4 and 1.
N_KNOTS = 5

# Sets of positions alike whose results an ensemble keeps.
MAX_ALIKE = 256

Offset = Annotated[float, Interval(ge=-1e6, le=1e6)]
Slope = Annotated[float, Interval(ge=0, le=1e6)]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coefficients that turn the votes of one policy's sessions into probabilities.

    The logit of output l is offset_l(s) + slope(s)*G_l, with s the share of the whole
    ensemble's alpha that is known. G is the vote F = sum(alpha h), for two classes 2F,
    the log odds that boosting fits. Offsets and slope are linear in s between knots.
    """

    #: At each of the `N_KNOTS` knots one per output.
    offsets: Annotated[
        tuple[Annotated[tuple[Offset, ...], Each("outputs")], ...],
        Len(N_KNOTS, N_KNOTS),
    ]
    #: One per knot. Not negative, so that more votes for a class never lower its
    #: probability.
    slopes: Annotated[tuple[Slope, ...], Len(N_KNOTS, N_KNOTS)]

    @property
    def link(self) -> FloatArray:
        """Offsets, in the last column slopes; (N_KNOTS, n_outputs + 1)."""
        return np.column_stack((self.offsets, self.slopes))


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a cascade: the hypotheses up to `length`, after the stage before.

    A row whose vote by them is below `threshold` is rejected, unless none of them votes
    on it. The rest is measured on held-out rows that reached the stage: the share of
    the second class that passes, of the first that passes, and the share of the second
    class among all that reached it and among those rejected.
    """

    length: Annotated[int, Interval(ge=1)]
    threshold: Annotated[float, Interval(ge=-1e12, le=1e12)]
    detection: Share
    false_alarm: Share
    chance_reaching: Share
    chance_rejected: Share


@dataclass(frozen=True, slots=True)
class Cascade:
    """Stages in order, and the chance of the second class after the last of them."""

    stages: tuple[Stage, ...]
    chance_passed: Chance


@dataclass(frozen=True, slots=True)
class BudgetRange:
    """Budgets from the end of the range before, and the best policy under them."""

    #: in micro-units, within the range; None: the last range has no end
    up_to: Micros | None
    policy: str


@dataclass(frozen=True, slots=True)
class Knee:
    """A budget of the curve, and the part of it that is worth spending."""

    #: in micro-units; None: unlimited
    budget: Micros | None
    #: the smallest budget that held-out rows can't tell from it
    worthwhile: Micros | None
    #: error, or with error costs their mean, that the whole budget saves besides, and
    #: its standard error by paired rows; None: nothing besides, or not measured
    gain: Number | None = None
    standard_error: MeanCost | None = None


@dataclass(frozen=True)
class Ensemble(Derived):
    """The mathematical result of training.

    `priors` are the class shares of the training weight. `calibrations` are named by
    policy. `error_costs[i][j]` is the cost of predicting class j where class i is true.
    """

    catalogue: Catalogue
    classes: tuple[ClassLabel, ...]
    hypotheses: tuple[Hypothesis, ...]
    alphas: tuple[float, ...]
    priors: tuple[float, ...]
    algorithm: str
    policy: str
    calibrations: tuple[tuple[str, Calibration], ...] = ()
    error_costs: tuple[tuple[float, ...], ...] | None = None
    is_multilabel: bool = False
    cascade: Cascade | None = None
    panels: PanelLadder | None = None
    #: in order; without any, `policy` asks under every budget
    ranges: tuple[BudgetRange, ...] = ()
    certification: Certification | None = None
    #: the curve's errors (`bind_errors`); None: nothing is promised
    measured: MeasuredErrors | None = field(default=None, compare=False)
    #: by budget, ascending; empty: every budget is worth spending
    knees: tuple[Knee, ...] = ()

    def worthwhile_at(self, budget: int | None) -> int | None:
        """Return the part of a budget that is worth spending, in micro-units."""
        knee = self.knee_at(budget)
        if knee is None or knee.worthwhile == knee.budget:
            return budget
        return knee.worthwhile

    def knee_at(self, budget: int | None) -> Knee | None:
        """Return the knee of the largest budget of the knees which is not larger."""
        most = to_limit(budget)
        within = [knee for knee in self.knees if to_limit(knee.budget) <= most]
        return within[-1] if within else None

    def policy_at(self, budget: int | None) -> str:
        """Return the policy under a budget, in micro-units; None: unlimited."""
        for span in self.ranges:
            if span.up_to is None or (budget is not None and budget <= span.up_to):
                return span.policy
        return self.policy

    def at_prices(self, prices: PriceList, where: str) -> "Ensemble":
        """Return the ensemble with a catalogue at other prices.

        Amounts that training learned (ends of ranges of budgets, knees, budgets of
        terms, prices in stopping rules) are scaled by the ratio of the sums of all
        costs. A certification and measured errors and gains hold only at the prices of
        training, so at others they are left out.
        Raises `RefusedError` as `apply_prices` does; `where` begins its fields.
        """
        catalogue = apply_prices(self.catalogue, self.is_used, prices, where)
        total, new_total = total_cost(self.catalogue), total_cost(catalogue)

        def scale(amount: int | None) -> int | None:
            if amount is None or total <= 0:
                return amount
            return amount * new_total // total

        ranges = tuple(
            replace(policy_range, up_to=scale(policy_range.up_to))
            for policy_range in self.ranges
        )
        knees = tuple(
            Knee(scale(knee.budget), scale(knee.worthwhile)) for knee in self.knees
        )
        panels = self.panels
        if panels is not None and panels.stopping is not None and total * new_total > 0:
            rules = (rule.scale(new_total / total) for rule in panels.stopping.rules)
            stopping = replace(panels.stopping, rules=tuple(rules))
            panels = replace(panels, stopping=stopping)
        if panels is not None and panels.worth is not None and total > 0:
            panels = replace(panels, worth=panels.worth.scale(total, new_total))
        repriced = replace(
            self,
            catalogue=catalogue,
            ranges=ranges,
            knees=knees,
            panels=panels,
            certification=self.certification if catalogue == self.catalogue else None,
            measured=self.measured if catalogue == self.catalogue else None,
        )
        # Cached arrays depend on hypotheses, not on prices, so they are kept.
        cached = self.__dict__.keys() - self.__getstate__().keys()
        # Results of sessions depend on prices.
        cached -= {"results_of_alike"}
        repriced.__dict__.update({name: self.__dict__[name] for name in cached})
        return repriced

    @cached_property
    def results_of_alike(self) -> Callable[..., Results]:
        """The results that sessions share, by all that they have in common."""

        def begin(*common: object) -> Results:
            del common
            return {}

        return lru_cache(maxsize=MAX_ALIKE)(begin)

    @cached_property
    def n_outputs(self) -> int:
        """Numbers in a vote: 1 for two classes, else one per class."""
        return count_outputs(len(self.classes), self.is_multilabel)

    @cached_property
    def paths(self) -> Paths:
        """The hypotheses as kernels follow them."""
        return build_paths(self.hypotheses, self.n_outputs, self.alphas)

    @cached_property
    def alpha_sums(self) -> FloatArray:
        """Running sums of alpha, the first one 0; (n_hypotheses + 1,)."""
        return np.cumsum(np.array([0.0, *self.alphas], np.float64))

    @cached_property
    def has_one_feature_each(self) -> bool:
        """Whether every hypothesis reads one feature, as stumps do."""
        return all(len(hypothesis.feature_idxs) == 1 for hypothesis in self.hypotheses)

    @cached_property
    def is_used(self) -> BoolArray:
        """Which features some hypothesis or panel reads; (n_features,)."""
        is_used = np.zeros(len(self.catalogue.features), dtype=np.bool_)
        is_used[self.paths.nodes[:, kernels.FEATURE]] = True
        if self.panels is not None:
            is_used |= self.panels.mark_readable(is_used.size)
        return is_used

    @cached_property
    def first_uses(self) -> tuple[int, ...]:
        """The features that are read, in the order in which hypotheses need them."""
        return tuple(dict.fromkeys(self.paths.nodes[:, kernels.FEATURE].tolist()))

    @cached_property
    def readers(self) -> tuple[IntArray, IntArray]:
        """Hypotheses sorted by the feature they read: starts, and positions.

        positions[starts[f] : starts[f + 1]] read feature f. `starts` is
        (n_features + 1,); `positions` has an entry for each hypothesis and feature.
        """
        by_feature: list[list[int]] = [[] for _ in self.catalogue.features]
        for position, hypothesis in enumerate(self.hypotheses):
            for feature_idx in hypothesis.feature_idxs:
                by_feature[feature_idx].append(position)
        starts = np.cumsum([0, *map(len, by_feature)])
        return starts, np.array([*itertools.chain(*by_feature)], np.int64)

    @cached_property
    def segments(self) -> kernels.Segments:
        """One value from each segment between the cuts of each feature's stumps.

        A tree or product of one stump counts as a stump. Infinity stands for all
        categories without a cut, if there is one. A feature without stumps has none.
        """
        cuts_by_feature: dict[int, list[float]] = {}
        for hypothesis in self.hypotheses:
            if len(hypothesis.stumps) == 1:
                stump = hypothesis.stumps[0]
                cuts_by_feature.setdefault(stump.feature_idx, []).append(stump.cut)
        segments = [np.empty(0)] * len(self.catalogue.features)
        for feature_idx, feature_cuts in cuts_by_feature.items():
            feature = self.catalogue.features[feature_idx]
            cuts = np.unique(np.array(feature_cuts, dtype=np.float64))
            has_rest = feature.type != "category" or cuts.size < len(feature.categories)
            # One infinity, or none: a list times a boolean.
            segments[feature_idx] = np.append(cuts, [np.inf] * has_rest)
        starts = np.cumsum([0, *(part.size for part in segments)])
        return kernels.Segments(starts, np.concatenate(segments))

    @cached_property
    def stages(self) -> kernels.Stages:
        """The ends of the cascade's stages, and the least votes that pass them."""
        stages = self.cascade.stages if self.cascade else ()
        return kernels.Stages(
            np.array([stage.length for stage in stages], dtype=np.int64),
            np.array([stage.threshold for stage in stages], dtype=np.float64),
        )

    @cached_property
    def stage_scores(self) -> tuple[FloatArray, ...]:
        """The weighted votes of each stage of the cascade; (n_votes,) each."""
        scores, positions = [], np.arange(len(self.hypotheses))
        for start, stop in itertools.pairwise((0, *self.stages.ends)):
            is_inside = (positions >= start) & (positions < stop)
            alphas = np.where(is_inside, self.alphas, 0.0).tolist()
            paths = build_paths(self.hypotheses, self.n_outputs, alphas)
            scores.append(paths.votes[:, 0].copy())
        return tuple(scores)

    @cached_property
    def calibration_arrays(self) -> dict[str, FloatArray]:
        """`Calibration.link` by policy."""
        return {policy: coefficients.link for policy, coefficients in self.calibrations}

    @cached_property
    def class_priors(self) -> FloatArray:
        """The priors as an array."""
        return np.array(self.priors, np.float64)

    @cached_property
    def preference(self) -> IntArray:
        """Class positions as ties prefer them: larger prior, then higher position."""
        priors = self.class_priors
        return np.lexsort((np.arange(priors.size), priors))[::-1].copy()


def to_limit(budget: int | None) -> float:
    """Return a budget as a number; None, unlimited, is infinite."""
    return math.inf if budget is None else budget
