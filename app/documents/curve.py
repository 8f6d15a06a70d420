"""A curve as it stands in a model."""

from typing import Annotated

from pydantic import Field

from app.documents.catalogue import Micros
from app.documents.fields import Share
from app.documents.shape import Many, StoredShape

Spend = Annotated[float, Field(ge=0, le=1e18)]


class CurveShape(StoredShape):
    budgets: Many[Micros | None] = Field(alias="budgets_micros")
    errors: Many[Share]
    errors_calibrated: Many[Share]
    mean_spends: Many[Spend] = Field(alias="mean_spends_micros")
    max_spends: Many[Micros] = Field(alias="max_spends_micros")
    n_samples: Annotated[int, Field(ge=0, le=2**53)] = Field(alias="rows")
    n_effective: Annotated[float, Field(gt=0, le=2**53)] | None = Field(
        default=None, alias="effective_rows", exclude_if=lambda rows: rows is None
    )
