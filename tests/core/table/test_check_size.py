"""Tables of many cells or classes."""

import numpy as np
import pytest

from askless.app.documents.spec.spec import read_spec
from askless.core.errors import RefusedError
from askless.core.pipeline.check import check_training
from askless.core.table.targets import MAX_CLASSES
from askless.core.training.boosting import estimate_training_bytes, estimate_value_bytes

SPEC = read_spec({"target": "y", "algorithm": "adaboost"})


def table(n_rows: int, n_classes: int) -> dict[str, np.ndarray]:
    labels = [f"c{row % n_classes:05}" for row in range(n_rows)]
    return {
        "x": np.arange(float(n_rows)),
        "z": np.arange(float(n_rows)) % 5,
        "y": np.array(labels, dtype=object),
    }


def test_table_that_does_not_fit_is_refused_with_what_it_needs() -> None:
    needed = estimate_training_bytes(9, 2, 1) + estimate_value_bytes(18, 2)

    with pytest.raises(RefusedError) as caught:
        check_training(table(9, 2), SPEC, memory=needed - 1)

    (refusal,) = caught.value.refusals
    assert refusal.field == "table"
    assert refusal.rule == (
        "training must fit the memory; it needs 0.0 GB, and there are 0.0 GB"
    )
    assert check_training(table(9, 2), SPEC, memory=needed).dataset.n_samples == 9


def test_more_outputs_need_more_memory() -> None:
    assert estimate_training_bytes(100, 2, 50) > estimate_training_bytes(100, 2, 1)


def test_thousand_classes_are_taken_and_one_more_is_not() -> None:
    taken = check_training(table(MAX_CLASSES, MAX_CLASSES), SPEC).dataset

    assert len(taken.classes) == MAX_CLASSES
    assert sorted(taken.targets.tolist()) == list(range(MAX_CLASSES))
    with pytest.raises(RefusedError, match=f"2 to {MAX_CLASSES} classes"):
        check_training(table(MAX_CLASSES + 1, MAX_CLASSES + 1), SPEC)
