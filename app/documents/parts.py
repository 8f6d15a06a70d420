"""Parts of a model's document: classes, cascade, calibrations, curve."""

from typing import Annotated

from pydantic import Field

from app.documents.catalogue import Micros
from app.documents.shape import StoredShape
from core.model.ensemble import N_KNOTS, Calibration, Cascade, Stage
from core.model.model import Curve

# A share that was summed up may exceed 1 by rounding.
Share = Annotated[float, Field(ge=0, le=1 + 1e-9)]
Shift = Annotated[float, Field(ge=-1e6, le=1e6)]
Slope = Annotated[float, Field(ge=0, le=1e6)]


class ClassShape(StoredShape):
    label: str
    display: str


class StageShape(StoredShape):
    length: Annotated[int, Field(ge=1)]
    threshold: Annotated[float, Field(ge=-1e12, le=1e12)]
    detection: Share
    false_alarm: Share
    chance_reaching: Share
    chance_rejected: Share


class CascadeShape(StoredShape):
    stages: list[StageShape]
    chance_passed: Annotated[float, Field(ge=0, le=1)]


class CalibrationShape(StoredShape):
    offsets: Annotated[list[list[Shift]], Field(min_length=N_KNOTS, max_length=N_KNOTS)]
    slopes: Annotated[list[Slope], Field(min_length=N_KNOTS, max_length=N_KNOTS)]


class CurveShape(StoredShape):
    budgets_micros: list[Micros | None]
    errors: list[Share]
    errors_calibrated: list[Share]
    mean_spends_micros: list[Annotated[float, Field(ge=0, le=1e18)]]
    max_spends_micros: list[Micros]
    rows: Annotated[int, Field(ge=0, le=2**53)]


def cascade_shape(cascade: Cascade) -> CascadeShape:
    stages = [
        StageShape.model_validate(stage, from_attributes=True)
        for stage in cascade.stages
    ]
    return CascadeShape(stages=stages, chance_passed=cascade.chance_passed)


def calibration_shape(one: Calibration) -> CalibrationShape:
    offsets = [list(knot) for knot in one.offsets]
    return CalibrationShape(offsets=offsets, slopes=list(one.slopes))


def curve_shape(curve: Curve) -> CurveShape:
    return CurveShape(
        budgets_micros=list(curve.budgets),
        errors=list(curve.errors),
        errors_calibrated=list(curve.errors_calibrated),
        mean_spends_micros=list(curve.mean_spends),
        max_spends_micros=list(curve.max_spends),
        rows=curve.n_samples,
    )


def build_calibration(shape: CalibrationShape) -> Calibration:
    return Calibration(tuple(map(tuple, shape.offsets)), tuple(shape.slopes))


def build_cascade(shape: CascadeShape | None) -> Cascade | None:
    if shape is None:
        return None
    stages = tuple(Stage(**dict(stage)) for stage in shape.stages)
    return Cascade(stages, shape.chance_passed)


def build_curve(shape: CurveShape) -> Curve:
    return Curve(
        budgets=tuple(shape.budgets_micros),
        errors=tuple(shape.errors),
        errors_calibrated=tuple(shape.errors_calibrated),
        mean_spends=tuple(shape.mean_spends_micros),
        max_spends=tuple(shape.max_spends_micros),
        n_samples=shape.rows,
    )
