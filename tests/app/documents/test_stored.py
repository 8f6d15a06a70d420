"""Core's dataclasses in stored documents: the way there and back, and refusals."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from annotated_types import Interval, Len

from askless.app.documents.shape import read_shape
from askless.app.documents.stored import Stored, StoredShape, to_json_value
from askless.core.arrays import Arrays, BoolArray, FloatArray, IntArray
from askless.core.errors import RefusedError
from askless.core.model.ladder.blends import LogisticRidge


@dataclass(frozen=True)
class Point:
    value: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Sample(Arrays):
    n_samples: Annotated[int, Interval(ge=1)]
    counts: Annotated[IntArray, Interval(ge=0, le=9)]
    is_open: BoolArray
    point: Annotated[Point, Interval(ge=0, le=1)]
    names: Annotated[tuple[str, ...], Len(1, 2)]
    covariance: FloatArray | None = None
    budget: int | None = None


class Holder(StoredShape):
    sample: Stored[Sample]
    ridge: Stored[LogisticRidge] | None = None


COVARIANCE = np.array([[1.0, 0.5], [0.5, 2.0]])
SAMPLE = Sample(
    3, np.array([0, 9]), np.array([True]), Point(0.5, (0.25, 1.0)), ("a",), COVARIANCE
)
DOCUMENT: dict[str, Any] = {
    "rows": 3,
    "counts": [0, 9],
    "is_open": [True],
    "point": {"value": 0.5, "interval": [0.25, 1.0]},
    "names": ["a"],
    "covariance": [1.0, 0.5, 2.0],
}
RIDGE = {"coefficients": [[0.5], [1.5]], "offsets": [0.1], "kind": "logistic"}


def read(document: Any) -> Holder:
    return read_shape(Holder, document, "doc")


def test_value_survives_the_round_trip_in_the_words_of_documents() -> None:
    sample = read({"sample": DOCUMENT}).sample

    assert to_json_value(SAMPLE) == DOCUMENT
    assert sample == SAMPLE
    # Kernels take these types.
    types = [
        array.dtype for array in (sample.counts, sample.is_open, sample.covariance)
    ]
    assert types == [np.int64, np.bool_, np.float64]


def test_class_is_told_by_its_kind() -> None:
    ridge = read({"sample": DOCUMENT, "ridge": RIDGE}).ridge

    assert ridge is not None
    assert ridge.coefficients.shape == (2, 1)
    assert to_json_value(ridge) == RIDGE


def test_field_of_a_later_version_is_ignored() -> None:
    assert read({"sample": DOCUMENT | {"later": 1}, "more": 2}).sample == SAMPLE


ABSENT = object()


@pytest.mark.parametrize(
    ("name", "value", "refusal"),
    [
        ("rows", ABSENT, "rows: is required"),
        ("rows", 0, "rows: must be at least 1; found 0"),
        ("rows", "3", "rows: must be an integer; found '3'"),
        ("rows", True, "rows: must be an integer; found True"),
        ("rows", 1.5, "rows: must be an integer; found 1.5"),
        ("counts", None, "counts: must be a list; found None"),
        ("counts", [1, 10], "counts[1]: must be at most 9; found 10"),
        ("counts", [-1], "counts[0]: must be at least 0; found -1"),
        ("counts", [[1]], "counts[0]: must be an integer"),
        ("is_open", [1], "is_open[0]: must be true or false; found 1"),
        ("point", [], "point: must be an object"),
        ("point", {}, "point.value: is required"),
        (
            "point",
            {"value": float("nan")},
            "point.value: must be a finite number; found nan",
        ),
        ("point", {"value": 2}, "point.value: must be at most 1.0; found 2"),
        (
            "point",
            {"value": 1, "interval": [0.5]},
            "point.interval: must have 2 or more items",
        ),
        (
            "point",
            {"value": 1, "interval": [0.5, -1]},
            "point.interval[1]: must be at least 0.0; found -1",
        ),
        ("names", [], "names: must have 1 or more items"),
        ("names", ["a", "b", "c"], "names: must have 2 or fewer items"),
        (
            "covariance",
            [1.0, 0.5],
            "covariance: must be the upper half of a matrix of the first columns",
        ),
        ("covariance", None, "covariance: must be a list; found None"),
        ("budget_micros", "x", "budget_micros: must be an integer; found 'x'"),
    ],
)
def test_hostile_value_is_refused_by_field_and_rule(
    name: str, value: Any, refusal: str
) -> None:
    sample = DOCUMENT | {name: value}
    if value is ABSENT:
        del sample[name]

    with pytest.raises(RefusedError) as refused:
        read({"sample": sample})

    assert str(refused.value) == f"doc.sample.{refusal}"


def test_rows_of_several_lengths_are_refused() -> None:
    ridge = RIDGE | {"coefficients": [[0.5], [1.5, 2.0]]}

    with pytest.raises(RefusedError) as refused:
        read({"sample": DOCUMENT, "ridge": ridge})

    assert str(refused.value) == "doc.ridge.coefficients: must be rows of one length"


def test_every_broken_rule_is_refused_at_once() -> None:
    with pytest.raises(RefusedError) as refused:
        read({"sample": DOCUMENT | {"rows": 0, "counts": [99], "names": []}})

    fields = [refusal.field for refusal in refused.value.refusals]
    assert fields == ["doc.sample.rows", "doc.sample.counts[0]", "doc.sample.names"]
