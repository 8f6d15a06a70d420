"""The only place where outside arrays become a `Dataset`, or are refused.

Rows for an ensemble that is already trained: `core.model.rows`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.errors import Refusal, RefusedError
from core.table.catalogue import Catalogue, Feature
from core.table.cells import is_unnamed
from core.table.columns import (
    Columns,
    column_warnings,
    infer_type,
    learn_categories,
    read_feature,
    read_row_groups,
    read_weights,
    unknown_column,
)
from core.table.dataset import ClassLabel, Dataset
from core.table.patterns import by_name, matching, unmatched
from core.table.spec import TableSpec, price_columns
from core.table.targets import (
    ErrorCosts,
    blank_dropped,
    lay_error_costs,
    read_target,
)

TYPE_REMEDY = (
    "; put what stands for a missing value in the feature's `missing`, or say type "
    "category"
)


@dataclass(frozen=True)
class CheckedTable:
    """A dataset, how its classes' errors are weighed, and what to warn about.

    `ignored` are the columns that have no part in it.
    """

    dataset: Dataset
    error_costs: ErrorCosts
    warnings: tuple[str, ...]
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class GatheredTable:
    """What was read of a table, whole only if nothing is refused.

    `values` has a column for each feature, `targets` the position of each row's class.
    """

    features: tuple[Feature, ...]
    classes: tuple[ClassLabel, ...]
    values: tuple[FloatArray, ...]
    targets: IntArray
    weights: FloatArray
    row_groups: IntArray | None
    error_costs: ErrorCosts
    warnings: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    #: whether a row has a target; the others are dropped
    is_kept: BoolArray


def gather_table(columns: Columns, spec: TableSpec) -> GatheredTable:
    """Read a table as a spec wants it; what is wrong is gathered.

    Rows are numbered from 1, the header not counted. Refused are a missing or
    one-class target, unknown features, cells that are not of their feature's type,
    infinities, more than 254 categories, weights or groups that are missing or
    negative. Raises `RefusedError` where there is no row.
    """
    chosen, wrong = choose_features(columns, spec)
    refusals = [*absent_columns(columns, spec), *wrong]
    n_rows = len(next(iter(columns.values()))) if columns else 0
    if n_rows == 0:
        refusals.append(Refusal("table", "must have at least one row"))
        raise RefusedError(refusals)
    classes: tuple[ClassLabel, ...] = ()
    targets: IntArray = np.zeros(n_rows, np.int64)
    columns, is_kept = blank_dropped(columns, spec, n_rows)
    if spec.target in columns:
        classes, targets, wrong = read_target(columns[spec.target], spec)
        refusals += wrong
    features, values, warnings, wrong = read_features(columns, spec, chosen, is_kept)
    refusals += wrong
    weights, wrong = read_weights(columns, spec, n_rows)
    refusals += wrong
    row_groups, wrong = read_row_groups(columns, spec)
    refusals += wrong
    error_costs, wrong = lay_error_costs(spec, classes)
    return GatheredTable(
        features=tuple(features),
        classes=classes,
        values=tuple(values),
        targets=targets,
        weights=weights,
        row_groups=row_groups,
        error_costs=error_costs,
        warnings=tuple(warnings),
        refusals=(*refusals, *wrong),
        is_kept=is_kept,
    )


def absent_columns(columns: Columns, spec: TableSpec) -> Iterator[Refusal]:
    """Refuse roles of columns that are not there, and names to ignore."""
    for role, name in spec.roles.items():
        if name is not None and name not in columns:
            yield unknown_column(role, name, columns)
    for name in unmatched(spec.ignore, columns):
        yield unknown_column("ignore", name, columns)


def read_features(
    columns: Columns,
    spec: TableSpec,
    chosen: Sequence[Feature],
    is_kept: BoolArray | slice = slice(None),
) -> tuple[list[Feature], list[FloatArray], list[str], list[Refusal]]:
    """Return the features with their types, their values, warnings and refusals.

    Warnings speak of the rows kept.
    """
    features: list[Feature] = []
    values: list[FloatArray] = []
    warnings: list[str] = []
    refusals: list[Refusal] = []
    for feature in chosen:
        if feature.name not in columns:
            refusals.append(unknown_column("features", feature.name, columns))
            continue
        column = columns[feature.name]
        missing = dict.fromkeys((*spec.missing, *feature.missing))
        feature = replace(feature, missing=tuple(missing))
        if spec.features is None or feature.name in spec.untyped:
            feature = replace(feature, type=infer_type(column, feature.missing))
        wrong: list[Refusal] = []
        if feature.type == "category":
            rare = spec.rares.get(feature.name, spec.rare)
            feature, wrong = learn_categories(feature, column, rare)
        cells, more = read_feature(feature, column, TYPE_REMEDY)
        wrong += more
        refusals += wrong
        features.append(feature)
        values.append(cells)
        warnings += [] if wrong else column_warnings(feature, cells[is_kept])
    return features, values, warnings, refusals


def finish_table(
    read: GatheredTable, columns: Columns, spec: TableSpec
) -> CheckedTable:
    """Return the dataset of a table in which nothing was refused.

    Raises `RefusedError` where the rows of positive weight are of one class.
    """
    warnings = list(read.warnings)
    used = {*spec.roles.values(), *(feature.name for feature in read.features)}
    ignored = [name for name in columns if name not in used]
    expected = matching(spec.ignore, ignored)
    unexpected = [
        f"{name} (has no name)" if is_unnamed(name) else name
        for name in ignored
        if name not in expected
    ]
    if unexpected:
        warnings.append(f"ignored columns: {', '.join(unexpected)}")
    dataset = Dataset(
        catalogue=Catalogue(read.features, spec.groups, spec.cost_unit),
        classes=read.classes,
        values=np.column_stack(read.values),
        targets=read.targets,
        weights=read.weights,
        row_groups=read.row_groups,
    )
    n_dropped = int((~read.is_kept).sum())
    if n_dropped:
        warnings.append(f"dropped rows without a target: {n_dropped}")
    is_weighty = read.weights > 0
    n_weightless = int((read.is_kept & ~is_weighty).sum())
    if n_weightless:
        warnings.append(f"left out {n_weightless} rows of weight 0")
    if n_dropped or n_weightless:
        dataset = dataset.take(np.flatnonzero(read.is_kept & is_weighty))
    if np.unique(dataset.targets).size < 2:
        rule = "must have two classes among the rows of positive weight"
        raise RefusedError([Refusal(spec.target, rule)])
    return CheckedTable(dataset, read.error_costs, tuple(warnings), tuple(ignored))


def choose_features(
    columns: Columns, spec: TableSpec
) -> tuple[list[Feature], list[Refusal]]:
    """Take the features of the spec, or every column that has no other role."""
    if spec.features is not None:
        return list(spec.features), []
    names = [name for name in columns if not is_left_out(name, spec)]
    refusals = [
        unknown_column(role, name, columns)
        for role, named in (("costs", spec.costs), ("groups", spec.members))
        for name in unmatched(named, names)
    ]
    members = by_name(spec.members, names)
    bundles = {group.name for group in spec.groups if group.is_bundle}
    costs = {
        name: cost
        for name, cost in by_name(spec.costs, names).items()
        # "*" does not speak of those that are bought whole.
        if name in spec.costs or members.get(name) not in bundles
    }
    features, wrong = price_columns(names, costs, spec.groups, members)
    refusals += wrong
    refusals += [
        Refusal("groups", "must have a member", repr(group.name))
        for group in spec.groups
        if group.name not in members.values()
    ]
    if not features:
        refusals.append(Refusal("features", "the table must have at least one"))
    return features, refusals


def unused_columns(names: Sequence[str], spec: TableSpec) -> frozenset[str]:
    """Return the columns that neither are features nor have a role."""
    if spec.features is None:
        taken = spec.roles.values()
        return frozenset(n for n in names if is_left_out(n, spec) and n not in taken)
    used = {*spec.roles.values(), *(feature.name for feature in spec.features)}
    return frozenset(names) - used


def is_left_out(name: str, spec: TableSpec) -> bool:
    """Whether a column is no feature where a spec lists none."""
    is_taken = name in spec.roles.values() or is_unnamed(name)
    return is_taken or bool(matching(spec.ignore, [name]))
