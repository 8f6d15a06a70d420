"""Write the reference of the HTTP API from its OpenAPI document, as Markdown."""

import json
import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

BODIES = "reference-bodies.md"
METHODS = ("get", "post", "put", "patch", "delete")


def describe_operations(document: Json) -> str:
    """Return a page of all operations, by their tags."""
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                text = "\n\n".join(describe_operation(method, path, operation))
                by_tag.setdefault(operation["tags"][0], []).append(text)
    parts = [f"# The HTTP API\n\n{plain(document['info']['description'])}"]
    for tag, texts in by_tag.items():
        parts += [f"## {tag.capitalize()}", *texts]
    return "\n\n".join(parts) + "\n"


def describe_operation(method: str, path: str, operation: Json) -> Iterator[str]:
    """Yield the parts of an operation: its words, parameters, body and answers."""
    yield f"### `{method.upper()} {path}`"
    yield f"{operation['summary']}. {plain(operation.get('description', ''))}".strip()
    scopes = [
        scope for way in operation.get("security", ()) for scope in way.get("key", ())
    ]
    if scopes:
        yield "Scope of the key: " + ", ".join(f"`{scope}`" for scope in scopes) + "."
    rows = [
        (
            f"`{parameter['name']}`",
            parameter["in"],
            kind_of(parameter["schema"]),
            plain(parameter.get("description", "")),
        )
        for parameter in operation.get("parameters", ())
    ]
    if rows:
        yield table(("parameter", "in", "type", "meaning"), rows)
    body = operation.get("requestBody", {}).get("content", {})
    if body:
        yield "Body: " + describe_content(body) + "."
    answers = [
        (status, plain(answer["description"]), describe_content(answer["content"]))
        for status, answer in operation["responses"].items()
        if "content" in answer
    ]
    if answers:
        yield table(("status", "when", "body"), answers)
    refused = [
        status for status, answer in operation["responses"].items() if "$ref" in answer
    ]
    if refused:
        yield f"Problem documents: {', '.join(refused)}."


def describe_content(content: Json) -> str:
    """Return the kinds of a body, each with its media type."""
    return ", ".join(
        f"{kind_of(media.get('schema', {}))} (`{name}`)"
        for name, media in content.items()
    )


def describe_bodies(document: Json) -> str:
    """Return a page of all JSON bodies with their fields."""
    parts = ["# Bodies of the HTTP API", "The JSON of requests and answers, by name."]
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts += [f"## {name}", plain(schema.get("description", ""))]
        fields = schema.get("properties")
        if not fields:
            parts.append(kind_of(schema))
            continue
        required = schema.get("required", ())
        rows = [
            (
                f"`{field}`" + (", required" if field in required else ""),
                kind_of(described),
                plain(described.get("description", "")),
            )
            for field, described in fields.items()
        ]
        parts.append(table(("field", "type", "meaning"), rows))
    return "\n\n".join(part for part in parts if part) + "\n"


def kind_of(schema: Json) -> str:
    """Return what a value of a schema is, with a link where it has a name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}]({BODIES}#{name.lower()})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(kind_of(option) for option in schema[several])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(choice)}`" for choice in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {kind_of(schema.get('items', {}))}"
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return f"object of {kind_of(values)}"
    kind = schema.get("type", "any value")
    return kind if isinstance(kind, str) else " or ".join(kind)


def plain(text: str) -> str:
    """Return a description whose links into a server are code: no page has them."""
    return re.sub(r"\[([^]]+)\]\(/[^)]*\)", r"`\1`", text)


def table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table; a cell is one line."""
    lines = [titles, ("---",) * len(titles), *rows]
    return "\n".join(
        "| "
        + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in line)
        + " |"
        for line in lines
    )
