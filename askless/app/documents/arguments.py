"""Read the arguments of a tool as its schema means them.

Some programs of agents send each argument as a text, or null for what they leave out.
"""

from collections.abc import Iterator
from typing import Any

from askless.app.documents.text import parse_json
from askless.core.errors import RefusedError

Json = dict[str, Any]
# The types of JSON by their names in schemas; an integer is a number, too.
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def read_arguments(schema: Json, arguments: Json | None) -> Any:
    """Return the arguments with the types that the schema has for them.

    Where it has no text, a text of JSON is what it says: a number, an object, a list,
    true or false. Null is left out, but where a field must be there. What does not fit
    stays as it is, to be refused with its rule.
    """
    return read_value(schema, schema.get("$defs", {}), arguments or {})


def read_value(schema: Json, named: Json, value: Any) -> Any:
    options = [*list_options(schema, named)]
    if isinstance(value, str) and not any(map(is_text, options)):
        value = parse_text(value, options)
    option = next((option for option in options if has_type(option, value)), None)
    if option is None:
        return value
    if isinstance(value, list) and "items" in option:
        return [read_value(option["items"], named, item) for item in value]
    if isinstance(value, dict):
        fields = {
            name: read_value(field_schema(option, name), named, item)
            for name, item in value.items()
        }
        required = option.get("required", ())
        return {
            name: field
            for name, field in fields.items()
            if field is not None or name in required
        }
    return value


def field_schema(schema: Json, name: str) -> Json:
    """Return the schema of a field of an object; {} where any value is allowed."""
    if name in schema.get("properties", ()):
        field: Json = schema["properties"][name]
        return field
    # All values of a map have one schema.
    others = [*schema.get("patternProperties", {}).values()]
    others.append(schema.get("additionalProperties"))
    return next((other for other in others if isinstance(other, dict)), {})


def list_options(schema: Json, named: Json) -> Iterator[Json]:
    """Yield the schemas of which a value has to fit one."""
    if "$ref" in schema:
        yield from list_options(named[schema["$ref"].rpartition("/")[2]], named)
    for option in schema.get("anyOf", ()):
        yield from list_options(option, named)
    if "$ref" not in schema and "anyOf" not in schema:
        yield schema


def is_text(option: Json) -> bool:
    """Return whether a schema takes texts; one without a type takes anything."""
    return bool(option.get("type", "string") == "string")


def has_type(option: Json, value: Any) -> bool:
    is_number_named = isinstance(value, bool) and option.get("type") != "boolean"
    return not is_number_named and isinstance(
        value, TYPES.get(option.get("type", ""), ())
    )


def parse_text(text: str, options: list[Json]) -> Any:
    """Return what a text of JSON says, if it is null or has a type of a schema."""
    try:
        value = parse_json(text, "argument")
    except RefusedError:
        return text
    fits = value is None or any(has_type(option, value) for option in options)
    return value if fits else text
