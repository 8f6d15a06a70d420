"""A table and a spec together: fit for training, or refused with every broken rule."""

from core.errors import Refusal, RefusedError
from core.panels.ladder import ladder_bytes
from core.pipeline.spec import TrainingSpec
from core.selection.search import selection_bytes
from core.table.check import CheckedTable, finish_table, gather_table
from core.table.columns import Columns, refuse_size
from core.table.dataset import count_outputs
from core.training.algorithms import ALGORITHMS
from core.training.boosting import training_bytes


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
    n_classes = len(read.classes)
    if ALGORITHMS[spec.boost.algorithm].is_binary and n_classes > 2:
        refusals.append(Refusal("algorithm", "a cascade has two classes"))
    n_outputs = count_outputs(n_classes, is_multilabel=False)
    n_rows = int(read.targets.size)
    needed = training_bytes(n_rows, len(read.features), n_outputs)
    if spec.selection is not None:
        needed = max(needed, selection_bytes(n_rows))
    if ALGORITHMS[spec.boost.algorithm].has_panels:
        needed = max(
            needed, ladder_bytes(n_rows, len(read.features), spec.boost.effort)
        )
    refusals += refuse_size("training", needed, memory)
    if refusals:
        raise RefusedError(refusals)
    return finish_table(read, columns, spec.table)
