"""Read costs, groups and budgets from plain Python values, or refuse them."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np

from askless.core.catalogue.catalogue import Billing, Catalogue, Feature, Group
from askless.core.catalogue.patterns import WILDCARD, expand, matching
from askless.core.catalogue.prices import parse_amount
from askless.core.errors import Refusal, RefusedError, nearest_hint, shorten

# Refusals that are shown of a list of budgets.
MAX_REFUSALS = 5

BUNDLE_RULE = "a member of a bundle has no cost of its own"
BUNDLE_BILLING_RULE = "a member of a bundle has the billing of the bundle"
BILLINGS: tuple[Billing, ...] = ("per_answer", "per_call")
BILLING_RULE = f"must be one of {', '.join(BILLINGS)}"
DEFAULT_COST = 1_000_000
GROUP_FIELDS = ("name", "fee", "price", "label", "members", "billing")


class CostReader:
    """Reads costs and groups of columns, and gathers what is wrong with them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.columns: dict[object, str] = {
            **dict(enumerate(names)),
            **{name: name for name in names},
        }
        self.refusals: list[Refusal] = []
        if len(self.columns) < 2 * len(names):
            self.refuse("X", "must have one column of each name", list(names))

    def refuse(self, where: str, rule: str, *received: object) -> None:
        """Add a refusal; at most one received value is shown."""
        shown = shorten(received[0]) if received else ""
        self.refusals.append(Refusal(where, rule, shown))

    def amount(self, raw: object, where: str, *, is_needed: bool = False) -> int | None:
        """Return an amount in micro-units; None where it is left out or refused."""
        try:
            return None if raw is None and not is_needed else parse_amount(raw)
        except ValueError as error:
            self.refuse(where, str(error), raw)
            return None

    def find(self, raw: object, where: str) -> str | None:
        """Return the name of a column, by name or position, or a pattern unchanged."""
        key = to_python(raw)
        is_key = isinstance(key, int | str) and not isinstance(key, bool)
        if is_key and key in self.columns:
            return self.columns[key]
        if isinstance(key, str) and WILDCARD in key and matching([key], self.names):
            return key
        hint = nearest_hint(key, self.names) if isinstance(key, str) else ""
        self.refuse(where, f"there is no feature{hint}", key)
        return None

    def read_costs(self, raw: object) -> dict[str, int]:
        """Return costs in micro-units, by name or pattern."""
        if raw is None:
            return {}
        if not isinstance(raw, Mapping):
            listed = to_python(raw)
            if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
                self.refuse("costs", "must be a list or a mapping", listed)
                return {}
            if len(listed) != len(self.names):
                rule = f"must be one for each of {len(self.names)} features"
                self.refuse("costs", rule, len(listed))
                return {}
            raw = dict(enumerate(listed))
        costs: dict[str, int] = {}
        for key, cost in raw.items():
            name = self.find(key, "costs")
            if name is None:
                continue
            if name in costs:
                self.refuse("costs", "a feature has one cost", name)
            amount = self.amount(to_python(cost), f"costs.{name}", is_needed=True)
            costs[name] = amount or 0
        return costs

    def read_groups(self, raw: object) -> tuple[list[Group], dict[str, str]]:
        """Return the groups, and the group of each member."""
        listed = to_python([] if raw is None else raw)
        if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
            self.refuse("groups", "must be a list", listed)
            return [], {}
        groups, member_lists = [], []
        for position, entry in enumerate(listed):
            group, members = self.read_group(entry, position)
            groups.append(group)
            member_lists.append(members)
        names = [group.name for group in groups]
        self.refusals += check_member_lists(names, member_lists)
        group_of = {
            member: name
            for name, members in zip(names, member_lists, strict=True)
            for member in members
        }
        return groups, expand(group_of, self.names)

    def read_group(self, entry: object, position: int) -> tuple[Group, list[str]]:
        """Return one group and the names of its members."""
        where, name = f"groups[{position}]", f"group {position}"
        if not isinstance(entry, Mapping):
            self.refuse(where, "must be an object", entry)
            return Group(name), []
        fields = {str(key): to_python(value) for key, value in entry.items()}
        for key in fields:
            if key not in GROUP_FIELDS:
                rule = f"unknown field; expected {', '.join(GROUP_FIELDS)}"
                self.refuse(where, rule, key)
        fee, price = fields.get("fee"), fields.get("price")
        self.refusals += check_fee(where, fee, price)  # type: ignore[arg-type]  # null or not
        texts = {key: fields.get(key) for key in ("name", "label")}
        for key, text in texts.items():
            if text is not None and not isinstance(text, str):
                self.refuse(f"{where}.{key}", "must be a string", text)
        billing = fields.get("billing", BILLINGS[0])
        if billing not in BILLINGS:
            self.refuse(f"{where}.billing", BILLING_RULE, billing)
        listed = fields.get("members", [])
        members = listed if isinstance(listed, list | tuple) else [listed]
        if not members:
            self.refuse(f"{where}.members", "must name a feature")
        names = [self.find(member, f"{where}.members") for member in members]
        group = Group(
            name=str(texts["name"] or name),
            fee=self.amount(fee, f"{where}.fee") or 0,
            price=self.amount(price, f"{where}.price"),
            label=None if texts["label"] is None else str(texts["label"]),
            billing=cast(Billing, billing),
        )
        return group, [known for known in names if known is not None]


def read_catalogue(names: Sequence[str], costs: object, groups: object) -> Catalogue:
    """Return the catalogue of columns; raise `RefusedError` with every broken rule.

    `costs` is a sequence of numbers, a mapping of position or name to number, or None;
    `groups` is a sequence of mappings, or None. A group has the fields of a spec's
    group, but its `name` is optional, and `members` (positions or names) is required.
    Names may be patterns, as in a spec.
    """
    reader = CostReader(names)
    listed, group_of = reader.read_groups(groups)
    named = reader.read_costs(costs)
    bundles = {group.name for group in listed if group.is_bundle}
    cost_of = {
        name: cost
        for name, cost in expand(named, names).items()
        # A pattern of costs does not apply to members of bundles.
        if name in named or group_of.get(name) not in bundles
    }
    features, refusals = price_columns(names, cost_of, listed, group_of)
    if reader.refusals or refusals:
        raise RefusedError(reader.refusals + refusals)
    return Catalogue(tuple(features), tuple(listed))


def read_budgets(raw: object, where: str) -> list[int | None]:
    """Return a list of budgets in micro-units, None where unlimited.

    Raises `RefusedError`, whose fields begin with `where`, with the first refusals.
    """
    listed = to_python(raw)
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
        raise RefusedError([Refusal(where, "must be a list", shorten(listed))])
    reader = CostReader(())
    limits = [
        reader.amount(infinite_to_none(to_python(value)), f"{where}[{position}]")
        for position, value in enumerate(listed)
    ]
    if reader.refusals:
        n_more = len(reader.refusals) - MAX_REFUSALS
        more = [Refusal(where, f"and {n_more} more")] if n_more > 0 else []
        raise RefusedError([*reader.refusals[:MAX_REFUSALS], *more])
    return limits


def read_row_budgets(raw: object, n_rows: int) -> list[int | None]:
    """Return the budget of each row in micro-units, None where unlimited.

    One amount is the budget of every row. Raises `RefusedError` for another number of
    budgets than rows, and for what is no budget.
    """
    listed = to_python(raw)
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
        return [read_budget(listed)] * n_rows
    if len(listed) != n_rows:
        rule = f"must be one amount, or one for each of {n_rows} rows"
        raise RefusedError([Refusal("budget", rule, f"{len(listed)} of them")])
    return read_budgets(listed, "budget")


def read_budget(raw: object) -> int | None:
    """Return a budget in micro-units, None if unlimited; or raise `RefusedError`."""
    budget = infinite_to_none(to_python(raw))
    try:
        return None if budget is None else parse_amount(budget)
    except ValueError as error:
        rule = f"{error}, or None for no limit"
        raise RefusedError([Refusal("budget", rule, shorten(budget))]) from None


def infinite_to_none(budget: object) -> object:
    """Return None for a budget that is infinite, any other as it is."""
    return None if budget == math.inf else budget


def to_python(raw: object) -> object:
    """Return NumPy numbers and arrays as Python numbers and lists.

    Other values are returned as they are. A float of any width is read by its shortest
    decimal form.
    """
    if isinstance(raw, np.floating):
        return float(str(raw))
    if isinstance(raw, np.generic):
        return raw.item()
    if hasattr(raw, "__array__"):
        return [to_python(value) for value in np.atleast_1d(np.asarray(raw))]
    return raw


def price_columns(
    names: Iterable[str],
    costs: Mapping[str, int],
    groups: Sequence[Group],
    members: Mapping[str, str],
) -> tuple[list[Feature], list[Refusal]]:
    """Return columns as features with their costs and groups, and refusals."""
    bundles = {group.name for group in groups if group.is_bundle}
    billings: dict[str | None, Billing] = {
        group.name: group.billing for group in groups
    }
    features, refusals = [], []
    for name in names:
        group = members.get(name)
        cost = costs.get(name, 0 if group in bundles else DEFAULT_COST)
        if group in bundles and cost > 0:
            refusals.append(Refusal(f"costs.{name}", BUNDLE_RULE))
        billing = billings.get(group, BILLINGS[0])
        features.append(Feature(name, cost=cost, group=group, billing=billing))
    return features, refusals


def check_fee(where: str, fee: int | None, price: int | None) -> Iterator[Refusal]:
    """Refuse a group unless it has either a fee or a price."""
    if (fee is None) == (price is None):
        yield Refusal(where, "must have a fee, or as a bundle a price")


def check_member_lists(
    names: list[str], member_lists: list[list[str]]
) -> Iterator[Refusal]:
    """Refuse groups with the same name, and features that are members twice."""
    seen_names: set[str] = set()
    seen: set[str] = set()
    for position, (name, members) in enumerate(zip(names, member_lists, strict=True)):
        where = f"groups[{position}]"
        if name in seen_names:
            rule = "must be unique among groups"
            yield Refusal(f"{where}.name", rule, repr(name))
        seen_names.add(name)
        for member in members:
            if member in seen:
                rule = "a feature is a member once, of one group"
                yield Refusal(f"{where}.members", rule, repr(member))
            seen.add(member)
