"""Describe how to read a table: roles and costs of columns, costs of errors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Interval

from askless.core.catalogue.catalogue import Feature, Group
from askless.core.catalogue.code_systems import check_code_systems
from askless.core.catalogue.costs import BUNDLE_BILLING_RULE, BUNDLE_RULE
from askless.core.catalogue.patterns import expand, matching, unmatched
from askless.core.errors import Refusal, shorten
from askless.core.table.cells import MISSING_WORDS
from askless.core.table.texts.categories import list_ambiguous_labels

# How a spec writes the fields of `Feature` that limit its numbers.
LIMIT_KEYS = {"least": "min", "most": "max"}

#: What was asked in a row that is a closed case: never a feature.
CASE_COLUMN = "askless_case"

MissingTarget = Literal["refuse", "drop"]


@dataclass(frozen=True)
class TableSpec:
    """How to read a table.

    `features` None: every column without another role, with its cost in `costs`, by
    default 1. Features in `untyped` have the type that their column suggests. `members`
    has the group of each feature that a group names. Names in `costs`, `members` and
    `ignore` may be patterns (`askless.core.catalogue.patterns`). Words in `missing`
    mean a missing value in every feature, besides `missing_words` (None: the usual
    ones), which do in the target too. Categories of fewer rows than `rare`, or `rares`
    by feature, are joined. Rows without a target are refused or dropped. `declared`
    has the columns whose source says that they hold texts.
    """

    target: str
    #: what people call the target; None: as its column is called
    target_label: str | None = None
    positive: str | None = None
    #: How classes are shown, by label.
    displays: Mapping[str, str] = field(default_factory=dict)
    cost_unit: str = ""
    features: tuple[Feature, ...] | None = None
    untyped: frozenset[str] = frozenset()
    costs: Mapping[str, int] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    missing_words: tuple[str, ...] | None = None
    declared: frozenset[str] = frozenset()
    rare: Annotated[int, Interval(ge=0, le=1_000_000)] = 0
    rares: Mapping[str, int] = field(default_factory=dict)
    #: what people read for categories, by feature and category
    category_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing_target: MissingTarget = "refuse"
    weight: str | None = None
    group_by: str | None = None
    error_costs: Mapping[str, Mapping[str, float]] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words that mean missing in the target and among row groups."""
        return MISSING_WORDS if self.missing_words is None else self.missing_words

    @property
    def text_columns(self) -> frozenset[str]:
        """Columns that must be read as text, not as numbers.

        With `missing_words` all others must be, too.
        """
        named = {self.target, self.group_by} - {None}
        typed = {
            feature.name
            for feature in self.features or ()
            if (feature.type != "number" and feature.name not in self.untyped)
            or feature.missing_words is not None
        }
        return frozenset(str(name) for name in named | typed)

    @property
    def roles(self) -> dict[str, str | None]:
        """The column of each role except features; None where no column has it."""
        return {"target": self.target, "weight": self.weight, "group_by": self.group_by}


def check_roles(spec: TableSpec) -> Iterator[Refusal]:
    """Refuse a column that is given two roles."""
    used: dict[str, str] = {}
    for role, column in spec.roles.items():
        if column is not None and used.setdefault(column, role) != role:
            rule = f"must not be the column that is the {used[column]}"
            yield Refusal(role, rule, repr(column))
    names = [feature.name for feature in spec.features or ()]
    for name in [*names, *spec.costs, *(spec.members if not names else ())]:
        if name in used:
            rule = f"must not name the column that is the {used[name]}"
            yield Refusal("features", rule, repr(name))
    for name in spec.ignore:
        if name in used:
            rule = f"must not name the column that is the {used[name]}"
            yield Refusal("ignore", rule, repr(name))


def check_features(spec: TableSpec) -> Iterator[Refusal]:
    """Refuse features that contradict one another, their groups or `ignore`."""
    if spec.features is None:
        return
    if spec.costs:
        yield Refusal("costs", "stand either in features or in costs, not in both")
    if not spec.features:
        yield Refusal("features", "must name at least one feature")
    groups = {group.name: group for group in spec.groups}
    members = expand(spec.members, (feature.name for feature in spec.features))
    ignored = matching(spec.ignore, (feature.name for feature in spec.features))
    seen: set[str] = set()
    for position, feature in enumerate(spec.features):
        where = f"features[{position}]"
        if feature.name in seen:
            yield Refusal(f"{where}.name", "must be unique", repr(feature.name))
        seen.add(feature.name)
        if feature.name in ignored:
            yield Refusal(
                f"{where}.name", "must not be one to ignore too", repr(feature.name)
            )
        for key, rule in check_limits(feature):
            yield Refusal(f"{where}.{LIMIT_KEYS[key]}", rule)
        for key, rule in check_code_systems(feature):
            yield Refusal(f"{where}.{key}", rule)
        for rule, label in check_category_labels(spec, feature):
            yield Refusal(f"{where}.category_labels", rule, label)
        if feature.group is None:
            continue
        if members.get(feature.name, feature.group) != feature.group:
            yield Refusal(f"{where}.group", "a feature belongs to one group")
        if feature.group not in groups:
            rule = f"must be one of the groups: {', '.join(groups) or 'there are none'}"
            yield Refusal(f"{where}.group", rule, repr(feature.group))
        elif groups[feature.group].is_bundle and feature.cost > 0:
            yield Refusal(f"{where}.cost", BUNDLE_RULE)
        elif is_billed_apart(feature, groups[feature.group]):
            yield Refusal(f"{where}.billing", BUNDLE_BILLING_RULE)
    yield from check_memberships(spec, seen)


def is_billed_apart(feature: Feature, group: Group) -> bool:
    """Return whether a member of a bundle has another billing than the bundle."""
    return group.is_bundle and feature.billing != group.billing


def check_limits(feature: Feature) -> Iterator[tuple[str, str]]:
    """Yield the field and the rule of each limit that can't be kept."""
    for key, limit in (("least", feature.least), ("most", feature.most)):
        if limit is not None and feature.type != "number":
            yield key, "only a number has limits"
    if None not in (feature.least, feature.most) and feature.least >= feature.most:  # type: ignore[operator]  # neither is None
        yield "most", "must be above the lower limit"


def check_category_labels(
    spec: TableSpec, feature: Feature
) -> Iterator[tuple[str, str]]:
    """Yield each rule that labels of categories break, and the label."""
    labels = spec.category_labels.get(feature.name, {})
    if labels and feature.type != "category":
        yield "only a category has labels", ""
    for label, rule in list_ambiguous_labels([*labels], [*labels.values()]):
        yield rule, shorten(label)


def check_memberships(spec: TableSpec, names: set[str]) -> Iterator[Refusal]:
    """Refuse members that are not features, and groups without members."""
    for member in unmatched(spec.members, names):
        yield Refusal("groups", "a member must be a feature", repr(member))
    filled = {feature.group for feature in spec.features or ()}
    for group in spec.groups:
        if group.name not in filled:
            yield Refusal("groups", "must have a member", repr(group.name))
