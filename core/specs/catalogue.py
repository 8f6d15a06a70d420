"""The estimator's costs and groups: of columns known by position or name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.errors import describe
from core.reader import Reader, or_else
from core.specs.features import read_groups
from core.table.catalogue import Catalogue, Feature

DEFAULT_COST = 1_000_000


def read_catalogue(
    reader: Reader, names: Sequence[str], costs: object, groups: object
) -> Catalogue:
    """Read what columns cost.

    Parameters
    ----------
    reader : Reader
        Gathers what is wrong; unless it is empty, the catalogue means nothing.
    names : sequence of str
        Of the columns.
    costs : sequence of numbers, or mapping of position or name to number, or None
    groups : sequence of mappings, or None
        As a spec's, but for `members`, positions or names, which each must have, and
        for `name`, which may be left out.
    """
    columns: dict[object, str] = {**dict(enumerate(names)), **{n: n for n in names}}
    if len(columns) < 2 * len(names):
        reader.refuse("X", "must have one column of each name", describe(list(names)))
    listed, group_of = read_groups(reader, name_members(reader, columns, groups))
    bundles = {group.name for group in listed if group.is_bundle}
    given = read_costs(reader, columns, len(names), costs)
    features = []
    for name in names:
        group = group_of.get(name)
        cost = given.get(name, 0 if group in bundles else DEFAULT_COST)
        if group in bundles and cost > 0:
            rule = "a member of a bundle has no cost of its own"
            reader.refuse(f"costs.{name}", rule)
        features.append(Feature(name, cost=cost, group=group))
    return Catalogue(tuple(features), listed)


def name_members(
    reader: Reader, columns: Mapping[object, str], raw: object
) -> list[object]:
    """Name groups and members as a spec would; other rules are left to its reading."""
    groups: list[object] = []
    entries = reader.sequence(plain(or_else(raw, [])), "groups")
    for position, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            groups.append(entry)
            continue
        where = f"groups[{position}].members"
        members = reader.sequence(plain(entry.get("members", ())), where)
        if not members:
            reader.refuse(where, "must name a feature")
        found = [find_column(reader, columns, one, where) for one in members]
        groups.append(
            {"name": f"group {position}"}
            | {key: plain(value) for key, value in entry.items()}
            | {"members": [name for name in found if name is not None]}
        )
    return groups


def read_costs(
    reader: Reader, columns: Mapping[object, str], n_features: int, raw: object
) -> dict[str, int]:
    """Read the costs that are given, in micro-units."""
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        listed = plain(raw)
        if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
            reader.refuse("costs", "must be a list or a mapping", describe(listed))
            return {}
        if len(listed) != n_features:
            rule = f"must be one for each of {n_features} features"
            reader.refuse("costs", rule, str(len(listed)))
            return {}
        raw = dict(enumerate(listed))
    costs: dict[str, int] = {}
    for key, cost in raw.items():
        name = find_column(reader, columns, key, "costs")
        if name is None:
            continue
        if name in costs:
            reader.refuse("costs", "a feature has one cost", repr(name))
        costs[name] = reader.amount(plain(cost), f"costs.{name}")
    return costs


def find_column(
    reader: Reader, columns: Mapping[object, str], raw: object, where: str
) -> str | None:
    """Give the name of a column by its position or name."""
    key = plain(raw)
    is_key = isinstance(key, int | str) and not isinstance(key, bool)
    if is_key and key in columns:
        return columns[key]
    reader.refuse(where, "there is no feature", describe(key))
    return None


def plain(raw: object) -> object:
    """Give NumPy's numbers and arrays as JSON would; other values as they are.

    A float of any width stands for its shortest decimal form.
    """
    if isinstance(raw, np.floating):
        return float(str(raw))
    if isinstance(raw, np.generic):
        return raw.item()
    if hasattr(raw, "__array__"):
        return [plain(one) for one in np.atleast_1d(np.asarray(raw))]
    return raw
