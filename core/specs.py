"""What training is asked to do: JSON-able values become a checked spec, or are refused.

A refusal names everything that is wrong at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from typing import Any, TypeVar, get_args

from core.algorithms import ALGORITHMS
from core.boosting import BoostParams, LabelWeights, LearnerName
from core.errors import Refusal, RefusedError
from core.prices import AMOUNT_RULE, to_micros
from core.search import SearchName
from core.selection import SelectionLearner, SelectionMethod, SelectionParams
from core.tuning import USERS, AutoName
from core.types import Feature, FeatureType, Group

MAX_ROUNDS = 100_000
MAX_FOLDS = 50
MAX_NAME = 200
MAX_LEAVES = 64
MAX_FACTORS = 8
MAX_STAGES = 50

# Stands for a parameter to be chosen on held-out rows; of at most so many rounds.
AUTO = "auto"
AUTO_ROUNDS = 1000
MAX_SEARCH_SIZE = 1_000_000
MAX_SELECTION_ROUNDS = 10_000
MAX_NEIGHBOURS = 10_000
MIN_SIGNIFICANCE = 1e-6

T = TypeVar("T")


@dataclass(frozen=True)
class TrainingSpec:
    """A training as asked for.

    `features` None: every column but the target, with `costs` where given, else 1.
    Features in `untyped` take the type that their column suggests. `members` are
    those that groups name themselves. `folds` 0: no validation, hence neither curve
    nor calibration. `selection` None: every feature may be read.
    """

    target: str
    name: str = "model"
    positive: str | None = None
    displays: Mapping[str, str] = field(default_factory=dict)
    cost_unit: str = ""
    features: tuple[Feature, ...] | None = None
    untyped: frozenset[str] = frozenset()
    costs: Mapping[str, int] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    boost: BoostParams = BoostParams()
    seed: int = 0
    folds: int = 5
    weight: str | None = None
    group_by: str | None = None
    error_costs: Mapping[str, Mapping[str, float]] | None = None
    selection: SelectionParams | None = None
    auto: frozenset[AutoName] = frozenset()

    @property
    def text_columns(self) -> frozenset[str]:
        """Columns whose cells must be read as they are written."""
        named = {self.target, self.group_by} - {None}
        typed = {
            feature.name
            for feature in self.features or ()
            if feature.type != "number" and feature.name not in self.untyped
        }
        return frozenset(str(name) for name in named | typed)


def read_spec(raw: object) -> TrainingSpec:
    """Check a training spec.

    Parameters
    ----------
    raw : object
        As JSON gives it; numbers with decimals best as `Decimal`.

    Returns
    -------
    TrainingSpec

    Raises
    ------
    RefusedError
        With every broken rule.
    """
    reader = Reader()
    top = reader.mapping(
        raw,
        "spec",
        required=("target",),
        optional=(
            "name",
            "positive",
            "classes",
            "cost_unit",
            "features",
            "costs",
            "groups",
            "algorithm",
            "params",
            "seed",
            "validation",
            "weight",
            "group_by",
            "error_costs",
            "selection",
        ),
    )
    groups, members = read_groups(reader, or_else(top.get("groups"), []))
    features, untyped = read_features(reader, top.get("features"), groups, members)
    costs = {
        name: reader.amount(cost, f"costs.{name}")
        for name, cost in reader.mapping(or_else(top.get("costs"), {}), "costs").items()
    }
    if features is not None and costs:
        reader.refuse("costs", "stand either in features or in costs, not in both")
    seed = reader.integer(top.get("seed", 0), "seed", 0, 2**63 - 1)
    boost, auto = read_params(
        reader,
        top.get("algorithm", BoostParams().algorithm),
        top.get("params"),
        seed,
    )
    spec = TrainingSpec(
        target=reader.text(top.get("target", "target"), "target"),
        name=reader.text(top.get("name", "model"), "name"),
        positive=reader.optional(reader.label, top.get("positive"), "positive"),
        displays={
            label: reader.text(display, f"classes.{label}")
            for label, display in reader.mapping(
                or_else(top.get("classes"), {}), "classes"
            ).items()
        },
        cost_unit=reader.text(top.get("cost_unit", ""), "cost_unit", least=0),
        features=features,
        untyped=untyped,
        costs=costs,
        groups=groups,
        members=members,
        boost=boost,
        auto=auto,
        seed=seed,
        folds=read_folds(reader, top.get("validation", {})),
        weight=reader.optional(reader.text, top.get("weight"), "weight"),
        group_by=reader.optional(reader.text, top.get("group_by"), "group_by"),
        error_costs=read_error_costs(reader, top.get("error_costs")),
        selection=read_selection(reader, top.get("selection")),
    )
    check_roles(reader, spec)
    reader.finish()
    return spec


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
        if ("fee" in group) == ("price" in group):
            reader.refuse(where, "must have a fee, or as a bundle a price")
        fee = reader.amount(group.get("fee", 0), f"{where}.fee")
        price = reader.optional(reader.amount, group.get("price"), f"{where}.price")
        label = reader.optional(reader.text, group.get("label"), f"{where}.label")
        groups.append(Group(name, fee, price, label))
        listed = reader.sequence(or_else(group.get("members"), []), f"{where}.members")
        for member in listed:
            feature = reader.text(member, f"{where}.members")
            if members.setdefault(feature, name) != name:
                rule = "a feature belongs to one group"
                reader.refuse(f"{where}.members", rule, repr(feature))
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


def read_params(
    reader: Reader, algorithm: object, raw: object, seed: int
) -> tuple[BoostParams, frozenset[AutoName]]:
    """Read the algorithm and its parameters, and which of them are to be chosen."""
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        rule = f"must be one of {', '.join(ALGORITHMS)}"
        reader.refuse("algorithm", rule, repr(algorithm))
        algorithm = BoostParams().algorithm
    names = [one.name for one in fields(BoostParams)]
    named = [name for name in names if name not in ("algorithm", "seed")]
    given = reader.mapping(or_else(raw, {}), "params", optional=named)
    default = BoostParams()
    auto = read_auto(reader, algorithm, given)
    given = {name: value for name, value in given.items() if name not in auto}
    if "rounds" in auto:
        given["rounds"] = AUTO_ROUNDS
    floor = reader.optional(reader.amount, given.get("cost_floor"), "params.cost_floor")
    if floor == 0 and given.get("cost_floor") is not None:
        reader.refuse("params.cost_floor", "must be positive", "0")
    params = BoostParams(
        algorithm=algorithm,
        rounds=reader.integer(
            given.get("rounds", default.rounds), "params.rounds", 1, MAX_ROUNDS
        ),
        tau=reader.number(given.get("tau", default.tau), "params.tau", 0, 1),
        switch=reader.number(
            given.get("switch", default.switch), "params.switch", 0, 1
        ),
        cost_floor=floor or None,
        learner=reader.choice(
            given.get("learner", default.learner), "params.learner", LearnerName
        ),
        leaves=reader.integer(
            given.get("leaves", default.leaves), "params.leaves", 2, MAX_LEAVES
        ),
        factors=reader.integer(
            given.get("factors", default.factors), "params.factors", 1, MAX_FACTORS
        ),
        search=reader.choice(
            given.get("search", default.search), "params.search", SearchName
        ),
        search_size=reader.integer(
            given.get("search_size", default.search_size),
            "params.search_size",
            1,
            MAX_SEARCH_SIZE,
        ),
        seed=seed,
        stages=reader.integer(
            given.get("stages", default.stages), "params.stages", 1, MAX_STAGES
        ),
        detection=reader.number(
            given.get("detection", default.detection), "params.detection", 0.5, 1
        ),
        false_alarm=reader.number(
            given.get("false_alarm", default.false_alarm), "params.false_alarm", 0, 1
        ),
        label_weights=reader.choice(
            given.get("label_weights", default.label_weights),
            "params.label_weights",
            LabelWeights,
        ),
    )
    return params, auto


def read_auto(
    reader: Reader, algorithm: str, given: Mapping[str, object]
) -> frozenset[AutoName]:
    """Read which parameters are "auto", to be chosen on held-out rows."""
    names: tuple[AutoName, ...] = get_args(AutoName)
    auto = frozenset(name for name in names if given.get(name) == AUTO)
    for name in sorted(auto):
        if algorithm not in USERS[name]:
            rule = f"can be chosen for {', '.join(USERS[name])} only"
            reader.refuse(f"params.{name}", rule, repr(AUTO))
    return auto


def read_folds(reader: Reader, raw: object) -> int:
    """Read how many folds validate the model; null is none."""
    if raw is None:
        return 0
    given = reader.mapping(raw, "validation", optional=("folds",))
    folds = reader.integer(given.get("folds", 5), "validation.folds", 0, MAX_FOLDS)
    if folds == 1:
        reader.refuse("validation.folds", "must be 0 or at least 2", "1")
    return folds


def read_error_costs(reader: Reader, raw: object) -> dict[str, dict[str, float]] | None:
    """Read what it costs to say one class where another is true."""
    if raw is None:
        return None
    return {
        true: {
            said: reader.number(cost, f"error_costs.{true}.{said}", 0, 1e12)
            for said, cost in reader.mapping(row, f"error_costs.{true}").items()
        }
        for true, row in reader.mapping(raw, "error_costs").items()
    }


def read_selection(reader: Reader, raw: object) -> SelectionParams | None:
    """Read how features are selected before training; null is not at all."""
    if raw is None:
        return None
    names = ("method", "learner", "rounds", "n_neighbours", "significance")
    given = reader.mapping(raw, "selection", optional=names)
    default = SelectionParams()
    return SelectionParams(
        method=reader.choice(
            given.get("method", default.method), "selection.method", SelectionMethod
        ),
        learner=reader.choice(
            given.get("learner", default.learner), "selection.learner", SelectionLearner
        ),
        rounds=reader.integer(
            given.get("rounds", default.rounds),
            "selection.rounds",
            1,
            MAX_SELECTION_ROUNDS,
        ),
        n_neighbours=reader.integer(
            given.get("n_neighbours", default.n_neighbours),
            "selection.n_neighbours",
            1,
            MAX_NEIGHBOURS,
        ),
        significance=reader.number(
            given.get("significance", default.significance),
            "selection.significance",
            MIN_SIGNIFICANCE,
            1 - MIN_SIGNIFICANCE,
        ),
    )


def check_roles(reader: Reader, spec: TrainingSpec) -> None:
    """Refuse a column that is given two roles."""
    roles = {"target": spec.target, "weight": spec.weight, "group_by": spec.group_by}
    used: dict[str, str] = {}
    for role, column in roles.items():
        if column is not None and used.setdefault(column, role) != role:
            rule = f"must not be the column that is the {used[column]}"
            reader.refuse(role, rule, repr(column))
    names = [feature.name for feature in spec.features or ()]
    for name in [*names, *spec.costs, *(spec.members if not names else ())]:
        if name in used:
            rule = f"must not name the column that is the {used[name]}"
            reader.refuse("features", rule, repr(name))


class Reader:
    """Reads JSON-able values and gathers what is wrong with them.

    Each method returns a usable value even where it refuses, so that one reading
    finds every broken rule.
    """

    def __init__(self) -> None:
        self.refusals: list[Refusal] = []

    def refuse(self, where: str, rule: str, found: str = "") -> None:
        """Note a broken rule."""
        self.refusals.append(Refusal(where, rule, found))

    def finish(self) -> None:
        """Raise what was noted, if anything."""
        if self.refusals:
            raise RefusedError(self.refusals)

    def optional(
        self, read: Callable[[object, str], T], raw: object, where: str
    ) -> T | None:
        """Read a value that may be null."""
        return None if raw is None else read(raw, where)

    def mapping(
        self,
        raw: object,
        where: str,
        required: Sequence[str] = (),
        optional: Sequence[str] = (),
    ) -> dict[str, object]:
        """Read an object; without names of fields, any will do."""
        if not isinstance(raw, Mapping):
            self.refuse(where, "must be an object", describe(raw))
            return {}
        given = {str(key): value for key, value in raw.items()}
        known = (*required, *optional)
        for key in given if known else ():
            if key not in known:
                rule = f"unknown field; expected {', '.join(known)}"
                self.refuse(where, rule, repr(key))
        for key in required:
            if key not in given:
                self.refuse(f"{where}.{key}", "is required")
        return {key: value for key, value in given.items() if not known or key in known}

    def sequence(self, raw: object, where: str) -> Sequence[object]:
        """Read a list."""
        if isinstance(raw, Sequence) and not isinstance(raw, str | bytes):
            return raw
        self.refuse(where, "must be a list", describe(raw))
        return ()

    def text(self, raw: object, where: str, least: int = 1) -> str:
        """Read a string of reasonable length."""
        if not isinstance(raw, str):
            self.refuse(where, "must be a string", describe(raw))
            return ""
        if not least <= len(raw) <= MAX_NAME:
            rule = f"must have {least} to {MAX_NAME} characters"
            self.refuse(where, rule, f"{len(raw)} characters")
        return raw

    def label(self, raw: object, where: str) -> str:
        """Read a class label; a number or boolean stands for its text."""
        if isinstance(raw, bool):
            return str(raw).lower()
        if isinstance(raw, int | Decimal):
            return str(raw)
        return self.text(raw, where)

    def amount(self, raw: object, where: str) -> int:
        """Read an amount of money into micro-units."""
        try:
            if isinstance(raw, str):
                raise ValueError(AMOUNT_RULE)
            return to_micros(raw)
        except ValueError as error:
            self.refuse(where, str(error), describe(raw))
            return 0

    def choice(self, raw: object, where: str, literal: object) -> Any:
        """Read one of the strings of a `Literal`."""
        choices = get_args(literal)
        if raw not in choices:
            self.refuse(where, f"must be one of {', '.join(choices)}", describe(raw))
            return choices[0]
        return raw

    def integer(self, raw: object, where: str, least: int, most: int) -> int:
        """Read an integer within bounds."""
        is_integer = isinstance(raw, int) and not isinstance(raw, bool)
        if not is_integer or not least <= raw <= most:  # type: ignore[operator]  # an int by then
            rule = f"must be an integer from {least} to {most}"
            self.refuse(where, rule, describe(raw))
            return least
        return int(raw)  # type: ignore[call-overload, no-any-return]  # an int by then

    def number(self, raw: object, where: str, least: float, most: float) -> float:
        """Read a finite number within bounds."""
        is_number = isinstance(raw, int | float | Decimal) and not isinstance(raw, bool)
        value = float(raw) if is_number else math.nan  # type: ignore[arg-type]  # a number by then
        if not least <= value <= most:
            rule = f"must be a number from {least:g} to {most:g}"
            self.refuse(where, rule, describe(raw))
            return least
        return value


def or_else(raw: object, default: object) -> object:
    """Give the default for null."""
    return default if raw is None else raw


def describe(raw: object) -> str:
    """Show a wrong value briefly."""
    text = str(raw) if isinstance(raw, Decimal) else repr(raw)
    return text if len(text) <= 60 else f"{text[:57]}..."
