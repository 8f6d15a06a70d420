"""Shapes of a spec's training options: parameters, folds, certificates, selection."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from askless.app.documents.fields import Amount
from askless.app.documents.shape import Shape, shape_of
from askless.core.codes.folds import EXACT_ROWS, Deal
from askless.core.parameters import parameters
from askless.core.pipeline.choosing import AUTO_NAMES
from askless.core.pipeline.spec import TrainingSpec
from askless.core.selection.params import SelectionParams
from askless.core.training.params import BoostParams

# Sessions are played under each budget on every row set aside.
MAX_BUDGETS = 24


def read_folds(raw: Any) -> int:
    """Return a number of folds: 0 for none, or at least 2."""
    if raw == 1:
        raise ValueError("must be 0 or at least 2")
    return int(parameters(TrainingSpec)["folds"].check(raw))


class SpecParams(shape_of(BoostParams, ("algorithm", "effort", "seed"), AUTO_NAMES)):  # type: ignore[misc]  # made of core's fields
    """Parameters of the algorithm; those that it doesn't have are ignored."""


class SpecValidation(Shape):
    folds: Annotated[int, BeforeValidator(read_folds, json_schema_input_type=int)] = (
        Field(default=5, examples=[5], description="0, or 2 to 50.")
    )
    budgets: Annotated[list[Amount], Field(max_length=MAX_BUDGETS)] = Field(
        default=[],
        examples=[[20.0, 60.0]],
        description="Budgets on the curve, besides those that the model tells apart; "
        "panels choose a set of features for each, also with 0 folds.",
    )
    deal: Deal | None = Field(
        default=None,
        examples=["exact"],
        description="How rows come to folds: `exact` spreads each class evenly, "
        "`hashed` draws the fold of each row or row group; null: `exact` of at most "
        f"{EXACT_ROWS:,} rows.",
    )


NO_FOLDS = SpecValidation(folds=0)


class SpecCertificate(Shape):
    """Rows to set aside for certificates; nothing is trained on them.

    Sessions can then ask for early stops with a guarantee, and for label sets. Of rows
    with one `group_by` value one is used.
    """

    share: Annotated[
        float,
        BeforeValidator(
            parameters(TrainingSpec)["certify_share"].check,
            json_schema_input_type=float,
        ),
    ] = Field(default=0.25, examples=[0.25], description="Above 0, at most 0.5.")
    budgets: Annotated[list[Amount], Field(min_length=1, max_length=MAX_BUDGETS)] | (
        None
    ) = Field(
        default=None,
        examples=[[20.0, 60.0]],
        description="Budgets to certify sessions for, besides unlimited ones; by "
        "default those that the model tells apart.",
    )


class SpecSelection(shape_of(SelectionParams, ("criterion",))):  # type: ignore[misc]  # made of core's fields
    """Selection of features before training; no others are ever asked for.

    The selection is made anew for each fold, so that the curve is not flattered. The
    model's card reports the subset, its cost and the path to it (`selection`).
    """
