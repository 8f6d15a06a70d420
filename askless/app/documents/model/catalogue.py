"""Features and groups of a stored document; amounts in micro-units."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from askless.app.documents.shape import Many
from askless.app.documents.stored import StoredShape
from askless.core.catalogue.catalogue import MOST_VALUES, OTHER, Catalogue, FeatureType
from askless.core.catalogue.code_systems import check_code_systems
from askless.core.errors import Refusal
from askless.core.model.ranges import Micros
from askless.core.table.dataset import MAX_CODES
from askless.core.table.spec import check_limits

Range = Annotated[Many[float], Field(min_length=2, max_length=2)]


class FeatureShape(StoredShape):
    name: str
    type: FeatureType
    cost: Micros
    label: str | None = None
    question: str | None = Field(default=None, exclude_if=lambda one: one is None)
    unit: str | None = None
    code: str | None = Field(default=None, exclude_if=lambda one: one is None)
    system: str | None = Field(default=None, exclude_if=lambda one: one is None)
    ucum: str | None = Field(default=None, exclude_if=lambda one: one is None)
    group: str | None = None
    least: float | None = Field(default=None, exclude_if=lambda one: one is None)
    most: float | None = Field(default=None, exclude_if=lambda one: one is None)
    categories: Annotated[Many[str], Field(max_length=MAX_CODES)]
    missing: Many[str] = Field(default=(), exclude_if=lambda one: not one)
    has_other: bool = Field(default=False, exclude_if=lambda one: not one)
    value_range: Range | None = Field(default=None, exclude_if=lambda one: one is None)
    values: Annotated[Many[float], Field(max_length=MOST_VALUES)] = Field(
        default=(), exclude_if=lambda one: not one
    )


class GroupShape(StoredShape):
    name: str
    fee: Micros
    price: Micros | None = None
    label: str | None = None


def check_catalogue(catalogue: Catalogue, where: str) -> Iterator[Refusal]:
    """Yield refusals of features and groups that don't fit together."""
    groups = {group.name for group in catalogue.groups}
    bundles = {group.name for group in catalogue.groups if group.is_bundle}
    for noun, named in (("features", catalogue.features), ("groups", catalogue.groups)):
        if len({one.name for one in named}) < len(named):
            names = Counter(one.name for one in named)
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
        low, high = feature.value_range or (0.0, 0.0)
        if low > high:
            yield Refusal(f"{place}.value_range", "must ascend")
        if list(feature.values) != sorted(set(feature.values)):
            yield Refusal(f"{place}.values", "must ascend")
        for field, rule in (*check_limits(feature), *check_code_systems(feature)):
            yield Refusal(f"{place}.{field}", rule)
        if list(feature.categories) != sorted(set(feature.categories)):
            yield Refusal(f"{place}.categories", "must be sorted and unique")
        if feature.has_other and OTHER not in feature.categories:
            yield Refusal(f"{place}.categories", f"must have {OTHER}, for unknown ones")
    if not groups <= {feature.group for feature in catalogue.features}:
        yield Refusal(f"{where}.groups", "must each have a member")
