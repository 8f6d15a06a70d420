"""A curve as it stands in a model."""

from typing import Annotated, Any

from pydantic import Field

from app.documents.catalogue import Micros
from app.documents.fields import Share
from app.documents.shape import Many, StoredShape
from core.model.figures import Estimate, Figures, ReliabilityBin
from core.model.model import Curve, SpendSteps

Amount = Annotated[float, Field(ge=0, le=1e18)]
Shares = Annotated[Many[Share], Field(min_length=2, max_length=2)]
Amounts = Annotated[Many[Amount], Field(min_length=2, max_length=2)]


class ShareShape(StoredShape):
    value: Share
    interval: Shares | None


class AmountShape(StoredShape):
    value: Amount
    interval: Amounts | None


class ReliabilityBinShape(StoredShape):
    share: Share
    mean_chance: Share
    observed: ShareShape


class FiguresShape(StoredShape):
    auroc: ShareShape | None
    log_loss: AmountShape
    brier: ShareShape
    calibration_error: ShareShape
    sensitivity: ShareShape | None
    specificity: ShareShape | None
    expected_cost: AmountShape | None
    reliability: Many[ReliabilityBinShape]


class SpendStepsShape(StoredShape):
    budgets: Many[Micros | None] = Field(alias="budgets_micros", min_length=1)
    mean_spends: Many[Amount] = Field(alias="mean_spends_micros", min_length=1)


class CurveShape(StoredShape):
    budgets: Many[Micros | None] = Field(alias="budgets_micros")
    errors: Many[Share]
    errors_calibrated: Many[Share]
    mean_spends: Many[Amount] = Field(alias="mean_spends_micros")
    max_spends: Many[Micros] = Field(alias="max_spends_micros")
    n_samples: Annotated[int, Field(ge=0, le=2**53)] = Field(alias="rows")
    n_effective: Annotated[float, Field(gt=0, le=2**53)] | None = Field(
        default=None, alias="effective_rows", exclude_if=lambda rows: rows is None
    )
    predictive: Many[FiguresShape] | None = Field(
        default=None, exclude_if=lambda figures: figures is None
    )
    purchases: Many[Many[Share]] | None = Field(
        default=None, exclude_if=lambda shares: shares is None
    )
    questions: Many[Annotated[float, Field(ge=0, le=2**53)]] | None = Field(
        default=None, exclude_if=lambda means: means is None
    )
    n_played: Annotated[int, Field(ge=0, le=2**53)] | None = Field(
        default=None, alias="rows_played", exclude_if=lambda rows: rows is None
    )
    steps: SpendStepsShape | None = Field(
        default=None, exclude_if=lambda steps: steps is None
    )


def build_curve(shape: CurveShape | None) -> Curve | None:
    """Return a curve with its figures; those of versions before have none."""
    if shape is None:
        return None
    figures = shape.predictive
    built = None if figures is None else tuple(map(build_figures, figures))
    steps = None if shape.steps is None else shape.steps.to(SpendSteps)
    return shape.to(Curve, predictive=built, steps=steps)


def build_figures(shape: FiguresShape) -> Figures:
    estimates: dict[str, Any] = {
        name: None if one is None else one.to(Estimate)
        for name, one in shape
        if name != "reliability"
    }
    bins = tuple(
        one.to(ReliabilityBin, observed=one.observed.to(Estimate))
        for one in shape.reliability
    )
    return Figures(**estimates, reliability=bins)
