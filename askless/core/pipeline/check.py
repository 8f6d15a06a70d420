"""A table and a spec together: fit for training, or refused with every broken rule."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from askless.core.arrays import evenly_spaced
from askless.core.codes.binned_table import SAMPLE_ROWS
from askless.core.codes.thinning import thin_classes
from askless.core.errors import Refusal, RefusedError
from askless.core.panels.effort import EFFORTS
from askless.core.panels.ladders import ladder_bytes
from askless.core.pipeline.certificates import set_aside
from askless.core.pipeline.spec import TrainingSpec
from askless.core.selection.search import selection_bytes
from askless.core.table.check import CheckedTable, finish_table, gather_table
from askless.core.table.columns import Columns, size_refusals
from askless.core.table.dataset import Dataset, count_outputs
from askless.core.table.gaps import note_gaps
from askless.core.table.labels import GatheredLabels
from askless.core.table.silent import FindSilent
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.boosting import estimate_training_bytes, estimate_value_bytes


def check_training(
    columns: Columns,
    spec: TrainingSpec,
    memory: int | None = None,
    silent: FindSilent | None = None,
) -> CheckedTable:
    """Turn a table into the dataset that a training spec describes.

    `columns` all have one length; `memory` is how many bytes training may take, None:
    no limit; `silent` as in `gather_table`. Raises `RefusedError` with every broken
    rule: those of `gather_table`, a cascade of more than two classes, more cells than
    memory holds; and, where panels are to be fitted, those of `set_aside`.
    """
    read = gather_table(columns, spec.table, silent)
    refusals = list(read.refusals)
    n_features = len(read.features)
    refusals += list_misfits(spec, read.labels, n_features, memory)
    if refusals:
        raise RefusedError(refusals)
    checked = finish_table(read, columns, spec.table)
    notes = note_missing(checked.dataset, spec)
    return replace(checked, warnings=(*checked.warnings, *notes))


def list_misfits(
    spec: TrainingSpec,
    labels: GatheredLabels,
    n_features: int,
    memory: int | None,
    *,
    keeps_codes: bool | None = None,
) -> Iterator[Refusal]:
    """Yield refusals of classes beyond an algorithm's, and of cells beyond `memory`.

    `keeps_codes` None: the values of all rows are in memory. Otherwise columns are
    coded one by one and never in memory together; it says whether this process keeps
    the codes. `memory` is in bytes, None: no limit.
    """
    algorithm = ALGORITHMS[spec.boost.algorithm]
    n_classes, n_rows = len(labels.classes), int(labels.targets.size)
    if algorithm.is_binary and n_classes > 2:
        yield Refusal("algorithm", "a cascade has two classes")
    n_outputs = count_outputs(n_classes, is_multilabel=False)
    n_whole = n_rows if algorithm.needs_values else min(n_rows, SAMPLE_ROWS)
    # A table in memory has all values beside those of the sample.
    n_values = n_rows + n_whole if keeps_codes is None else n_whole
    n_coded = 0 if keeps_codes is False else n_features
    needed = estimate_training_bytes(n_rows, n_coded, n_outputs)
    needed += estimate_value_bytes(n_values, n_features)
    if spec.selection is not None:
        needed = max(needed, selection_bytes(n_whole))
    if algorithm.has_panels:
        effort = spec.boost.effort
        needed = max(needed, ladder_bytes(n_whole, n_features, effort))
    yield from size_refusals("training", needed, memory)


def note_missing(dataset: Dataset, spec: TrainingSpec) -> list[str]:
    """Return a note on missing values that panels use; raise as `set_aside`."""
    if dataset.is_multilabel or not ALGORITHMS[spec.boost.algorithm].has_panels:
        return []
    fitted = thin_classes(
        select_sample(dataset, spec), EFFORTS[spec.boost.effort].fit_rows
    )
    note = note_gaps(fitted, spec.boost.least_missing)
    return [note] if note else []


def select_sample(dataset: Dataset, spec: TrainingSpec) -> Dataset:
    """Return the rows that training sees, evenly sampled and not set aside."""
    idxs = np.arange(dataset.n_samples)
    if spec.certify_share is not None:
        idxs, _ = set_aside(dataset, spec.certify_share, spec.seed)
    idxs = idxs[evenly_spaced(idxs.size, SAMPLE_ROWS)]
    return dataset if idxs.size == dataset.n_samples else dataset.take(idxs)
