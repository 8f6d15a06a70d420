"""Read the classes, weights and row groups of a table: all but its features."""

from dataclasses import dataclass

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import Refusal, RefusedError
from askless.core.table.columns import Columns
from askless.core.table.dataset import ClassLabel, Dataset, LabelledRows
from askless.core.table.spec import TableSpec
from askless.core.table.targets import (
    ErrorCosts,
    blank_dropped_rows,
    build_error_costs,
    note_classes,
    read_target,
)
from askless.core.table.weights import read_row_groups, read_weights


@dataclass(frozen=True)
class GatheredLabels:
    """Classes, weights and row groups of a table's rows.

    `targets` has the position of each row's class. Rows without a class are dropped:
    `is_kept` is False there.
    """

    classes: tuple[ClassLabel, ...]
    targets: IntArray
    weights: FloatArray
    row_groups: IntArray | None
    error_costs: ErrorCosts
    is_kept: BoolArray
    refusals: tuple[Refusal, ...]
    #: as in `Dataset`, of all rows
    mean_weight: float
    #: on the classes
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> BoolArray | slice:
        """Index of the rows that have a class; a slice, not a copy, where all have."""
        return slice(None) if self.is_kept.all() else self.is_kept

    def with_values(self, catalogue: Catalogue, values: FloatArray) -> Dataset:
        """Return a dataset of all rows, with the values of a catalogue's features."""
        return Dataset(
            catalogue=catalogue,
            classes=self.classes,
            values=values,
            targets=self.targets,
            weights=self.weights,
            row_groups=self.row_groups,
            mean_weight=self.mean_weight,
        )


def gather_labels(
    columns: Columns, spec: TableSpec, n_rows: int
) -> tuple[GatheredLabels, Columns]:
    """Read classes, weights and row groups; return them and the columns.

    In the returned columns the cells of dropped rows are missing.
    """
    refusals: list[Refusal] = []
    classes: tuple[ClassLabel, ...] = ()
    targets: IntArray = np.zeros(n_rows, np.int64)
    notes: list[str] = []
    if spec.target in columns:
        column = columns[spec.target]
        notes = note_classes(column, spec)
        classes, targets, wrong = read_target(column, spec)
        refusals += wrong
    columns, is_kept = blank_dropped_rows(columns, spec, n_rows)
    weights, mean_weight, wrong = read_weights(columns, spec, n_rows)
    refusals += wrong
    row_groups, wrong = read_row_groups(columns, spec)
    refusals += wrong
    error_costs, wrong = build_error_costs(spec, classes)
    refusals += wrong
    labels = GatheredLabels(
        classes,
        targets,
        weights,
        row_groups,
        error_costs,
        is_kept,
        tuple(refusals),
        mean_weight,
        tuple(notes),
    )
    return labels, columns


def select_usable_rows(labels: GatheredLabels) -> tuple[IntArray | None, list[str]]:
    """Return positions of rows with a class and a weight (None: all), and warnings."""
    warnings = [*labels.notes]
    is_weighty = labels.weights > 0
    n_dropped = int((~labels.is_kept).sum())
    if n_dropped:
        rows = "1 row" if n_dropped == 1 else f"{n_dropped} rows"
        warnings.append(f"left out {rows} without a target")
    n_weightless = int((labels.is_kept & ~is_weighty).sum())
    if n_weightless:
        warnings.append(f"left out {n_weightless} rows of weight 0")
    if not n_dropped and not n_weightless:
        return None, warnings
    return np.flatnonzero(labels.is_kept & is_weighty), warnings


def refuse_one_class(rows: LabelledRows, spec: TableSpec) -> None:
    """Raise `RefusedError` where all rows, of positive weight, are of one class."""
    if np.unique(rows.targets).size < 2:
        rule = "must have two classes among the rows of positive weight"
        raise RefusedError([Refusal(spec.target, rule)])
