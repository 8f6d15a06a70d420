"""Read rows with their classes, weights and groups, of a table or a part."""

from dataclasses import dataclass
from typing import NamedTuple

from askless.app.batch.budgets import Naming
from askless.app.batch.sources import ColumnChoice, RowSource, TablePart
from askless.app.batch.table_checks import (
    WholeColumns,
    list_needed_columns,
    list_text_columns,
    refuse_rows,
)
from askless.core.arrays import FloatArray, IntArray
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.model.rows import UnseenNames, check_block, check_targets
from askless.core.table.columns import Cells, Columns, to_text_cells, unknown_column
from askless.core.table.dataset import Dataset
from askless.core.table.spec import TableSpec
from askless.core.table.weights import read_raw_weights, read_row_groups, read_weights


@dataclass(frozen=True)
class LabelledTerms:
    """The columns that hold the classes, weights and groups of rows."""

    ensemble: Ensemble
    table: TableSpec
    #: the largest budget, in micro-units; features that cost more may be absent
    most: int | None

    @property
    def named(self) -> list[str]:
        """Names of the columns that are no features."""
        table = self.table
        names = (table.target, table.weight, table.group_by)
        return [name for name in names if name is not None]


class LabelledPart(NamedTuple):
    """Some rows of a table, checked."""

    values: FloatArray
    unseen: UnseenNames
    targets: IntArray
    #: raw weights, not scaled
    weights: FloatArray
    #: None: each row is its own group
    groups: Cells | None


def columns_with_text(stored: Model) -> frozenset[str]:
    """Return the columns whose cells are read as text."""
    return frozenset([*list_text_columns(stored.ensemble), stored.target])


def label_table(
    columns: Columns,
    values: FloatArray,
    stored: Model,
    table: TableSpec,
    naming: Naming,
) -> Dataset:
    """Return checked rows with their classes, weights and groups."""
    ensemble = stored.ensemble
    refusals = check_options(columns, table, naming)
    weights, _, wrong = read_weights(columns, table, len(values))
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


def check_options(columns: Columns, table: TableSpec, naming: Naming) -> list[Refusal]:
    """Return refusals of options that name unknown columns."""
    named = {"weight": table.weight, "group_by": table.group_by}
    return [
        unknown_column(naming(option), name, columns)
        for option, name in named.items()
        if name is not None and name not in columns
    ]


def label_part(part: TablePart, terms: LabelledTerms) -> LabelledPart:
    """Check a part of a table; refusals count rows from its start."""
    block = check_block(part.columns, terms.ensemble, terms.most)
    weights, refusals = read_raw_weights(part.columns, terms.table, part.n_rows)
    _, broken = read_row_groups(part.columns, terms.table)
    if refusals + broken:
        raise RefusedError(refusals + broken)
    targets = check_targets(part.columns, terms.ensemble, terms.table.target)
    name = terms.table.group_by
    groups = None if name is None else to_text_cells(part.columns[name])
    return LabelledPart(block.values, block.unseen, targets, weights, groups)


def columns_to_label(source: RowSource, terms: LabelledTerms) -> ColumnChoice:
    """Return the columns of a table that measuring reads."""
    names = list_needed_columns(terms.ensemble, source.names)
    named = {text for name in terms.named for text in (name, name.strip())}
    read = [name for name in source.names if name in named or name in names]
    return ColumnChoice(read, [])


def refuse_labelled(source: RowSource, terms: LabelledTerms, naming: Naming) -> None:
    """Raise RefusedError with every broken rule; rows are counted from the top."""
    ensemble, table = terms.ensemble, terms.table
    refuse_rows(source, ensemble, terms.most)
    columns = WholeColumns(source, columns_to_label(source, terms).names)
    refusals = check_options(columns, table, naming)
    refusals += read_weights(columns, table, source.n_rows)[-1]
    refusals += read_row_groups(columns, table)[1]
    if refusals:
        raise RefusedError(refusals)
    check_targets(columns, ensemble, table.target)
