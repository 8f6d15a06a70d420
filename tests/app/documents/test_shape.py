"""Every refusal is in words of ours: pydantic's may repeat what was found."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field

from askless.app.documents.http.sessions import AnswersRequest, PredictRequest
from askless.app.documents.model.checkpoint import Checkpoint
from askless.app.documents.model.model import ModelDocument
from askless.app.documents.session.state import StateDocument
from askless.app.documents.shape import RULES, Answer, rule_text
from askless.app.documents.spec.spec import SpecDocument

SHAPES = (ModelDocument, Checkpoint, StateDocument, SpecDocument)
BODIES = (PredictRequest, AnswersRequest)
# By pydantic's types of schema and their constraints: the kinds of error they raise.
KINDS: dict[str, tuple[str, ...]] = {
    "model": ("model_type", "model_attributes_type", "missing"),
    "dict": ("dict_type",),
    "typed-dict": ("dict_type", "missing"),
    "list": ("list_type", "too_short", "too_long"),
    "tuple": ("tuple_type", "too_short", "too_long"),
    "str": ("string_type", "string_unicode", "string_too_short", "string_too_long"),
    "pattern": ("string_pattern_mismatch",),
    "bool": ("bool_type",),
    "int": ("int_type", "int_from_float", "int_parsing_size"),
    "float": ("float_type", "finite_number"),
    "ge": ("greater_than_equal",),
    "gt": ("greater_than",),
    "le": ("less_than_equal",),
    "literal": ("literal_error",),
    "tagged-union": ("union_tag_invalid", "union_tag_not_found"),
    "function-before": ("value_error",),
    "function-after": ("value_error",),
    "function-wrap": ("value_error",),
    "extra_behavior": ("extra_forbidden",),
}
CONSTRAINTS = {"extra_behavior", "ge", "gt", "le", "lt", "multiple_of", "pattern"}
UNCHECKED = {"json_schema_input_schema", "metadata", "serialization"}
SILENT = {"any", "default", "definition-ref", "definitions", "model-field"}
SILENT |= {"typed-dict-field", "model-fields", "no-info", "nullable", "union"}


def words(schema: Any) -> Iterator[str]:
    """The types and constraints that a schema of pydantic's is made of."""
    if isinstance(schema, dict):
        if isinstance(kind := schema.get("type"), str):
            yield kind
        yield from schema.keys() & CONSTRAINTS
        for name, value in schema.items():
            if name not in UNCHECKED:
                yield from words(value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from words(value)


@pytest.mark.parametrize("shape", [*SHAPES, *BODIES])
def test_each_kind_of_error_that_a_shape_can_raise_has_its_rule(
    shape: type[BaseModel],
) -> None:
    found = set(words(shape.__pydantic_core_schema__)) - SILENT

    raised = {kind for word in found for kind in KINDS[word]}

    assert "model" in found
    assert raised - RULES.keys() == set()


def test_another_kind_of_error_repeats_nothing() -> None:
    assert rule_text("date_parsing", {"error": "SECRET"}) == "is not valid here"


@dataclass(frozen=True)
class Row:
    name: str
    n_rows: int = 3


class Body(Answer):
    name: str
    rows: int = Field(validation_alias="n_rows")


def test_body_has_the_fields_of_its_objects() -> None:
    assert Body.of(Row("a")) == Body(name="a", n_rows=3)


def test_field_of_several_objects_must_be_named() -> None:
    with pytest.raises(AssertionError, match="name stands in several objects"):
        Body.of(Row("a"), Body(name="b", n_rows=3))

    assert Body.of(Row("a"), Body(name="b", n_rows=3), name="c").name == "c"
