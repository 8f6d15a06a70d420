"""Prepare a checked table for training: set rows aside, code all others."""

from dataclasses import dataclass, replace

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.codes.binned_table import (
    SAMPLE_ROWS,
    BinnedTable,
    TableCoder,
    code_table,
    to_smallest_dtype,
)
from askless.core.errors import RefusedError
from askless.core.pipeline.certificates import set_aside
from askless.core.pipeline.check import list_misfits, note_missing
from askless.core.pipeline.spec import TrainingSpec
from askless.core.table.check import (
    CheckedTable,
    choose_columns,
    list_ignored_columns,
    mark_then_collect,
    read_features,
)
from askless.core.table.columns import Columns
from askless.core.table.dataset import Dataset
from askless.core.table.labels import (
    GatheredLabels,
    gather_labels,
    refuse_one_class,
    select_usable_rows,
)
from askless.core.table.silent import FindSilent
from askless.core.table.targets import ErrorCosts
from askless.core.training.algorithms import ALGORITHMS


@dataclass(frozen=True)
class PreparedTable:
    """The input of a training: coded rows, and rows set aside for certificates.

    `warnings` and `ignored` are as in `CheckedTable`. `row_idxs` are the rows of what
    was read that are trained on, ascending; None: all.
    """

    table: BinnedTable
    aside: Dataset | None
    error_costs: ErrorCosts
    warnings: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    row_idxs: IntArray | None = None


def count_coded_rows(spec: TrainingSpec) -> int | None:
    """Return the number of rows whose values an algorithm keeps; None: all."""
    is_coded = not ALGORITHMS[spec.boost.algorithm].needs_values
    return SAMPLE_ROWS if is_coded else None


def prepare_table(checked: CheckedTable, spec: TrainingSpec) -> PreparedTable:
    """Set rows aside, as `set_aside` does, and code the others of a table."""
    dataset, aside = checked.dataset, None
    if spec.certify_share is not None:
        trained_idxs, others = set_aside(dataset, spec.certify_share, spec.seed)
        dataset, aside = dataset.take(trained_idxs), dataset.take(others)
    table = code_table(dataset, count_coded_rows(spec))
    return PreparedTable(
        table, aside, checked.error_costs, checked.warnings, checked.ignored
    )


def prepare_columns(
    columns: Columns,
    n_rows: int,
    spec: TrainingSpec,
    memory: int | None = None,
    *,
    keeps_codes: bool = True,
    silent: FindSilent | None = None,
) -> PreparedTable:
    """Check and prepare a table whose columns are read one at a time.

    The result, and what is raised, are those of `check_training` and `prepare_table`
    on a table in memory. Each column is read once, classes and weights first, and then
    freed: codes and a sample stay; without `keeps_codes` cuts and the sample. `memory`
    is how many bytes training may take, None: no limit; `silent` as in `gather_table`.
    """
    chosen, refusals = choose_columns(columns, spec.table, n_rows)
    labels, columns = gather_labels(columns, spec.table, n_rows)
    refusals += labels.refusals
    refusals += list_misfits(spec, labels, len(chosen), memory, keeps_codes=keeps_codes)
    collector = None
    if not refusals:
        collector = ColumnCollector(labels, spec, len(chosen), keeps_codes=keeps_codes)
    kept, error_costs = labels.kept, labels.error_costs
    # The collector holds the remaining rows in fewer bytes.
    del labels
    # Columns of a refused table are read on, so that every refusal is found.
    add = (lambda *_: None) if collector is None else collector.add
    features, warnings, wrong = read_features(
        columns, spec.table, chosen, mark_then_collect(silent, add), kept
    )
    refusals += wrong
    if collector is None or refusals:
        raise RefusedError(refusals)
    ignored, column_notes = list_ignored_columns(columns, spec.table, features)
    catalogue = Catalogue(tuple(features), spec.table.groups, spec.table.cost_unit)
    table, aside = collector.finish(catalogue)
    # The sample has no rows that are set aside.
    notes = note_missing(table.sample, replace(spec, certify_share=None))
    warnings += [*column_notes, *collector.warnings, *notes]
    return PreparedTable(
        table, aside, error_costs, tuple(warnings), tuple(ignored), collector.row_idxs
    )


class ColumnCollector:
    """Collects columns: codes of the rows trained on, values of those set aside.

    Raises `RefusedError` where the rows that are left are of one class.
    """

    def __init__(
        self,
        labels: GatheredLabels,
        spec: TrainingSpec,
        n_features: int,
        *,
        keeps_codes: bool,
    ) -> None:
        used, self.warnings = select_usable_rows(labels)
        nothing = np.empty((labels.targets.size, 0))
        rows = labels.with_values(Catalogue(()), nothing)
        rows = rows if used is None else rows.take(used)
        refuse_one_class(rows, spec.table)
        self._used: IntArray | slice = slice(None) if used is None else used
        self._kept: IntArray | slice = slice(None)
        self._others: IntArray = np.empty(0, np.int64)
        self._aside: Dataset | None = None
        if spec.certify_share is not None:
            self._kept, self._others = set_aside(rows, spec.certify_share, spec.seed)
            self._aside, rows = rows.take(self._others), rows.take(self._kept)
        self._aside_values: list[FloatArray] = []
        weights = rows.weights
        if np.ptp(weights) == 0:
            # Equal weights take no memory.
            weights = np.broadcast_to(weights[0], weights.shape)
        rows = replace(rows, targets=to_smallest_dtype(rows.targets), weights=weights)
        self._coder = TableCoder(
            rows, n_features, count_coded_rows(spec), keeps_codes=keeps_codes
        )

    @property
    def row_idxs(self) -> IntArray | None:
        """Row numbers, in the table, of the rows trained on; None: all."""
        if isinstance(self._used, slice):
            return None if isinstance(self._kept, slice) else self._kept
        return self._used[self._kept]

    def add(self, feature: Feature, cells: FloatArray) -> None:
        """Add the values of the next feature, one for each row of the table."""
        used = cells[self._used]
        self._aside_values.append(used[self._others])
        self._coder.add(feature, used[self._kept])

    def finish(self, catalogue: Catalogue) -> tuple[BinnedTable, Dataset | None]:
        """Return the rows trained on, and those set aside."""
        aside = self._aside
        if aside is not None:
            values = np.column_stack(self._aside_values)
            aside = replace(aside, catalogue=catalogue, values=values)
        return self._coder.finish(catalogue), aside
