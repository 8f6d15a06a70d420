"""Parts of a model's document: classes, cascade, calibrations, curve."""

from typing import Annotated

from pydantic import Field

from app.documents.catalogue import Micros
from app.documents.shape import Many, StoredShape
from core.model.ensemble import N_KNOTS, Cascade, Stage

# A share that was summed up may exceed 1 by rounding.
Share = Annotated[float, Field(ge=0, le=1 + 1e-9)]
Shift = Annotated[float, Field(ge=-1e6, le=1e6)]
Slope = Annotated[float, Field(ge=0, le=1e6)]
Spend = Annotated[float, Field(ge=0, le=1e18)]


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
    stages: Many[StageShape]
    chance_passed: Annotated[float, Field(ge=0, le=1)]


class CalibrationShape(StoredShape):
    offsets: Annotated[Many[Many[Shift]], Field(min_length=N_KNOTS, max_length=N_KNOTS)]
    slopes: Annotated[Many[Slope], Field(min_length=N_KNOTS, max_length=N_KNOTS)]


class CurveShape(StoredShape):
    budgets: Many[Micros | None] = Field(alias="budgets_micros")
    errors: Many[Share]
    errors_calibrated: Many[Share]
    mean_spends: Many[Spend] = Field(alias="mean_spends_micros")
    max_spends: Many[Micros] = Field(alias="max_spends_micros")
    n_samples: Annotated[int, Field(ge=0, le=2**53)] = Field(alias="rows")


def build_cascade(shape: CascadeShape | None) -> Cascade | None:
    if shape is None:
        return None
    stages = tuple(Stage(**dict(stage)) for stage in shape.stages)
    return Cascade(stages, shape.chance_passed)
