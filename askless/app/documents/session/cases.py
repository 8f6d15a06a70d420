"""Closed cases as cells of a table: what was asked, in order, and what came of it.

The cells of the column `askless_case`. They have nothing that identifies a case.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from askless.app.documents.fields import Policy
from askless.app.documents.shape import Many, read_shape
from askless.app.documents.stored import StoredShape
from askless.app.documents.text import parse_json
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ranges import Micros
from askless.core.session.state import Outcome, State
from askless.core.table.spec import CASE_COLUMN

#: Outcomes that leave a cell empty and say nothing of the case.
SILENT = ("refused", "unknown", "ordered")
Chance = Annotated[float, Field(ge=0, le=1)]


class AskedFeature(StoredShape):
    """A feature of a closed case, with its last outcome and all it was charged."""

    feature: str
    outcome: Outcome | Literal["known"]
    charged: Micros
    #: chance at which its policy asks for it then; None: not known
    propensity: Chance | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    #: whether it was drawn to explore; None: not known
    explored: bool | None = Field(default=None, exclude_if=lambda value: value is None)


class CaseDocument(StoredShape):
    """A closed case beside its row; features that are not in it were not asked."""

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
    #: chance to explore before each question; None: not known
    explore: Chance | None = Field(default=None, exclude_if=lambda value: value is None)


def describe_case(
    state: State, catalogue: Catalogue, prediction: str, chances: Mapping[str, float]
) -> CaseDocument:
    """Return the document of a closed session's state and its prediction."""
    answered = (answer.feature_idx for answer in state.history)
    order = dict.fromkeys((*state.known, *answered))
    # Members of a bundle that came with another one.
    order |= dict.fromkeys(
        i for i, outcome in enumerate(state.outcomes) if outcome is not None
    )
    charges = dict.fromkeys(order, 0)
    for charge in state.charges:
        charges[charge.feature_idx] = charges.get(charge.feature_idx, 0) + charge.amount
    asked = [
        AskedFeature.model_validate(
            {
                "feature": catalogue.features[idx].name,
                "outcome": state.outcomes[idx],
                "charged": charges[idx],
                "propensity": state.propensities.get(idx),
                "explored": idx == state.explored_idx or None,
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


def answered_names(document: CaseDocument) -> Iterator[str]:
    """Yield the features whose cell says something, be it that it is missing."""
    for answer in document.asked:
        if answer.outcome not in SILENT:
            yield answer.feature


class RowDocument(StoredShape):
    """A row of a table that was joined with another one, whose columns it lacks."""

    format: Literal["askless-row"]
    version: Literal[1]
    absent: Many[str]


def blank_absent(cell: str | None, absent: Sequence[str]) -> str | None:
    """Return the cell of a row whose table lacks columns.

    A case says itself what it was asked. Other rows that lack no column have no cell.
    Raises RefusedError for a cell that is no document.
    """
    if cell is None:
        return write_row(absent) if absent else None
    document = parse_cell(cell)
    if not absent or isinstance(document, CaseDocument):
        return cell
    return write_row(dict.fromkeys([*document.absent, *absent]))


def write_row(absent: Iterable[str]) -> str:
    document = {"format": "askless-row", "version": 1, "absent": list(absent)}
    return json.dumps(document, separators=(",", ":"))


class SilentNames(NamedTuple):
    """Which columns say nothing in a row: those named, or all but those named."""

    names: frozenset[str]
    is_all_but: bool

    def has(self, name: str) -> bool:
        return (name in self.names) != self.is_all_but


def read_silent(cell: str | None) -> SilentNames:
    """Return which cells of a row say nothing, since nobody answered them.

    `cell` is the row's in `askless_case`. Raises RefusedError if it is no document.
    """
    document = None if cell is None else parse_cell(cell)
    if isinstance(document, CaseDocument):
        return SilentNames(frozenset(answered_names(document)), is_all_but=True)
    absent = () if document is None else document.absent
    return SilentNames(frozenset(absent), is_all_but=False)


def parse_cell(cell: str) -> CaseDocument | RowDocument:
    """Read a cell; raise RefusedError if it is neither of a case nor of a row."""
    raw = parse_json(cell, CASE_COLUMN)
    if isinstance(raw, dict) and raw.get("format") == "askless-row":
        return read_shape(RowDocument, raw, CASE_COLUMN)
    return read_shape(CaseDocument, raw, CASE_COLUMN)
