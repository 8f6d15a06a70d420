"""The only place where outside arrays become a `Dataset`, or are refused.

Columns come as float64 arrays (NaN: missing) or as arrays of str and None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt

from core.binning import MAX_CODES
from core.errors import AnswerError, Refusal, RefusedError
from core.specs import TrainingSpec, describe
from core.types import (
    UNSEEN,
    Catalogue,
    ClassLabel,
    Dataset,
    Ensemble,
    Feature,
    FeatureType,
    FloatArray,
    IntArray,
)

Column = npt.NDArray[np.float64] | npt.NDArray[np.object_]
Columns = Mapping[str, Column]

TRUE_WORDS = frozenset({"1", "1.0", "true", "t", "yes", "y"})
FALSE_WORDS = frozenset({"0", "0.0", "false", "f", "no", "n"})
MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Checked:
    """A dataset, how its classes' errors are weighed, and what to warn about."""

    dataset: Dataset
    error_costs: tuple[tuple[float, ...], ...] | None
    warnings: tuple[str, ...]


def check_table(columns: Columns, spec: TrainingSpec) -> Checked:
    """Turn a table into a dataset as a training spec wants it.

    Rows are numbered from 1, the header not counted.

    Parameters
    ----------
    columns : mapping of str to array
        All of one length.
    spec : TrainingSpec

    Returns
    -------
    Checked

    Raises
    ------
    RefusedError
        With every broken rule: a missing or one-class target, no rows, unknown
        features, cells that are not of their feature's type, infinities, more than
        254 categories, weights or groups that are missing or negative.
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
    units, wrong = read_units(columns, spec)
    refusals += wrong
    error_costs, wrong = lay_error_costs(spec, classes)
    refusals += wrong
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
        weights=weights / weights.sum(),
        units=units,
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


def check_answer(feature: Feature, value: object) -> float:
    """Turn one answer into a value as in `Dataset.values`.

    Parameters
    ----------
    feature : Feature
    value : object
        A finite number, a boolean (or 0 or 1), or a category as text; a category
        that training did not see is legal.

    Returns
    -------
    float

    Raises
    ------
    AnswerError
    """
    if feature.type == "category":
        if not isinstance(value, str) or not value:
            raise AnswerError(
                [Refusal(feature.name, "must be a text", describe(value))]
            )
        try:
            return float(feature.categories.index(value))
        except ValueError:
            return UNSEEN
    if feature.type == "boolean":
        if isinstance(value, bool) or value in (0, 1):
            return float(bool(value))
        rule = "must be true or false"
        raise AnswerError([Refusal(feature.name, rule, describe(value))])
    try:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        number = float(value) if is_number else math.nan  # type: ignore[arg-type]  # a number by then
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        rule = "must be a finite number"
        raise AnswerError([Refusal(feature.name, rule, describe(value))])
    return number


def parse_answer(feature: Feature, text: str) -> float:
    """Turn an answer written as text into a value; see `check_answer`."""
    if feature.type == "number":
        try:
            return check_answer(feature, float(text))
        except ValueError:
            rule = "must be a finite number"
            raise AnswerError([Refusal(feature.name, rule, describe(text))]) from None
    if feature.type == "boolean":
        word = text.strip().lower()
        if word in TRUE_WORDS | FALSE_WORDS:
            return float(word in TRUE_WORDS)
    return check_answer(feature, text)


def unknown_column(role: str, name: str, columns: Columns) -> Refusal:
    """Refuse a name that no column has, with the nearest that one has."""
    near = get_close_matches(name, list(columns), n=1)
    hint = f"; the nearest is {near[0]!r}" if near else ""
    return Refusal(role, f"must be a column of the table{hint}", repr(name))


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


def as_text(column: Column) -> list[str | None]:
    """Give cells as text; whole numbers without a decimal point."""
    if column.dtype == np.object_:
        return list(column)
    return [
        None if math.isnan(value) else f"{value:.0f}" if value % 1 == 0 else repr(value)
        for value in column.tolist()
    ]


def cell_refusal(
    name: str, rule: str, rows: list[int], cells: list[str | None]
) -> Refusal:
    """Refuse cells of a column, naming the first few rows."""
    shown = [f"{describe(cells[row])} in row {row + 1}" for row in rows[:MAX_EXAMPLES]]
    more = len(rows) - len(shown)
    tail = f" and {more} more" if more else ""
    return Refusal(f"column {name}", rule, ", ".join(shown) + tail)


def infer_type(column: Column) -> FeatureType:
    """Guess a feature's type: 0 and 1 or yes and no are boolean, text is category."""
    if column.dtype != np.object_:
        is_binary = np.isnan(column) | (column == 0) | (column == 1)
        return "boolean" if is_binary.all() and not np.isnan(column).all() else "number"
    present = {cell for cell in column if cell is not None}
    if present and all(parse_boolean(cell) is not None for cell in present):
        return "boolean"
    if all(parse_number(cell) is not None for cell in present):
        return "number"
    return "category"


def read_target(
    column: Column, spec: TrainingSpec
) -> tuple[tuple[ClassLabel, ...], IntArray, list[Refusal]]:
    """Read the classes; the second is the positive one."""
    cells = as_text(column)
    refusals = []
    missing = [row for row, cell in enumerate(cells) if cell is None]
    if missing:
        refusals.append(cell_refusal(spec.target, "must not be empty", missing, cells))
    labels = sorted({cell for cell in cells if cell is not None})
    if len(labels) != 2:
        shown = ", ".join(labels[:5]) + (", ..." if len(labels) > 5 else "")
        found = f"{len(labels)} ({shown})" if labels else "none"
        rule = "must have exactly two classes"
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
    if spec.positive == labels[0]:
        labels.reverse()
    classes = tuple(
        ClassLabel(label, spec.displays.get(label, label)) for label in labels
    )
    targets = np.array([cell == labels[1] for cell in cells], np.int64)
    return classes, targets, refusals


def read_feature(
    feature: Feature, column: Column
) -> tuple[Feature, FloatArray, list[Refusal]]:
    """Read a column by its feature's type; a category's values are learnt once."""
    if feature.type == "category":
        return read_category(feature, as_text(column))
    if column.dtype == np.object_:
        parse = parse_boolean if feature.type == "boolean" else parse_number
        parsed = [parse(cell) for cell in column]
        wrong = [row for row, value in enumerate(parsed) if value is None]
        values = np.array([math.nan if v is None else v for v in parsed], np.float64)
    else:
        values = np.asarray(column, np.float64)
        is_wrong = np.zeros(values.size, np.bool_)
        if feature.type == "boolean":
            is_wrong = ~np.isnan(values) & (values != 0) & (values != 1)
        wrong = np.flatnonzero(is_wrong).tolist()
    refusals = []
    if wrong:
        rule = (
            "must be a number" if feature.type == "number" else "must be true or false"
        )
        refusals.append(cell_refusal(feature.name, rule, wrong, as_text(column)))
    infinite = np.flatnonzero(np.isinf(values)).tolist()
    if infinite:
        refusals.append(
            cell_refusal(
                feature.name, "must be finite", infinite, [str(v) for v in values]
            )
        )
    return feature, values, refusals


def read_category(
    feature: Feature, cells: list[str | None]
) -> tuple[Feature, FloatArray, list[Refusal]]:
    """Read a category column; without known categories those present are learnt."""
    if not feature.categories:
        present = sorted({cell for cell in cells if cell is not None})
        if len(present) > MAX_CODES:
            rule = f"must have at most {MAX_CODES} categories"
            wrong = Refusal(f"column {feature.name}", rule, str(len(present)))
            return feature, np.zeros(len(cells)), [wrong]
        feature = replace(feature, categories=tuple(present))
    codes = {category: float(code) for code, category in enumerate(feature.categories)}
    values = [math.nan if c is None else codes.get(c, UNSEEN) for c in cells]
    return feature, np.array(values, np.float64), []


def parse_number(cell: str | None) -> float | None:
    """Read a number as text; None where it is none."""
    if cell is None:
        return math.nan
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None


def parse_boolean(cell: str | None) -> float | None:
    """Read a boolean as text; None where it is none."""
    if cell is None:
        return math.nan
    word = cell.strip().lower()
    return float(word in TRUE_WORDS) if word in TRUE_WORDS | FALSE_WORDS else None


def column_warnings(feature: Feature, values: FloatArray) -> list[str]:
    """Say what is odd about a column although it is legal."""
    present = values[~np.isnan(values)]
    if present.size == 0:
        return [f"{feature.name}: every value is missing, so it is never bought"]
    n_distinct = np.unique(present).size
    if n_distinct == 1:
        return [f"{feature.name}: constant, so it is never bought"]
    is_whole = feature.type == "number" and bool(np.all(present % 1 == 0))
    if n_distinct == values.size > 20 and (is_whole or feature.type == "category"):
        return [f"{feature.name}: looks like an identifier, each row has its own value"]
    return []


def read_weights(
    columns: Columns, spec: TrainingSpec, n_rows: int
) -> tuple[FloatArray, list[Refusal]]:
    """Read the weights of the rows; 1 each without a column for them."""
    ones = np.ones(n_rows)
    if spec.weight is None or spec.weight not in columns:
        return ones, []
    feature = Feature(spec.weight)
    _, values, refusals = read_feature(feature, columns[spec.weight])
    wrong = np.flatnonzero(~(values >= 0)).tolist()
    if wrong and not refusals:
        rule = "must be a number of at least 0"
        shown = [str(value) for value in values]
        refusals.append(cell_refusal(spec.weight, rule, wrong, list(shown)))
    if not refusals and values.sum() == 0:
        refusals.append(Refusal(f"column {spec.weight}", "must not be 0 in every row"))
    return (ones if refusals else values), refusals


def read_units(
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
