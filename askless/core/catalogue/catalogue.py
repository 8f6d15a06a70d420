"""Hold the frozen catalogue: features, groups and their costs.

Money is an integer number of micro-units (one unit = 1,000,000) everywhere.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from askless.core.arrays import BoolArray, Derived, IntArray
from askless.core.kernels import Prices

FeatureType = Literal["number", "boolean", "category"]

#: whether an offer (a bundle or a feature) charges each call, or only for a value
Billing = Literal["per_call", "per_answer"]

#: what is odd about a value that training has not seen
DoubtKind = Literal["unseen_category", "outside_range"]

NO_GROUP = -1

# The code of a category never seen in training: charged for, but no stump reads it.
UNSEEN = -1.0
# The category that rare ones are joined into, where a spec says so.
OTHER = "other"


# Of a number with more values than so many only the range is kept.
MOST_VALUES = 10


@dataclass(frozen=True, slots=True)
class Feature:
    """A column that costs something to read.

    `cost` is in micro-units, 0 for a member of a bundle. `categories` are the values
    seen in training, sorted; code k is the k-th. With `has_other` rare categories were
    joined into `OTHER`, and unknown ones are read as `OTHER`. `category_labels` are
    what people read for the categories, one for each in their order; () where no
    category has a label. `missing` are words and numbers, as text, that mean a missing
    value. `least` and `most` bound the numbers that are possible at all, in rows and
    answers alike.
    """

    name: str
    type: FeatureType = "number"
    cost: int = 1_000_000
    label: str | None = None
    #: how a person is asked for the value; None: by the title
    question: str | None = None
    unit: str | None = None
    #: what the feature is called in the code system `system`
    #: (`askless.core.catalogue.code_systems`)
    code: str | None = None
    system: str | None = None
    #: the unit as UCUM writes it
    ucum: str | None = None
    group: str | None = None
    least: float | None = None
    most: float | None = None
    categories: tuple[str, ...] = ()
    category_labels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    #: the words that mean missing besides `missing`; None: the usual ones
    missing_words: tuple[str, ...] | None = None
    #: whether a comma in a number is its decimal point
    decimal_comma: bool = False
    has_other: bool = False
    #: least and greatest number of the training rows; None: unknown, or not a number
    value_range: tuple[float, float] | None = None
    #: the numbers that training saw, ascending, where there are at most `MOST_VALUES`
    values: tuple[float, ...] = ()
    #: a member of a bundle has that of its bundle
    billing: Billing = "per_answer"

    @property
    def title(self) -> str:
        """The label where there is one, else the name."""
        return self.label or self.name

    @property
    def text(self) -> str:
        """How a person is asked: the question where there is one, else the title."""
        return self.question or self.title

    @property
    def shown_categories(self) -> tuple[str, ...]:
        """What people read for each category: its label where it has one."""
        return self.category_labels or self.categories

    @property
    def limit_rule(self) -> str:
        """The rule that a number breaks outside of its limits."""
        if self.least is None:
            return f"must be at most {self.most:g}"
        if self.most is None:
            return f"must be at least {self.least:g}"
        return f"must be from {self.least:g} to {self.most:g}"


@dataclass(frozen=True, slots=True)
class Group:
    """Features that share a one-time fee; with a price, a bundle, bought whole."""

    name: str
    fee: int = 0
    price: int | None = None
    label: str | None = None
    #: with a fee: the billing of members that have none of their own
    billing: Billing = "per_answer"

    @property
    def is_bundle(self) -> bool:
        """Whether the group is bought whole at one price."""
        return self.price is not None


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
    def is_member(self) -> BoolArray:
        """Which features each group has; (n_features, n_groups)."""
        return np.equal.outer(self.group_idxs, np.arange(len(self.groups)))

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

    @cached_property
    def is_bundled(self) -> BoolArray:
        """Which features are members of a bundle; (n_features,)."""
        assert NO_GROUP == -1, "a feature without a group reads the last place"
        return np.append(self.is_bundle, False)[self.group_idxs]

    @cached_property
    def offers(self) -> tuple[tuple[int, ...], ...]:
        """Features that one purchase reveals: those of a bundle, or one alone."""
        offers: dict[tuple[bool, str], list[int]] = {}
        for idx, is_bundled in enumerate(self.is_bundled.tolist()):
            offers.setdefault((is_bundled, self.offer_name(idx)), []).append(idx)
        return tuple(map(tuple, offers.values()))

    @cached_property
    def offer_idxs(self) -> IntArray:
        """Position of each feature's offer among `offers`; (n_features,)."""
        idxs = np.empty(len(self.features), np.int64)
        for number, offer in enumerate(self.offers):
            idxs[list(offer)] = number
        return idxs

    def offer_of(self, feature_idx: int) -> tuple[int, ...]:
        """Return the features that one price buys: those of a bundle, or one alone."""
        return self.offers[int(self.offer_idxs[feature_idx])]

    def offer_name(self, feature_idx: int) -> str:
        """Return the name of the offer of a feature: its bundle's, or its own."""
        if self.is_bundled[feature_idx]:
            return self.groups[int(self.group_idxs[feature_idx])].name
        return self.features[feature_idx].name

    def billing_of(self, feature_idx: int) -> Billing:
        """Return the billing of the offer that has a feature."""
        if self.is_bundled[feature_idx]:
            return self.groups[int(self.group_idxs[feature_idx])].billing
        return self.features[feature_idx].billing

    @cached_property
    def is_per_call(self) -> BoolArray:
        """Which features cost their price even if no value comes; (n_features,)."""
        billings = map(self.billing_of, range(len(self.features)))
        return np.array([billing == "per_call" for billing in billings], np.bool_)

    def price_each(self, is_group_paid: BoolArray | None = None) -> IntArray:
        """Return the price of each feature, taken alone, in micro-units; (n_features,).

        `is_group_paid` (n_groups,); by default no fee has been paid.
        """
        if not self.groups:
            return self.costs
        dues = self.fees if is_group_paid is None else self.fees * ~is_group_paid
        prices: IntArray = self.costs + self.is_member @ dues
        return prices

    @cached_property
    def mean_amount(self) -> float:
        """Mean of all costs, fees and prices of bundles above 0, in micro-units."""
        amounts = np.concatenate((self.costs, self.fees))
        positive = amounts[amounts > 0]
        return float(positive.mean()) if positive.size else 1.0

    @cached_property
    def prices(self) -> Prices:
        """The same amounts as a record for kernels."""
        amounts = self.costs, self.group_idxs, self.fees
        return Prices(*amounts, self.is_bundle, self.is_per_call)
