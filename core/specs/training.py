"""A training as asked for, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.pipeline.choosing import AutoName
from core.reader import Reader, or_else
from core.selection import SelectionParams
from core.specs.features import read_features, read_groups
from core.specs.params import read_params
from core.specs.selection import read_selection
from core.table.catalogue import Feature, Group
from core.training.params import BoostParams

MAX_FOLDS = 50


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
