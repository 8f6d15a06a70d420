"""Features and their groups, as a spec names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

from core.reader import Reader, or_else
from core.table.catalogue import Feature, FeatureType, Group


def read_groups(
    reader: Reader, raw: object
) -> tuple[tuple[Group, ...], dict[str, str]]:
    """Read the groups, and the group of every member that they name."""
    groups: list[Group] = []
    members: dict[str, str] = {}
    for position, entry in enumerate(reader.sequence(raw, "groups")):
        where = f"groups[{position}]"
        group = reader.mapping(
            entry, where, ("name",), ("fee", "price", "label", "members")
        )
        name = reader.text(group.get("name", where), f"{where}.name")
        if name in {other.name for other in groups}:
            reader.refuse(f"{where}.name", "must be unique among groups", repr(name))
        if (group.get("fee") is None) == (group.get("price") is None):
            reader.refuse(where, "must have a fee, or as a bundle a price")
        fee = reader.amount(or_else(group.get("fee"), 0), f"{where}.fee")
        price = reader.optional(reader.amount, group.get("price"), f"{where}.price")
        label = reader.optional(reader.text, group.get("label"), f"{where}.label")
        groups.append(Group(name, fee, price, label))
        listed = reader.sequence(or_else(group.get("members"), []), f"{where}.members")
        for member in listed:
            feature = reader.text(member, f"{where}.members")
            if feature in members:
                rule = "a feature is a member once, of one group"
                reader.refuse(f"{where}.members", rule, repr(feature))
            members.setdefault(feature, name)
    return tuple(groups), members


def read_features(
    reader: Reader, raw: object, groups: Sequence[Group], members: Mapping[str, str]
) -> tuple[tuple[Feature, ...] | None, frozenset[str]]:
    """Read the features, and the names of those without a type."""
    if raw is None:
        return None, frozenset()
    features: dict[str, Feature] = {}
    untyped = set()
    for position, entry in enumerate(reader.sequence(raw, "features")):
        where = f"features[{position}]"
        given = reader.mapping(
            entry, where, ("name",), ("label", "type", "unit", "cost", "group")
        )
        name = reader.text(given.get("name", where), f"{where}.name")
        if name in features:
            reader.refuse(f"{where}.name", "must be unique", repr(name))
        kind = given.get("type")
        if kind is None:
            untyped.add(name)
        elif kind not in get_args(FeatureType):
            rule = f"must be one of {', '.join(get_args(FeatureType))}"
            reader.refuse(f"{where}.type", rule, repr(kind))
        group = reader.optional(reader.text, given.get("group"), f"{where}.group")
        if group is not None and members.get(name, group) != group:
            reader.refuse(f"{where}.group", "a feature belongs to one group")
        feature = Feature(
            name=name,
            type=kind if kind in get_args(FeatureType) else "number",  # type: ignore[arg-type]  # checked here
            cost=reader.amount(given.get("cost", 1), f"{where}.cost"),
            label=reader.optional(reader.text, given.get("label"), f"{where}.label"),
            unit=reader.optional(reader.text, given.get("unit"), f"{where}.unit"),
            group=group or members.get(name),
        )
        features[name] = place(reader, feature, groups, where, "cost" in given)
    if not features:
        reader.refuse("features", "must name at least one feature")
    for member in members:
        if member not in features:
            reader.refuse("groups", "a member must be a feature", repr(member))
    for group_ in groups:
        if group_.name not in {feature.group for feature in features.values()}:
            reader.refuse("groups", "must have a member", repr(group_.name))
    return tuple(features.values()), frozenset(untyped)


def place(
    reader: Reader,
    feature: Feature,
    groups: Sequence[Group],
    where: str,
    has_cost: bool,
) -> Feature:
    """Check a feature against its group; a member of a bundle costs nothing itself."""
    if feature.group is None:
        return feature
    named = {group.name: group for group in groups}
    group = named.get(feature.group)
    if group is None:
        rule = f"must be one of the groups: {', '.join(named) or 'there are none'}"
        reader.refuse(f"{where}.group", rule, repr(feature.group))
        return feature
    if not group.is_bundle:
        return feature
    if has_cost and feature.cost > 0:
        reader.refuse(f"{where}.cost", "a member of a bundle has no cost of its own")
    return replace(feature, cost=0)
