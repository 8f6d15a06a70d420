"""Features and groups of a stored model: their shapes, and how they fit together."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from askless.app.documents.shape import Many
from askless.app.documents.stored import StoredShape
from askless.core.catalogue.catalogue import (
    MOST_VALUES,
    OTHER,
    Billing,
    Catalogue,
    Feature,
    FeatureType,
)
from askless.core.catalogue.code_systems import check_code_systems
from askless.core.catalogue.costs import BUNDLE_BILLING_RULE
from askless.core.errors import Refusal, shorten
from askless.core.model.ranges import Micros
from askless.core.table.dataset import MAX_CODES
from askless.core.table.spec import check_limits, is_billed_apart
from askless.core.table.texts.categories import list_ambiguous_labels

Range = Annotated[Many[float], Field(min_length=2, max_length=2)]
PER_ANSWER: Billing = "per_answer"
StoredBilling = Annotated[Billing, Field(exclude_if=lambda value: value == PER_ANSWER)]


# Fields that a document leaves out where they say nothing.
NONE: Any = Field(default=None, exclude_if=lambda value: value is None)
EMPTY: Any = Field(default=(), exclude_if=lambda value: not value)
FALSE: Any = Field(default=False, exclude_if=lambda value: not value)


class FeatureShape(StoredShape):
    name: str
    type: FeatureType
    cost: Micros
    label: str | None = None
    question: str | None = NONE
    unit: str | None = None
    code: str | None = NONE
    system: str | None = NONE
    ucum: str | None = NONE
    group: str | None = None
    least: float | None = NONE
    most: float | None = NONE
    categories: Annotated[Many[str], Field(max_length=MAX_CODES)]
    category_labels: Annotated[Many[str], Field(max_length=MAX_CODES)] = EMPTY
    missing: Many[str] = EMPTY
    missing_words: Many[str] | None = NONE
    decimal_comma: bool = FALSE
    has_other: bool = FALSE
    value_range: Range | None = NONE
    values: Annotated[Many[float], Field(max_length=MOST_VALUES)] = EMPTY
    billing: StoredBilling = PER_ANSWER


class GroupShape(StoredShape):
    name: str
    fee: Micros
    price: Micros | None = None
    label: str | None = None
    billing: StoredBilling = PER_ANSWER


def check_catalogue(catalogue: Catalogue, where: str) -> Iterator[Refusal]:
    """Yield refusals of features and groups that don't fit together."""
    groups = {group.name for group in catalogue.groups}
    bundles = {group.name: group for group in catalogue.groups if group.is_bundle}
    for noun, named in (("features", catalogue.features), ("groups", catalogue.groups)):
        if len({entry.name for entry in named}) < len(named):
            names = Counter(entry.name for entry in named)
            duplicate = names.most_common(1)[0][0]
            yield Refusal(
                f"{where}.{noun}", "names must be unique", repr(duplicate[:60])
            )
    for position, feature in enumerate(catalogue.features):
        place = f"{where}.features[{position}]"
        if feature.group is not None and feature.group not in groups:
            yield Refusal(f"{place}.group", "must be a known group")
        elif feature.group in bundles and feature.cost > 0:
            rule = "a member of a bundle must have no cost of its own"
            yield Refusal(f"{place}.cost_micros", rule)
        elif feature.group in bundles and is_billed_apart(
            feature, bundles[feature.group]
        ):
            yield Refusal(f"{place}.billing", BUNDLE_BILLING_RULE)
        low, high = feature.value_range or (0.0, 0.0)
        if low > high:
            yield Refusal(f"{place}.value_range", "must ascend")
        if list(feature.values) != sorted(set(feature.values)):
            yield Refusal(f"{place}.values", "must ascend")
        for field, rule in (*check_limits(feature), *check_code_systems(feature)):
            yield Refusal(f"{place}.{field}", rule)
        if list(feature.categories) != sorted(set(feature.categories)):
            yield Refusal(f"{place}.categories", "must be sorted and unique")
        yield from check_category_labels(feature, place)
        if feature.has_other and OTHER not in feature.categories:
            yield Refusal(f"{place}.categories", f"must have {OTHER}, for unknown ones")
    if not groups <= {feature.group for feature in catalogue.features}:
        yield Refusal(f"{where}.groups", "must each have a member")


def check_category_labels(feature: Feature, place: str) -> Iterator[Refusal]:
    """Yield refusals of labels that are not one a category, or could mean two."""
    labels = feature.category_labels
    if labels and len(labels) != len(feature.categories):
        yield Refusal(f"{place}.category_labels", "must be one per category")
    elif labels:
        for label, rule in list_ambiguous_labels(feature.categories, labels):
            yield Refusal(f"{place}.category_labels", rule, shorten(label))
