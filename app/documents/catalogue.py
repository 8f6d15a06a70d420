"""Features and groups of a stored document; amounts in micro-units."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from app.documents.shape import StoredShape
from core.errors import Refusal
from core.table.binning import MAX_CODES
from core.table.catalogue import Catalogue, Feature, FeatureType, Group

Micros = Annotated[int, Field(ge=0, le=2**62)]


class FeatureShape(StoredShape):
    name: str
    type: FeatureType
    cost_micros: Micros
    label: str | None = None
    unit: str | None = None
    group: str | None = None
    categories: Annotated[list[str], Field(max_length=MAX_CODES)]


class GroupShape(StoredShape):
    name: str
    fee_micros: Micros
    price_micros: Micros | None = None
    label: str | None = None


def feature_shape(one: Feature) -> FeatureShape:
    return FeatureShape(
        name=one.name,
        type=one.type,
        cost_micros=one.cost,
        label=one.label,
        unit=one.unit,
        group=one.group,
        categories=list(one.categories),
    )


def group_shape(one: Group) -> GroupShape:
    return GroupShape(
        name=one.name, fee_micros=one.fee, price_micros=one.price, label=one.label
    )


def build_catalogue(
    features: Sequence[FeatureShape], groups: Sequence[GroupShape], unit: str
) -> Catalogue:
    return Catalogue(
        tuple(
            Feature(
                name=one.name,
                type=one.type,
                cost=one.cost_micros,
                label=one.label,
                unit=one.unit,
                group=one.group,
                categories=tuple(one.categories),
            )
            for one in features
        ),
        tuple(
            Group(one.name, one.fee_micros, one.price_micros, one.label)
            for one in groups
        ),
        unit,
    )


def check_catalogue(catalogue: Catalogue, where: str) -> Iterator[Refusal]:
    """Yield what is wrong with features and groups together."""
    groups = {group.name for group in catalogue.groups}
    bundles = {group.name for group in catalogue.groups if group.is_bundle}
    for noun, named in (("features", catalogue.features), ("groups", catalogue.groups)):
        if len({one.name for one in named}) < len(named):
            names = Counter(one.name for one in named)
            twice = names.most_common(1)[0][0]
            yield Refusal(f"{where}.{noun}", "names must be unique", repr(twice[:60]))
    for position, feature in enumerate(catalogue.features):
        place = f"{where}.features[{position}]"
        if feature.group is not None and feature.group not in groups:
            yield Refusal(f"{place}.group", "must be a known group")
        elif feature.group in bundles and feature.cost > 0:
            rule = "a member of a bundle must have no cost of its own"
            yield Refusal(f"{place}.cost_micros", rule)
        if list(feature.categories) != sorted(set(feature.categories)):
            yield Refusal(f"{place}.categories", "must be sorted and unique")
    if not groups <= {feature.group for feature in catalogue.features}:
        yield Refusal(f"{where}.groups", "must each have a member")
