"""The only place where outside arrays become a `Dataset`, or are refused.

Columns come as float64 arrays (NaN: missing) or as arrays of str and None.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from core.arrays import FloatArray, IntArray
from core.errors import Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.selection import selection_bytes
from core.specs import TrainingSpec
from core.table.catalogue import UNSEEN, Catalogue, Feature
from core.table.columns import (
    Column,
    Columns,
    as_text,
    cell_refusal,
    column_warnings,
    infer_type,
    read_feature,
    refuse_size,
    unknown_column,
)
from core.table.dataset import ClassLabel, Dataset, count_outputs
from core.training.boosting import training_bytes

MAX_CLASSES = 1000


@dataclass(frozen=True)
class Checked:
    """A dataset, how its classes' errors are weighed, and what to warn about."""

    dataset: Dataset
    error_costs: tuple[tuple[float, ...], ...] | None
    warnings: tuple[str, ...]


def check_table(
    columns: Columns, spec: TrainingSpec, memory: int | None = None
) -> Checked:
    """Turn a table into a dataset as a training spec wants it.

    Rows are numbered from 1, the header not counted.

    Parameters
    ----------
    columns : mapping of str to array
        All of one length.
    spec : TrainingSpec
    memory : int, optional
        Bytes that training may take; None: no limit.

    Returns
    -------
    Checked

    Raises
    ------
    RefusedError
        With every broken rule: a missing or one-class target, no rows, unknown
        features, cells that are not of their feature's type, infinities, more than
        254 categories, weights or groups that are missing or negative, more cells
        than memory holds.
    """
    refusals: list[Refusal] = []
    warnings: list[str] = []
    for role, name in (
        ("target", spec.target),
        ("weight", spec.weight),
        ("group_by", spec.group_by),
    ):
        if name is not None and name not in columns:
            refusals.append(unknown_column(role, name, columns))
    features, groups_refused = choose_features(columns, spec)
    refusals += groups_refused
    n_rows = len(next(iter(columns.values()))) if columns else 0
    if n_rows == 0:
        refusals.append(Refusal("table", "must have at least one row"))
        raise RefusedError(refusals)
    classes: tuple[ClassLabel, ...] = ()
    targets: IntArray = np.zeros(n_rows, np.int64)
    if spec.target in columns:
        classes, targets, wrong = read_target(columns[spec.target], spec)
        refusals += wrong
    read = []
    typed = []
    for feature in features:
        if feature.name not in columns:
            refusals.append(unknown_column("features", feature.name, columns))
            continue
        column = columns[feature.name]
        if spec.features is None or feature.name in spec.untyped:
            feature = replace(feature, type=infer_type(column))
        feature, values, wrong = read_feature(feature, column)
        refusals += wrong
        typed.append(feature)
        read.append(values)
        warnings += [] if wrong else column_warnings(feature, values)
    weights, wrong = read_weights(columns, spec, n_rows)
    refusals += wrong
    row_groups, wrong = read_row_groups(columns, spec)
    refusals += wrong
    error_costs, wrong = lay_error_costs(spec, classes)
    refusals += wrong
    if spec.boost.algorithm == "cascade" and len(classes) > 2:
        refusals.append(Refusal("algorithm", "a cascade has two classes"))
    needed = training_bytes(
        n_rows, len(read), count_outputs(len(classes), is_multilabel=False)
    )
    if spec.selection is not None:
        needed = max(needed, selection_bytes(n_rows))
    refusals += refuse_size("training", needed, memory)
    if refusals:
        raise RefusedError(refusals)
    used = {spec.target, spec.weight, spec.group_by, *(f.name for f in typed)}
    ignored = [name for name in columns if name not in used]
    if ignored:
        warnings.append(f"ignored columns: {', '.join(ignored)}")
    dataset = Dataset(
        catalogue=Catalogue(tuple(typed), spec.groups, spec.cost_unit),
        classes=classes,
        values=np.column_stack(read),
        targets=targets,
        weights=weights,
        row_groups=row_groups,
    )
    is_weighty = weights > 0
    if not is_weighty.all():
        warnings.append(f"left out {int((~is_weighty).sum())} rows of weight 0")
        dataset = dataset.take(np.flatnonzero(is_weighty))
    if np.unique(dataset.targets).size < 2:
        rule = "must have two classes among the rows of positive weight"
        raise RefusedError([Refusal(spec.target, rule)])
    return Checked(dataset, error_costs, tuple(warnings))


def check_rows(columns: Columns, ensemble: Ensemble) -> tuple[FloatArray, list[str]]:
    """Turn a table into values for an ensemble that is already trained.

    A category that training did not see is `UNSEEN`. A column may be absent if no
    hypothesis reads it.

    Returns
    -------
    values : float64 array, shape (n_rows, n_features)
    warnings : list of str

    Raises
    ------
    RefusedError
    """
    refusals: list[Refusal] = []
    warnings: list[str] = []
    n_rows = len(next(iter(columns.values()))) if columns else 0
    if n_rows == 0:
        refusals.append(Refusal("table", "must have at least one row"))
    features = ensemble.catalogue.features
    values = np.full((n_rows, len(features)), np.nan)
    for idx, feature in enumerate(features):
        if feature.name in columns:
            _, values[:, idx], wrong = read_feature(feature, columns[feature.name])
            refusals += wrong
            n_unseen = int((values[:, idx] == UNSEEN).sum())
            if feature.type == "category" and n_unseen:
                warnings.append(
                    f"{feature.name}: {n_unseen} rows with categories that training "
                    "did not see; every stump on it abstains there"
                )
        elif ensemble.is_used[idx]:
            refusals.append(unknown_column("features", feature.name, columns))
    if refusals:
        raise RefusedError(refusals)
    return values, warnings


def check_targets(columns: Columns, ensemble: Ensemble, target: str) -> IntArray:
    """Read the true classes of rows for an ensemble; all must be known to it."""
    if target not in columns:
        raise RefusedError([unknown_column("target", target, columns)])
    labels = as_text(columns[target])
    positions = {one.label: idx for idx, one in enumerate(ensemble.classes)}
    wrong = [row for row, label in enumerate(labels) if label not in positions]
    if wrong:
        rule = f"must be one of the classes {', '.join(positions)}"
        raise RefusedError([cell_refusal(target, rule, wrong, labels)])
    return np.array([positions[str(label)] for label in labels], np.int64)


def choose_features(
    columns: Columns, spec: TrainingSpec
) -> tuple[list[Feature], list[Refusal]]:
    """Take the features of the spec, or every column that has no other role."""
    if spec.features is not None:
        return list(spec.features), []
    others = {spec.target, spec.weight, spec.group_by}
    names = [name for name in columns if name not in others]
    refusals = [
        unknown_column(role, name, columns)
        for role, named in (("costs", spec.costs), ("groups", spec.members))
        for name in named
        if name not in columns
    ]
    bundles = {group.name for group in spec.groups if group.is_bundle}
    features = []
    for name in names:
        group = spec.members.get(name)
        default = 0 if group in bundles else 1_000_000
        cost = spec.costs.get(name, default)
        if group in bundles and cost > 0:
            rule = "a member of a bundle has no cost of its own"
            refusals.append(Refusal(f"costs.{name}", rule))
        features.append(Feature(name, cost=cost, group=group))
    refusals += [
        Refusal("groups", "must have a member", repr(group_.name))
        for group_ in spec.groups
        if group_.name not in spec.members.values()
    ]
    if not features:
        refusals.append(Refusal("features", "the table must have at least one"))
    return features, refusals


def read_target(
    column: Column, spec: TrainingSpec
) -> tuple[tuple[ClassLabel, ...], IntArray, list[Refusal]]:
    """Read the classes in the order of their labels; of two the second is positive."""
    cells = as_text(column)
    refusals = []
    missing = [row for row, cell in enumerate(cells) if cell is None]
    if missing:
        refusals.append(cell_refusal(spec.target, "must not be empty", missing, cells))
    labels = sorted({cell for cell in cells if cell is not None})
    if not 2 <= len(labels) <= MAX_CLASSES:
        shown = ", ".join(labels[:5]) + (", ..." if len(labels) > 5 else "")
        found = f"{len(labels)} ({shown})" if labels else "none"
        rule = f"must have 2 to {MAX_CLASSES} classes"
        return (
            (),
            np.zeros(len(cells), np.int64),
            [
                *refusals,
                Refusal(f"target {spec.target}", rule, found),
            ],
        )
    for name, given in (
        ("positive", [spec.positive] if spec.positive is not None else []),
        ("classes", list(spec.displays)),
    ):
        refusals += [
            Refusal(
                name, f"must be one of the classes {', '.join(labels)}", repr(label)
            )
            for label in given
            if label not in labels
        ]
    if len(labels) > 2 and spec.positive is not None:
        rule = "must be left out where there are more than two classes"
        refusals.append(Refusal("positive", rule, repr(spec.positive)))
    elif spec.positive == labels[0]:
        labels.reverse()
    classes = tuple(
        ClassLabel(label, spec.displays.get(label, label)) for label in labels
    )
    positions = {label: position for position, label in enumerate(labels)}
    targets = np.array([positions.get(cell or "", 0) for cell in cells], np.int64)
    return classes, targets, refusals


def read_weights(
    columns: Columns, spec: TrainingSpec, n_rows: int
) -> tuple[FloatArray, list[Refusal]]:
    """Read the weights of the rows, scaled to sum to 1; equal without a column."""
    ones = scale_weights(np.ones(n_rows))
    if spec.weight is None or spec.weight not in columns:
        return ones, []
    feature = Feature(spec.weight)
    _, values, refusals = read_feature(feature, columns[spec.weight])
    wrong = np.flatnonzero(~(values >= 0)).tolist()
    if wrong and not refusals:
        rule = "must be a number of at least 0"
        shown = [str(value) for value in values]
        refusals.append(cell_refusal(spec.weight, rule, wrong, list(shown)))
    if not refusals and not values.any():
        refusals.append(Refusal(f"column {spec.weight}", "must not be 0 in every row"))
    return (ones if refusals else scale_weights(values)), refusals


def scale_weights(weights: FloatArray) -> FloatArray:
    """Scale weights to sum to 1, also those whose sum no double holds.

    Beside the largest the smallest may become 0.
    """
    # By a power of 2 first, which changes no digit.
    bounded = np.ldexp(weights, -np.frexp(weights.max())[1])
    scaled: FloatArray = bounded / bounded.sum()
    return scaled


def read_row_groups(
    columns: Columns, spec: TrainingSpec
) -> tuple[IntArray | None, list[Refusal]]:
    """Give rows that belong together one number."""
    if spec.group_by is None or spec.group_by not in columns:
        return None, []
    cells = as_text(columns[spec.group_by])
    missing = [row for row, cell in enumerate(cells) if cell is None]
    if missing:
        return None, [cell_refusal(spec.group_by, "must not be empty", missing, cells)]
    return np.unique(np.array(cells, dtype=str), return_inverse=True)[1], []


def lay_error_costs(
    spec: TrainingSpec, classes: tuple[ClassLabel, ...]
) -> tuple[tuple[tuple[float, ...], ...] | None, list[Refusal]]:
    """Lay the costs of errors out by class position; what is not given costs 0."""
    if spec.error_costs is None or not classes:
        return None, []
    labels = [one.label for one in classes]
    named = {
        *spec.error_costs,
        *(said for row in spec.error_costs.values() for said in row),
    }
    refusals = [
        Refusal(
            "error_costs", f"must name the classes {', '.join(labels)}", repr(label)
        )
        for label in sorted(named - set(labels))
    ]
    rows = [spec.error_costs.get(true, {}) for true in labels]
    return tuple(
        tuple(float(row.get(said, 0.0)) for said in labels) for row in rows
    ), refusals
