"""Turn outside arrays into a `Dataset`, or refuse them; nothing else does.

`askless.core.model.rows` reads rows for an ensemble that is already trained.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askless.core.arrays import BoolArray, FloatArray
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.costs import price_columns
from askless.core.catalogue.patterns import expand, matching, unmatched
from askless.core.errors import Refusal, RefusedError
from askless.core.table.cells import is_unnamed, missing_words
from askless.core.table.columns import (
    Column,
    Columns,
    count_texts,
    infer_type,
    learn_categories,
    learn_writing,
    read_feature,
    select_present,
    unknown_column,
)
from askless.core.table.dataset import Dataset
from askless.core.table.labels import (
    GatheredLabels,
    gather_labels,
    refuse_one_class,
    select_usable_rows,
)
from askless.core.table.notes import (
    list_column_warnings,
    note_missing_words,
    note_reading,
    note_unused_labels,
)
from askless.core.table.silent import FindSilent, mark_silent
from askless.core.table.spec import CASE_COLUMN, TableSpec
from askless.core.table.targets import ErrorCosts

TYPE_REMEDY = (
    "; put what stands for a missing value in the feature's `missing`, or say type "
    "category"
)


@dataclass(frozen=True)
class CheckedTable:
    """A dataset with its error costs and warnings; `ignored` columns are not in it."""

    dataset: Dataset
    error_costs: ErrorCosts
    warnings: tuple[str, ...]
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class GatheredTable:
    """The labels and features of a table, complete only if nothing is refused.

    `values` has a column for each feature.
    """

    labels: GatheredLabels
    features: tuple[Feature, ...]
    values: tuple[FloatArray, ...]
    warnings: tuple[str, ...]
    refusals: tuple[Refusal, ...]


def gather_table(
    columns: Columns, spec: TableSpec, silent: FindSilent | None = None
) -> GatheredTable:
    """Read a table as its spec says, and gather all refusals.

    Rows are numbered from 1, the header not counted. Refused are a missing or
    one-class target, unknown features, cells that are not of their feature's type,
    infinities, more than 254 categories, weights or groups that are missing or
    negative. Missing cells that `silent` finds are marked
    (`askless.core.table.silent`). Raises `RefusedError` where there is no row.
    """
    n_rows = len(next(iter(columns.values()))) if columns else 0
    chosen, refusals = choose_columns(columns, spec, n_rows)
    labels, columns = gather_labels(columns, spec, n_rows)
    values: list[FloatArray] = []
    features, warnings, wrong = read_features(
        columns,
        spec,
        chosen,
        mark_then_collect(silent, lambda _, cells: values.append(cells)),
        labels.kept,
    )
    return GatheredTable(
        labels=labels,
        features=tuple(features),
        values=tuple(values),
        warnings=tuple(warnings),
        refusals=(*refusals, *labels.refusals, *wrong),
    )


def choose_columns(
    columns: Columns, spec: TableSpec, n_rows: int
) -> tuple[list[Feature], list[Refusal]]:
    """Return the features of a spec, and refusals of names that no column has.

    Raises `RefusedError` where there is no row.
    """
    chosen, wrong = choose_features(columns, spec)
    refusals = [*check_absent_columns(columns, spec), *wrong]
    if n_rows == 0:
        refusals.append(Refusal("table", "must have at least one row"))
        raise RefusedError(refusals)
    return chosen, refusals


def check_absent_columns(columns: Columns, spec: TableSpec) -> Iterator[Refusal]:
    """Yield refusals of columns named for a role, or to ignore, that are not there."""
    for role, name in spec.roles.items():
        if name is not None and name not in columns:
            yield unknown_column(role, name, columns)
    for name in unmatched(spec.ignore, columns):
        yield unknown_column("ignore", name, columns)


def read_features(
    columns: Columns,
    spec: TableSpec,
    chosen: Sequence[Feature],
    collect: Callable[[Feature, FloatArray], None],
    is_kept: BoolArray | slice = slice(None),
) -> tuple[list[Feature], list[str], list[Refusal]]:
    """Read the chosen features; return them with their types, warnings and refusals.

    `collect` is called with each feature in which nothing is refused, and its values.
    Warnings concern the rows that are kept (`is_kept`).
    """
    features: list[Feature] = []
    warnings: list[str] = []
    refusals: list[Refusal] = []
    for feature in chosen:
        if feature.name not in columns:
            refusals.append(unknown_column("features", feature.name, columns))
            continue
        column = columns[feature.name]
        feature, notes = learn_type(feature, column, spec)
        wrong: list[Refusal] = []
        if feature.type == "category":
            rare = spec.rares.get(feature.name, spec.rare)
            labels = spec.category_labels.get(feature.name, {})
            feature, wrong = learn_categories(feature, column, rare, labels)
            notes += note_unused_labels(feature, labels)
        cells, more = read_feature(feature, column, TYPE_REMEDY)
        wrong += more
        refusals += wrong
        features.append(feature)
        if not wrong:
            warnings += [f"{feature.name}: {note}" for note in notes]
            warnings += list_column_warnings(feature, cells[is_kept])
            collect(feature, cells)
    return features, warnings, refusals


def learn_type(
    feature: Feature, column: Column, spec: TableSpec
) -> tuple[Feature, list[str]]:
    """Return a feature with its type and what means missing in it, and notes."""
    words = feature.missing_words
    feature = replace(
        feature,
        missing=tuple(dict.fromkeys((*spec.missing, *feature.missing))),
        missing_words=spec.missing_words if words is None else words,
    )
    is_declared = feature.name in spec.declared
    is_untyped = spec.features is None or feature.name in spec.untyped
    texts = count_texts(column)
    if is_untyped:
        kind = infer_type(feature, column, texts, is_declared=is_declared)
        feature = replace(feature, type=kind)
    feature = learn_writing(feature, texts)
    notes: list[str] = []
    if feature.type != "number":
        notes += note_missing_words(texts, column.size, missing_words(feature))
    if is_untyped or feature.decimal_comma:
        present = select_present(feature, texts)
        notes += note_reading(feature, present, is_declared=is_declared)
    return feature, notes


def mark_then_collect(
    silent: FindSilent | None, collect: Callable[[Feature, FloatArray], None]
) -> Callable[[Feature, FloatArray], None]:
    """Return `collect` for cells that are marked first where they say nothing."""
    if silent is None:
        return collect
    find = silent
    return lambda feature, cells: collect(
        feature, mark_silent(cells, find(feature.name))
    )


def finish_table(
    features_read: GatheredTable, columns: Columns, spec: TableSpec
) -> CheckedTable:
    """Return the dataset of a table in which nothing was refused.

    Raises `RefusedError` where the rows of positive weight are of one class.
    """
    labels = features_read.labels
    ignored, column_notes = list_ignored_columns(columns, spec, features_read.features)
    row_idxs, row_notes = select_usable_rows(labels)
    catalogue = Catalogue(features_read.features, spec.groups, spec.cost_unit)
    dataset = labels.with_values(catalogue, np.column_stack(features_read.values))
    if row_idxs is not None:
        dataset = dataset.take(row_idxs)
    refuse_one_class(dataset, spec)
    warnings = (*features_read.warnings, *column_notes, *row_notes)
    return CheckedTable(dataset, labels.error_costs, warnings, tuple(ignored))


def list_ignored_columns(
    columns: Columns, spec: TableSpec, features: Sequence[Feature]
) -> tuple[list[str], list[str]]:
    """Return the columns that are not used, and a warning of unexpected ones."""
    used = {*spec.roles.values(), *(feature.name for feature in features), CASE_COLUMN}
    ignored = [name for name in columns if name not in used]
    expected = matching(spec.ignore, ignored)
    unexpected = [
        f"{name} (has no name)" if is_unnamed(name) else name
        for name in ignored
        if name not in expected
    ]
    warnings = [f"ignored columns: {', '.join(unexpected)}"] if unexpected else []
    return ignored, warnings


def choose_features(
    columns: Columns, spec: TableSpec
) -> tuple[list[Feature], list[Refusal]]:
    """Return the features of the spec, or every column that has no other role."""
    if spec.features is not None:
        return list(spec.features), []
    names = [name for name in columns if not is_excluded(name, spec)]
    refusals = [
        unknown_column(role, name, columns)
        for role, named in (("costs", spec.costs), ("groups", spec.members))
        for name in unmatched(named, names)
    ]
    members = expand(spec.members, names)
    bundles = {group.name for group in spec.groups if group.is_bundle}
    costs = {
        name: cost
        for name, cost in expand(spec.costs, names).items()
        # A pattern of costs does not apply to members of bundles.
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


def list_unused_columns(names: Sequence[str], spec: TableSpec) -> frozenset[str]:
    """Return the columns that neither are features nor have a role."""
    if spec.features is None:
        taken = spec.roles.values()
        return frozenset(n for n in names if is_excluded(n, spec) and n not in taken)
    used = {*spec.roles.values(), *(feature.name for feature in spec.features)}
    return frozenset(names) - used


def is_excluded(name: str, spec: TableSpec) -> bool:
    """Return whether a spec that lists no features makes none of this column."""
    is_taken = name in (*spec.roles.values(), CASE_COLUMN) or is_unnamed(name)
    return is_taken or bool(matching(spec.ignore, [name]))
