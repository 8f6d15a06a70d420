"""Read the target: its classes, the costs of errors, and rows without a class."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from askless.core.arrays import BoolArray, IntArray
from askless.core.errors import Refusal
from askless.core.table.columns import (
    Cells,
    Column,
    Columns,
    cell_refusal,
    count_texts,
    to_text_cells,
)
from askless.core.table.dataset import ClassLabel
from askless.core.table.notes import note_missing_words
from askless.core.table.spec import TableSpec
from askless.core.table.texts.categories import (
    match_name,
    note_lookalikes,
    unify_spellings,
)

MAX_CLASSES = 1000
EMPTY_RULE = 'must not be empty: leave such rows out, or say "missing_target": "drop"'

ErrorCosts = tuple[tuple[float, ...], ...] | None


def read_target(
    column: Column, spec: TableSpec
) -> tuple[tuple[ClassLabel, ...], IntArray, list[Refusal]]:
    """Read the classes in the order of their labels, and the class of each row.

    The second of two classes is the positive one.
    """
    cells = read_class_cells(column, spec)
    refusals = []
    missing = np.flatnonzero(cells.is_missing)
    if missing.size and spec.missing_target == "refuse":
        shown = to_text_cells(column, ())
        refusals.append(cell_refusal(spec.target, EMPTY_RULE, missing, shown))
    names = unify_spellings(cells.present)
    labels = sorted(set(names.values()))
    if not 2 <= len(labels) <= MAX_CLASSES:
        first = ", ".join(labels[:5]) + (", ..." if len(labels) > 5 else "")
        received = f"{len(labels)} ({first})" if labels else "none"
        rule = f"must have 2 to {MAX_CLASSES} classes"
        if len(labels) > MAX_CLASSES:
            rule += ", not numbers: part them into ranges"
        else:
            texts, words = count_texts(column), spec.words
            notes = note_missing_words(texts, column.size, words)
            rule = "; ".join([rule, *notes])
        refusals.append(Refusal(f"target {spec.target}", rule, received))
        return (), np.zeros(len(cells), np.int64), refusals
    refusals += check_labels(labels, spec)
    if len(labels) == 2 and match_label(labels, spec.positive) == 0:
        labels.reverse()
    displays = {
        match_label(labels, label): display for label, display in spec.displays.items()
    }
    classes = tuple(
        ClassLabel(label, displays.get(position, label))
        for position, label in enumerate(labels)
    )
    positions = {label: position for position, label in enumerate(labels)}
    # Rows without a class get 0; they are refused or dropped.
    by_word = [positions.get(names.get(word or "", ""), 0) for word in cells.words]
    return classes, np.array(by_word, np.int64)[cells.numbers], refusals


def read_class_cells(column: Column, spec: TableSpec) -> Cells:
    """Return the cells of a target; what means missing is None."""
    return to_text_cells(column, spec.words)


def note_classes(column: Column, spec: TableSpec) -> list[str]:
    """Return notes on words that mean missing, and on classes that look alike."""
    labels = unify_spellings(read_class_cells(column, spec).present).values()
    texts = count_texts(column)
    notes = note_missing_words(texts, column.size, spec.words)
    notes += note_lookalikes(sorted(set(labels)), "classes")
    return [f"{spec.target}: {note}" for note in notes]


def match_label(labels: Sequence[str], label: str | None) -> int | None:
    """Return the place of the class that a spec names; None: of none."""
    return None if label is None else match_name(labels, label)


def check_labels(labels: Sequence[str], spec: TableSpec) -> Iterator[Refusal]:
    """Refuse labels that no row has, and `positive` with more than two classes."""
    positive = [] if spec.positive is None else [spec.positive]
    for field, named in (("positive", positive), ("classes", list(spec.displays))):
        for label in named:
            if match_label(labels, label) is None:
                rule = f"must be one of the classes {', '.join(labels)}"
                yield Refusal(field, rule, repr(label))
    if len(labels) > 2 and positive:
        rule = "must be left out where there are more than two classes"
        yield Refusal("positive", rule, repr(spec.positive))


def build_error_costs(
    spec: TableSpec, classes: tuple[ClassLabel, ...]
) -> tuple[ErrorCosts, list[Refusal]]:
    """Return the costs of errors, rows by true class, columns by predicted class.

    An error that the spec does not list costs 0. None where it lists none.
    """
    if spec.error_costs is None or not classes:
        return None, []
    labels = [label.label for label in classes]
    named = {
        *spec.error_costs,
        *(predicted for row in spec.error_costs.values() for predicted in row),
    }
    rule = f"must name the classes {', '.join(labels)}"
    wrong = sorted(name for name in named if match_label(labels, name) is None)
    refusals = [Refusal("error_costs", rule, repr(label)) for label in wrong]
    costs = {
        (match_label(labels, true), match_label(labels, predicted)): float(cost)
        for true, row in spec.error_costs.items()
        for predicted, cost in row.items()
    }
    places = range(len(labels))
    return tuple(
        tuple(costs.get((true, predicted), 0.0) for predicted in places)
        for true in places
    ), refusals


def blank_dropped_rows(
    columns: Columns, spec: TableSpec, n_rows: int
) -> tuple[Columns, BoolArray]:
    """Return the columns with blank cells in dropped rows, and which rows are kept.

    A row without a target is dropped where the spec says so. It keeps its place, so
    that a refusal names each row by its number in the table.
    """
    is_kept = np.ones(n_rows, np.bool_)
    if spec.missing_target == "drop" and spec.target in columns:
        is_kept = ~read_class_cells(columns[spec.target], spec).is_missing
    if is_kept.all():
        return columns, is_kept
    return BlankedColumns(columns, is_kept, {spec.weight: "0", spec.group_by: "0"}), (
        is_kept
    )


class BlankedColumns(Mapping[str, Column]):
    """Columns with some rows blank; a column is blanked when it is read.

    `blanks` has the text of blank cells by column (weights need a number); missing
    for all other columns.
    """

    def __init__(
        self, columns: Columns, is_kept: BoolArray, blanks: dict[str | None, str]
    ) -> None:
        self._columns = columns
        self._is_kept = is_kept
        self._blanks = blanks

    def __getitem__(self, name: str) -> Column:
        column, blank = self._columns[name], self._blanks.get(name)
        if column.dtype == np.object_:
            return np.where(self._is_kept, column, np.array(blank, np.object_))
        number = math.nan if blank is None else float(blank)
        return np.where(self._is_kept, column, number)

    # The default of Mapping would read the column.
    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
