"""Logged cases as cells of a table: what was asked, in order, and what came of it.

The cells of the column `askless_case`. They have nothing that identifies a case.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from app.documents.fields import Policy
from app.documents.shape import Many, read_shape
from app.documents.stored import StoredShape
from core.model.ranges import Micros
from core.session.state import Outcome, State
from core.table.catalogue import Catalogue

#: Outcomes that leave a cell empty and say nothing of the case.
SILENT = ("refused", "unknown", "ordered")
Chance = Annotated[float, Field(ge=0, le=1)]


class AskedFeature(StoredShape):
    """A feature of a logged case, with its last outcome and all it was charged."""

    feature: str
    outcome: Outcome | Literal["known"]
    charged: Micros
    #: chance at which its policy asks for it then; None: not known
    propensity: Chance | None = Field(default=None, exclude_if=lambda one: one is None)
    #: whether it was drawn to explore; None: not known
    explored: bool | None = Field(default=None, exclude_if=lambda one: one is None)


class CaseDocument(StoredShape):
    """A logged case beside its row; features that are not in it were not asked."""

    format: Literal["askless-case"]
    version: Literal[1]
    policy: Policy
    #: in the order asked, those known from the start first
    asked: Many[AskedFeature]
    budget: Micros | None
    spent: Micros
    #: label, when the outcome was recorded
    prediction: str
    #: of each class by label, then
    chances: dict[str, Chance]


def describe_case(
    state: State, catalogue: Catalogue, prediction: str, chances: Mapping[str, float]
) -> CaseDocument:
    """Return the document of a closed session's state and its prediction."""
    order = dict.fromkeys([*state.known, *(one.feature_idx for one in state.history)])
    # Members of a bundle that came with another one.
    order |= dict.fromkeys(i for i, one in enumerate(state.outcomes) if one is not None)
    charges = dict.fromkeys(order, 0)
    for one in state.charges:
        charges[one.feature_idx] = charges.get(one.feature_idx, 0) + one.amount
    asked = [
        AskedFeature.model_validate(
            {
                "feature": catalogue.features[idx].name,
                "outcome": state.outcomes[idx],
                "charged": charges[idx],
            },
            by_name=True,
        )
        for idx in order
    ]
    return CaseDocument.of(
        state,
        format="askless-case",
        version=1,
        asked=asked,
        spent=state.spent,
        prediction=prediction,
        chances=dict(chances),
    )


def write_case(document: CaseDocument) -> str:
    """Return a case as the text of its cell."""
    return document.model_dump_json()


def parse_case(cell: str) -> CaseDocument:
    """Read a cell; raise RefusedError or ValueError if it is none."""
    return read_shape(CaseDocument, json.loads(cell), "askless_case")


def answered_names(document: CaseDocument) -> Iterator[str]:
    """Yield the features whose cell says something, be it that it is missing."""
    for one in document.asked:
        if one.outcome not in SILENT:
            yield one.feature
