"""Features and groups to and from JSON-able values; amounts in micro-units."""

from __future__ import annotations

from typing import get_args

from core.codec.nodes import Json, Node
from core.table.catalogue import Feature, FeatureType, Group


def feature_to_json(feature: Feature) -> Json:
    """Give a feature as JSON-able values."""
    return {
        "name": feature.name,
        "type": feature.type,
        "cost_micros": feature.cost,
        "label": feature.label,
        "unit": feature.unit,
        "group": feature.group,
        "categories": list(feature.categories),
    }


def group_to_json(group: Group) -> Json:
    """Give a group as JSON-able values."""
    return {
        "name": group.name,
        "fee_micros": group.fee,
        "price_micros": group.price,
        "label": group.label,
    }


def read_features(top: Node) -> tuple[tuple[Feature, ...], tuple[Group, ...]]:
    """Read the features, and the groups that they belong to."""
    groups = tuple(read_group(node) for node in top.nodes("groups"))
    names = {group.name for group in groups}
    features = tuple(read_feature(node, names) for node in top.nodes("features"))
    top.require(bool(features), "features", "must not be empty")
    top.require(
        len({feature.name for feature in features}) == len(features),
        "features",
        "names must be unique",
    )
    top.require(len(names) == len(groups), "groups", "names must be unique")
    bundles = {group.name for group in groups if group.is_bundle}
    top.require(
        all(one.cost == 0 for one in features if one.group in bundles),
        "features",
        "a member of a bundle must have no cost of its own",
    )
    top.require(
        names == {feature.group for feature in features} - {None},
        "groups",
        "must each have a member",
    )
    return features, groups


def read_group(node: Node) -> Group:
    """Read a group."""
    price = None if node.get("price_micros") is None else node.micros("price_micros")
    return Group(
        node.text("name"), node.micros("fee_micros"), price, node.maybe("label")
    )


def read_feature(node: Node, groups: set[str]) -> Feature:
    """Read a feature."""
    group = node.maybe("group")
    node.require(group is None or group in groups, "group", "must be a known group")
    categories = tuple(node.texts("categories"))
    node.require(
        list(categories) == sorted(set(categories)) and len(categories) <= 254,
        "categories",
        "must be at most 254, sorted and unique",
    )
    return Feature(
        name=node.text("name"),
        type=node.choice("type", get_args(FeatureType)),
        cost=node.micros("cost_micros"),
        label=node.maybe("label"),
        unit=node.maybe("unit"),
        group=group,
        categories=categories,
    )
