"""Rows with their classes, weights and groups: a whole table, or a part of one."""

from dataclasses import dataclass
from typing import NamedTuple

from app.batch.budgets import Naming
from app.batch.sources import RowSource, TablePart, WantedColumns
from app.batch.table_checks import WholeColumns, needed_names, refuse_rows, text_columns
from core.arrays import FloatArray, IntArray
from core.errors import Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.model.model import Model
from core.model.rows import check_block, check_targets
from core.table.columns import (
    Cells,
    Columns,
    as_text,
    read_raw_weights,
    read_row_groups,
    read_weights,
    unknown_column,
)
from core.table.dataset import Dataset
from core.table.spec import TableSpec


@dataclass(frozen=True)
class LabelledTerms:
    """Which columns rows have their classes from, their weights and their groups."""

    ensemble: Ensemble
    table: TableSpec
    #: what may be spent, in micro-units; dearer features may be absent
    most: int | None

    @property
    def named(self) -> list[str]:
        """Return the columns beside the features."""
        table = self.table
        names = (table.target, table.weight, table.group_by)
        return [name for name in names if name is not None]


class LabelledPart(NamedTuple):
    """Some rows of a table, checked."""

    values: FloatArray
    n_unseen: IntArray
    targets: IntArray
    #: as they are in the table
    weights: FloatArray
    #: None: each row stands for itself
    groups: Cells | None


def find_words(stored: Model) -> frozenset[str]:
    """Return the columns whose cells are wanted as written."""
    return frozenset([*text_columns(stored.ensemble), stored.target])


def label_table(
    columns: Columns,
    values: FloatArray,
    stored: Model,
    table: TableSpec,
    naming: Naming,
) -> Dataset:
    """Return checked rows with their classes, weights and groups."""
    ensemble = stored.ensemble
    refusals = refuse_options(columns, table, naming)
    weights, wrong = read_weights(columns, table, len(values))
    row_groups, broken = read_row_groups(columns, table)
    refusals += wrong + broken
    if refusals:
        raise RefusedError(refusals)
    return Dataset(
        catalogue=ensemble.catalogue,
        classes=ensemble.classes,
        values=values,
        targets=check_targets(columns, ensemble, stored.target),
        weights=weights,
        row_groups=row_groups,
    )


def refuse_options(columns: Columns, table: TableSpec, naming: Naming) -> list[Refusal]:
    """Refuse options that name columns which the table does not have."""
    named = {"weight": table.weight, "group_by": table.group_by}
    return [
        unknown_column(naming(option), name, columns)
        for option, name in named.items()
        if name is not None and name not in columns
    ]


def label_part(part: TablePart, terms: LabelledTerms) -> LabelledPart:
    """Check a part of a table whose columns are there; rows are counted from it."""
    found = check_block(part.columns, terms.ensemble, terms.most)
    weights, refusals = read_raw_weights(part.columns, terms.table, part.n_rows)
    _, broken = read_row_groups(part.columns, terms.table)
    if refusals + broken:
        raise RefusedError(refusals + broken)
    targets = check_targets(part.columns, terms.ensemble, terms.table.target)
    name = terms.table.group_by
    groups = None if name is None else as_text(part.columns[name])
    return LabelledPart(found.values, found.n_unseen, targets, weights, groups)


def columns_to_label(source: RowSource, terms: LabelledTerms) -> WantedColumns:
    """Return the columns of a table that measuring reads."""
    names = needed_names(terms.ensemble, source.names)
    named = {one for name in terms.named for one in (name, name.strip())}
    its = [name for name in source.names if name in named or name in names]
    return WantedColumns(its, [])


def refuse_labelled(source: RowSource, terms: LabelledTerms, naming: Naming) -> None:
    """Refuse a table with every broken rule, rows by their numbers in all of it."""
    ensemble, table = terms.ensemble, terms.table
    refuse_rows(source, ensemble, terms.most)
    columns = WholeColumns(source, columns_to_label(source, terms).names)
    refusals = refuse_options(columns, table, naming)
    refusals += read_weights(columns, table, source.n_rows)[1]
    refusals += read_row_groups(columns, table)[1]
    if refusals:
        raise RefusedError(refusals)
    check_targets(columns, ensemble, table.target)
