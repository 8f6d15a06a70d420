"""The base classes of documents, and refusals made of pydantic's errors.

All broken rules are refused at once, each by its path in the document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeVar

from annotated_types import Interval
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    Strict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)
from pydantic_core import CoreSchema

from askless.core.catalogue.prices import from_micros
from askless.core.errors import Refusal, RefusedError, shorten
from askless.core.parameters import Parameter, parameters_of

EXAMPLE_TIME = "2026-11-20T09:30:00Z"

Place = tuple[int | str, ...]
# The position of an object that has a field, and its name for it.
Source = tuple[int, str]
AnyShape = TypeVar("AnyShape", bound=BaseModel)
Item = TypeVar("Item")
Value = TypeVar("Value")
# Refusals of a stored document; a program wrote it, so the first ones say enough.
MAX_REFUSALS = 20
# Steps that pydantic adds to a path though the document has none: the kind of a
# hypothesis or ridge, and that a key is wrong rather than its value.
KINDS = ("stump", "tree", "product", "laplace", "logistic")
KEY = "[key]"
# Rules by pydantic's kinds of error, whose own messages may repeat the input.
RULES = {
    **dict.fromkeys(("missing", "union_tag_not_found"), "is required"),
    **dict.fromkeys(
        ("model_type", "model_attributes_type", "dict_type"), "must be an object"
    ),
    **dict.fromkeys(("list_type", "tuple_type"), "must be a list"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_parsing_size", "int_from_float"),
        "must be an integer",
    ),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    "finite_number": "must be a finite number",
    "string_type": "must be a string",
    "string_unicode": "must have no halves of characters",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have {max_length} or fewer characters",
    "too_short": "must have {min_length} or more items",
    "too_long": "must have {max_length} or fewer items",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "union_tag_invalid": "must be one of {expected_tags}",
    "extra_forbidden": "is no field of this request",
    "value_error": "{error}",
}


class Shape(BaseModel):
    """An object of a document: no value is converted, no unknown field allowed."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    def to(self, kind: type[Value], **more: object) -> Value:
        """Build core's dataclass from the shape's fields; `more` overrides them."""
        names = {field.name for field in fields(kind)} - more.keys()  # type: ignore[arg-type]  # core's values are dataclasses
        return kind(**{name: getattr(self, name) for name in names}, **more)


#: An amount in units, made from micro-units.
Units = Annotated[float, BeforeValidator(from_micros)]


class Answer(BaseModel):
    """A body of a response.

    Where core or a record has another word for a field, that is its validation alias.
    """

    model_config = ConfigDict(from_attributes=True, extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Allow other fields in the schema: later versions may have more."""
        json_schema = handler.resolve_ref_schema(handler(schema))
        json_schema.pop("additionalProperties", None)
        return json_schema

    @classmethod
    def of(cls, *values: object, **more: object) -> Self:
        """Build the body from attributes of the given objects, and from `more`.

        A field that several objects have must stand in `more`. Values of fields become
        bodies too.
        """
        values_by_name = cls.collect(*values, **more)
        return cls.model_validate(values_by_name, by_alias=True, by_name=True)

    @classmethod
    def collect(cls, *values: object, **more: object) -> dict[str, Any]:
        """Return the values that `of` builds a body from.

        It serves a body inside another, which is validated together with that one.
        """
        values_by_name = dict(more)
        for name, sources in map_sources(cls, *map(type, values)).items():
            if name not in values_by_name and sources:
                assert len(sources) == 1, f"{name} stands in several objects"
                ((place, word),) = sources
                values_by_name[name] = getattr(values[place], word)
        return values_by_name


@cache
def map_sources(body: type[BaseModel], *kinds: type) -> dict[str, list[Source]]:
    """Return which classes have each field of a body, and their name for it."""
    words: dict[str, Any] = {
        name: field.validation_alias or name
        for name, field in body.model_fields.items()
    }
    return {
        name: [(at, word) for at, kind in enumerate(kinds) if has_field(kind, word)]
        for name, word in words.items()
    }


def has_field(kind: Any, name: str) -> bool:
    """Return whether a class declares an attribute or field."""
    declared = (
        *getattr(kind, "__dataclass_fields__", ()),
        *getattr(kind, "model_fields", ()),
    )
    return name in declared or hasattr(kind, name)


def read_items(raw: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Read a list's items; refuse at most the first `MAX_REFUSALS` wrong ones.

    The errors of millions of wrong items would take gigabytes.
    """
    errors: list[Any] = []
    start = 0
    while len(errors) < MAX_REFUSALS:
        try:
            items = read(raw[start:] if errors else raw)
        except ValidationError as error:
            details = error.errors(include_url=False)
            # A path without a position: the list itself is wrong, not an item.
            if not errors and not details[0]["loc"]:
                raise
            # The rest of the list breaks a rule on its length; the whole may not.
            if not details[0]["loc"]:
                break
            # `Many` stops at the first wrong item; go on behind it.
            start += int(details[0]["loc"][0])
            errors += (
                {**detail, "loc": (start, *detail["loc"][1:])} for detail in details
            )
            start += 1
        else:
            if not errors:
                return items
            break
    raise ValidationError.from_exception_data("list", errors)


#: A list of the document, a tuple of core's.
Many = Annotated[
    tuple[Item, ...], Strict(False), Field(fail_fast=True), WrapValidator(read_items)
]


def read_shape(shape: type[AnyShape], raw: object, root: str) -> AnyShape:
    """Read a document, or raise RefusedError; `root` begins every path."""
    try:
        return shape.model_validate(raw)
    except ValidationError as error:
        raise to_refused_error(error, root) from None


def check_version(raw: object, version: int, root: str, remedy: str) -> None:
    """Raise RefusedError with one refusal for a document of another version."""
    written = raw.get("version", version) if isinstance(raw, Mapping) else version
    if written != version:
        rule = f"must be {version}; {remedy}, or use the version of Askless that wrote"
        raise RefusedError([Refusal(f"{root}.version", f"{rule} it", shorten(written))])


def to_refused_error(error: ValidationError, root: str) -> RefusedError:
    """Return the first `MAX_REFUSALS` of pydantic's errors as a RefusedError."""
    refusals = []
    for detail in error.errors(include_url=False)[:MAX_REFUSALS]:
        context = detail.get("ctx", {})
        given = context.get("tag", detail["input"])
        is_plain = given is None or isinstance(given, str | int | float)
        shown = "" if detail["type"] == "missing" or not is_plain else shorten(given)
        place = [part for part in detail["loc"] if part not in KINDS]
        if detail["type"].startswith("union_tag"):
            place.append("kind")
        rule = rule_text(detail["type"], context)
        refusals.append(Refusal(path_text((root, *place)), rule, shown))
    return RefusedError(refusals)


def shape_of(
    dataclass_type: type,
    without: Sequence[str] = (),
    auto: Sequence[str] = (),
    base: type[BaseModel] = Shape,
) -> Any:
    """Return a shape with a dataclass's fields; those in `auto` may also be "auto"."""
    typed: dict[str, Any] = {
        parameter.name: (
            field_type(parameter, is_auto=parameter.name in auto),
            field_info(parameter),
        )
        for parameter in parameters_of(dataclass_type).values()
        if parameter.name not in without
    }
    return create_model(dataclass_type.__name__, __base__=base, **typed)


def field_type(parameter: Parameter, *, is_auto: bool) -> Any:
    """Return the type of a field: core's check, and a type for the OpenAPI document."""

    def check(raw: Any) -> Any:
        return raw if is_auto and raw == "auto" else parameter.check(raw)

    python_type: Any = parameter.kind
    schema_type: Any = parameter.kind
    if parameter.choices:
        schema_type = Literal[*parameter.choices]
    elif parameter.is_amount:
        schema_type = Annotated[float, Field(gt=0)]
    elif parameter.kind is not bool:
        schema_type = Annotated[
            parameter.kind,
            Interval(ge=parameter.least, gt=parameter.above, le=parameter.most),
        ]
    if is_auto:
        python_type, schema_type = Any, schema_type | Literal["auto"]
    if parameter.is_optional:
        python_type, schema_type = python_type | None, schema_type | None
    return Annotated[
        python_type, BeforeValidator(check, json_schema_input_type=schema_type)
    ]


def field_info(parameter: Parameter) -> Any:
    example = parameter.default
    return Field(
        default=parameter.default,
        description=parameter.text or None,
        examples=[example],
    )


def rule_text(kind: str, context: dict[str, Any]) -> str:
    """Return the text of the broken rule of an error, without the input."""
    words = {name: str(detail) for name, detail in context.items()}
    for choices in words.keys() & {"expected", "expected_tags"}:
        words[choices] = words[choices].replace("'", "").replace(" or ", ", ")
    return RULES.get(kind, "is not valid here").format_map(words)


def path_text(place: Place) -> str:
    """Write a path in a document as people do: answers[0].value."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part != KEY:
            # The caller chose the key: escape what can't be printed.
            shown = part if part.isprintable() else ascii(part)
            text += f".{shown}" if text else shown
    return text
