"""A table and a spec together: fit for training, or refused with every broken rule."""

from collections.abc import Iterator

from core.errors import Refusal, RefusedError
from core.panels.ladder import ladder_bytes
from core.pipeline.spec import TrainingSpec
from core.selection.search import selection_bytes
from core.table.binned_table import SAMPLE_ROWS
from core.table.check import (
    CheckedTable,
    finish_table,
    gather_table,
)
from core.table.columns import Columns, refuse_size
from core.table.dataset import count_outputs
from core.table.labels import GatheredLabels
from core.training.algorithms import ALGORITHMS
from core.training.boosting import training_bytes, values_bytes


def check_training(
    columns: Columns, spec: TrainingSpec, memory: int | None = None
) -> CheckedTable:
    """Turn a table into a dataset as a training spec wants it.

    `columns` are all of one length; `memory` is how many bytes training may take, None:
    no limit. Raises `RefusedError` with every broken rule: those of `gather_table`, a
    cascade of more than two classes, more cells than memory holds.
    """
    read = gather_table(columns, spec.table)
    refusals = list(read.refusals)
    n_features = len(read.features)
    refusals += refuse_misfits(spec, read.labels, n_features, memory)
    if refusals:
        raise RefusedError(refusals)
    return finish_table(read, columns, spec.table)


def refuse_misfits(
    spec: TrainingSpec,
    labels: GatheredLabels,
    n_features: int,
    memory: int | None,
    *,
    keeps_codes: bool | None = None,
) -> Iterator[Refusal]:
    """Refuse more classes than an algorithm takes, and more cells than memory holds.

    `keeps_codes`: columns are coded one after the other, and never in memory together;
    whether codes stay in this process. None: the values of all rows are in memory.
    """
    algorithm = ALGORITHMS[spec.boost.algorithm]
    n_classes, n_rows = len(labels.classes), int(labels.targets.size)
    if algorithm.is_binary and n_classes > 2:
        yield Refusal("algorithm", "a cascade has two classes")
    n_outputs = count_outputs(n_classes, is_multilabel=False)
    n_whole = n_rows if algorithm.needs_values else min(n_rows, SAMPLE_ROWS)
    n_values = n_rows + n_whole if keeps_codes is None else n_whole
    n_coded = 0 if keeps_codes is False else n_features
    needed = training_bytes(n_rows, n_coded, n_outputs)
    needed += values_bytes(n_values, n_features)
    if spec.selection is not None:
        needed = max(needed, selection_bytes(n_whole))
    if algorithm.has_panels:
        effort = spec.boost.effort
        needed = max(needed, ladder_bytes(n_whole, n_features, effort))
    yield from refuse_size("training", needed, memory)
