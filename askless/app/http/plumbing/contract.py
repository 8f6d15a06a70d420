"""Complete the OpenAPI document with what the framework can't know.

Most problems that a call may answer follow from its shape; a route adds its own with
`problem_docs`. Each status is listed with the types of problem that it may have.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from askless.app.documents.http.problems import Problem
from askless.app.http.plumbing.auth import KEY
from askless.app.http.plumbing.layers.errors import MEDIA_TYPE
from askless.app.problems import KINDS, problem_document

Json = dict[str, Any]

COMPONENTS = "#/components/"
OWN = "x-problems"
# The framework's schemas of wrong requests, which this service never returns.
FRAMEWORKS = ("HTTPValidationError", "ValidationError")
# Headers by status, and what they say.
HEADERS = {
    "201": {"Location": "Where the thing is that was made."},
    "202": {"Location": "Where the thing is that was begun."},
    "401": {"WWW-Authenticate": "How to say who calls."},
    "429": {"Retry-After": "In how many seconds to call again."},
    "503": {"Retry-After": "In how many seconds to call again."},
}
METHODS = frozenset(("get", "put", "post", "delete", "patch", "head", "options"))
TAGS = {
    "predict": "Sessions ask for one feature at a time, and predict after each answer.",
    "datasets": "Tables that are kept, to train on or to predict.",
    "trainings": "Jobs that make models of tables and prices.",
    "models": "Models by name and version, with card, curve and plan.",
    "challenges": "Refreshes, and what stands between a champion and its challenger.",
    "jobs": "Jobs that predict or measure whole tables.",
    "learning": "Jobs by which a model goes on learning from labelled rows.",
    "ledger": "What sessions were charged, and reversals.",
    "providers": "Services that values are bought from.",
    "calls": "Calls to providers, and how they were settled.",
    "keys": "Keys of callers: their scopes and limits.",
    "operations": "Whether the service is alive and ready, and its figures.",
}
RETRY: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": (
        "Any text, new for each request. Sent again with it, a request does nothing "
        "twice, and its answer is the first one."
    ),
    "example": "8f14e45fceea167a",
}
TAGGED: Json = {
    "ETag": {
        "description": "What the answer is of: for `If-Match` and `If-None-Match`.",
        "schema": {"type": "string"},
    }
}
REPLAYED: Json = {
    "Idempotent-Replayed": {
        "description": "Whether this is the answer that was given before.",
        "schema": {"type": "string", "enum": ["true"]},
    }
}


def problem_docs(*kinds: str) -> Json:
    """Return a route's `openapi_extra` that lists its own types of problem."""
    return {OWN: list(kinds)}


def complete_document(
    document: Json, bodies: Iterable[type[BaseModel]], nouns: Mapping[str, str]
) -> Json:
    """Complete an OpenAPI document in place and return it.

    `bodies` are models that no route's signature names.

    `nouns` maps a tag to the first half of the scope that its calls need.
    """
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    models: list[tuple[Any, Any]] = [
        (body, "validation") for body in (Problem, *bodies)
    ]
    _, definitions = models_json_schema(
        models, ref_template=f"{COMPONENTS}schemas/{{model}}"
    )
    for name, schema in definitions["$defs"].items():
        schemas.setdefault(name, schema)
    for schema in schemas.values():
        drop_defaults(schema)
    for name in FRAMEWORKS:
        schemas.pop(name, None)
    document["tags"] = [
        {"name": name, "description": text} for name, text in TAGS.items()
    ]
    shared = document["components"].setdefault("responses", {})
    for path, method, operation in list_operations(document):
        add_scope(method, operation, nouns)
        describe_streams(operation)
        drop_null(operation)
        add_tags(operation)
        if method == "post":
            operation.setdefault("parameters", []).append(RETRY)
        answered = [*operation.pop(OWN, ()), *common_kinds(path, method, operation)]
        for status, kinds in group_by_status(answered).items():
            name = "Or".join(kind.title().replace("-", "") for kind in kinds)
            shared[name] = build_response(kinds) | build_headers(status)
            ref = {"$ref": f"{COMPONENTS}responses/{name}"}
            operation["responses"][status] = ref
        responses = sorted(operation["responses"].items())
        operation["responses"] = {
            status: response if "$ref" in response else response | build_headers(status)
            for status, response in responses
        }
        if method == "post":
            add_replays(operation)
    return document


def add_scope(method: str, operation: Json, nouns: Mapping[str, str]) -> None:
    """Set the scope that a key needs for a call."""
    for tag in operation.get("tags", ()):
        if tag in nouns:
            right = "read" if method == "get" else "write"
            operation["security"] = [{KEY: [f"{nouns[tag]}:{right}"]}]


def add_tags(operation: Json) -> None:
    """Document the `ETag` header in the responses of a call that takes tags."""
    names = {parameter["name"] for parameter in operation.get("parameters", ())}
    if "if-none-match" in names:
        operation["responses"]["304"] = {"description": "The caller has it."}
    for status, response in operation["responses"].items():
        if names & {"if-match", "if-none-match"} and status in ("200", "304"):
            response["headers"] = TAGGED


def add_replays(operation: Json) -> None:
    """Document the header of a POST that marks a response as replayed."""
    for response in operation["responses"].values():
        if "$ref" not in response:
            response["headers"] = response.get("headers", {}) | REPLAYED


def list_operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield path, method and operation of each call."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method in METHODS:
                yield path, method, operation


def common_kinds(path: str, method: str, operation: Json) -> Iterator[str]:
    """Yield the types of problems that follow from a call's shape."""
    parameters = {
        parameter["name"].lower() for parameter in operation.get("parameters", ())
    }
    has_body = "requestBody" in operation
    if "security" in operation:
        yield from ("unauthorized", "forbidden", "too-many-requests")
    if method != "get":
        yield from ("foreign-origin", "too-large")
    if "{" in path:
        yield "not-found"
    if "if-match" in parameters:
        yield "version-mismatch"
    if has_body:
        yield "unsupported-media-type"
    if has_body or parameters:
        yield "invalid-request"
    if RETRY["name"].lower() in parameters:
        yield from ("idempotency-in-progress", "idempotency-mismatch")
    yield from ("unknown-host", "internal", "unavailable")


def group_by_status(kinds: Iterable[str]) -> dict[str, list[str]]:
    """Group types of problems by their status, each once."""
    grouped: dict[str, list[str]] = {}
    for kind in dict.fromkeys(kinds):
        grouped.setdefault(str(KINDS[kind].status), []).append(kind)
    return grouped


def build_response(kinds: Iterable[str]) -> Json:
    """Build the response of a status: its types of problem, with an example each."""
    titles = "\n".join(f"- `/problems/{kind}`: {KINDS[kind].title}." for kind in kinds)
    examples = {
        kind: {
            "summary": KINDS[kind].title,
            "value": problem_document(
                kind, None, KINDS[kind].status, request_id="req_5f0c"
            ),
        }
        for kind in kinds
    }
    schema = {"$ref": f"{COMPONENTS}schemas/{Problem.__name__}"}
    return {
        "description": f"A problem document (RFC 9457) of type\n\n{titles}",
        "content": {MEDIA_TYPE: {"schema": schema, "examples": examples}},
    }


def build_headers(status: str) -> Json:
    """Build the headers of responses with a status; most have none."""
    schema = {"type": "string"}
    headers = {
        name: {"description": description, "schema": schema}
        for name, description in HEADERS.get(status, {}).items()
    }
    return {"headers": headers} if headers else {}


def drop_defaults(schema: Json) -> None:
    """Remove defaults that are objects: client generators can't write them."""
    for field in schema.get("properties", {}).values():
        if isinstance(field.get("default"), dict):
            del field["default"]


def describe_streams(operation: Json) -> None:
    """Describe a stream of events as text: OpenAPI 3.1 has no schema for it."""
    for response in operation["responses"].values():
        for content in response.get("content", {}).values():
            if content.pop("itemSchema", None) is not None:
                content["schema"] = {"type": "string"}


def drop_null(operation: Json) -> None:
    """Remove null from the types of parameters: callers leave out absent ones."""
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        match [
            variant
            for variant in schema.get("anyOf", ())
            if variant != {"type": "null"}
        ]:
            case [only]:
                del schema["anyOf"]
                parameter["schema"] = only | schema
