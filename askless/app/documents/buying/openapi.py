"""Draft providers from an OpenAPI file: one for each operation that answers JSON."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from askless.app.documents.buying.providers import MAX_ITEMS, Provider
from askless.app.documents.buying.schemas import (
    MOST_DEPTH,
    References,
    Schema,
    is_single,
    list_fields,
    list_leaves,
    name_leaves,
)
from askless.app.documents.shape import read_shape
from askless.core.errors import Refusal, RefusedError

VERSION = re.compile(r"3\.[01](\.|$)")
VERSION_RULE = "must be of OpenAPI 3.0 or 3.1"
METHODS = ("get", "post", "put")
OTHER_METHODS = ("delete", "patch", "head", "options", "trace")
ANSWERS = ("200", "2XX", "2xx", "201", "default")
NO_SERVER = "https://api.example"
NO_SERVER_NOTE = (
    "request.url: the file names no server; put the vendor's address instead of "
    f"{NO_SERVER}"
)
# Fields of a path that hold for all of its operations.
SHARED: tuple[str, ...] = ("servers", "parameters")
# Headers of parameters that OpenAPI says to ignore, and those of the connection.
IGNORED_HEADERS = ("accept", "content-type", "authorization", "host")
MAX_NAME = 100


class DraftedProviders(NamedTuple):
    """Drafts of providers by name, and notes to read before they are put."""

    providers: dict[str, Schema]
    notes: list[str]


@dataclass
class RequestDraft:
    """The request of an operation, while it is being drafted."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> Schema:
        """Return the request without what is empty."""
        parts = {"headers": self.headers, "query": self.query, "json": self.body}
        filled = {name: part for name, part in parts.items() if part}
        return {"method": self.method, "url": self.url, **filled}


def draft_providers(document: object) -> DraftedProviders:
    """Return a draft for each suitable operation; raise RefusedError if there is none.

    `fills` is the name of the draft and `price` is null: only a person knows them.
    """
    if not isinstance(document, Mapping) or not VERSION.match(
        str(document.get("openapi", ""))
    ):
        raise RefusedError([Refusal("openapi", VERSION_RULE)])
    references = References(document)
    drafted, remarks = dict[str, Schema](), list[str]()
    for path, method, operation in list_operations(references):
        place = f"{method.upper()} {path}"
        name = name_draft(operation, method, path, drafted)
        try:
            draft, notes = draft_provider(references, operation, (path, method))
            provider = {"fills": name, **draft, "price": None}
            read_shape(Provider, provider, name)
        except UnsuitableError as error:
            remarks.append(f"{place} is left out: {error}")
        except RefusedError as error:
            remarks.append(f"{place} is left out: {error.refusals[0]}")
        else:
            drafted[name] = provider
            remarks += [f"{name}: {note}" for note in notes]
    if not drafted:
        rule = "must have an operation by GET, POST or PUT that answers JSON"
        raise RefusedError([Refusal("paths", rule, "; ".join(remarks[:3]))])
    return DraftedProviders(drafted, remarks)


class UnsuitableError(Exception):
    """A provider can't call this operation."""


def list_operations(references: References) -> Iterator[tuple[str, str, Schema]]:
    """Yield path, method and operation, merged with the fields of its path."""
    for path, raw in references.get(references.document, "paths").items():
        item = references.resolve(raw)
        shared = {name: item[name] for name in SHARED if name in item}
        for method in (*METHODS, *OTHER_METHODS):
            operation = references.resolve(item.get(method))
            if operation:
                yield str(path), method, merge(shared, operation)


def merge(shared: Schema, operation: Schema) -> Schema:
    """Return an operation with the servers and parameters of its path."""
    both = [*as_list(shared.get("parameters")), *as_list(operation.get("parameters"))]
    return {**shared, **operation, "parameters": both}


def name_draft(
    operation: Schema, method: str, path: str, taken: Mapping[str, Schema]
) -> str:
    """Return a name for an operation that no other draft has."""
    text = str(operation.get("operationId") or f"{method}-{path}")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text).lower()
    plain = re.sub(r"[^a-z0-9_]+", "-", words).strip("-_")[: MAX_NAME - 5] or method
    number, name = 1, plain
    while name in taken:
        number += 1
        name = f"{plain}-{number}"
    return name


def draft_provider(
    references: References, operation: Schema, place: tuple[str, str]
) -> tuple[Schema, list[str]]:
    """Return request and `read` of an operation, and notes; raise UnsuitableError."""
    path, method = place
    references.n_flattened = 0
    if method not in METHODS:
        raise UnsuitableError("a provider is called by GET, POST or PUT")
    answer = find_answer(references, operation)
    leaves = [*list_leaves(references, answer)]
    if not leaves:
        raise UnsuitableError("its answer names no text, number or boolean")
    request = RequestDraft(method.upper(), "")
    write_url(references, request, operation, path)
    write_parameters(references, request, operation)
    write_body(references, request, operation)
    write_security(references, request, operation)
    if len(leaves) > MAX_ITEMS:
        note = f"only the first {MAX_ITEMS} values of its answer are read"
        request.notes.append(note)
    read = name_leaves(leaves[:MAX_ITEMS])
    return {"request": request.to_json(), "read": read}, request.notes


def find_answer(references: References, operation: Schema) -> Schema:
    """Return the schema of what an operation answers; raise UnsuitableError."""
    responses = references.get(operation, "responses")
    status = next((status for status in ANSWERS if status in responses), "200")
    response = references.get(responses, status)
    schema = json_schema(references, response)
    if schema is None:
        raise UnsuitableError("it has no answer in JSON")
    return schema


def json_schema(references: References, owner: Schema) -> Schema | None:
    """Return the schema of a body in JSON; None: the body is of other types."""
    for kind, content in references.get(owner, "content").items():
        plain = str(kind).partition(";")[0].strip().lower()
        if plain in ("application/json", "*/*") or plain.endswith("+json"):
            return references.resolve(references.resolve(content).get("schema"))
    return None


def write_url(
    references: References, request: RequestDraft, operation: Schema, path: str
) -> None:
    """Write the address: the first server's, then the path with its keys."""
    servers = as_list(operation.get("servers")) or as_list(
        references.document.get("servers")
    )
    server = references.resolve(servers[0]) if servers else {}
    address = str(server.get("url") or "")
    for name, variable in references.get(server, "variables").items():
        default = str(references.resolve(variable).get("default", ""))
        address = address.replace(f"{{{name}}}", default)
    if urlsplit(address).scheme not in ("http", "https"):
        request.notes.append(NO_SERVER_NOTE)
        address = urljoin(NO_SERVER, address)
    keys = re.sub(r"\{([^{}]*)\}", lambda part: f"{{key.{key_name(part[1])}}}", path)
    request.url = f"{escape(address.rstrip('/'))}/{keys.lstrip('/')}"


def write_parameters(
    references: References, request: RequestDraft, operation: Schema
) -> None:
    """Write the required parameters of query and headers.

    If none is required and there is no body, the whole query is written.
    """
    by_place = {}
    for raw in as_list(operation.get("parameters")):
        parameter = references.resolve(raw)
        by_place[parameter.get("in"), str(parameter.get("name"))] = parameter
    needs_some = "{key." not in request.url and "requestBody" not in operation
    required = [entry for entry in by_place.values() if entry.get("required") is True]
    left_out = []
    for (place, name), parameter in by_place.items():
        is_wanted = parameter.get("required") is True
        has_default = only_value(references.get(parameter, "schema")) is not None
        may_help = needs_some and not required and not has_default
        if place == "query" and (is_wanted or may_help):
            request.query[name] = parameter_text(references, parameter, "key")
        elif place == "header" and is_wanted and name.lower() not in IGNORED_HEADERS:
            request.headers[name] = parameter_text(references, parameter, "secret")
        elif place in ("query", "header") and not is_wanted:
            left_out.append(name)
    if left_out:
        request.notes.append(f"parameters left out: {', '.join(left_out[:20])}")


def parameter_text(references: References, parameter: Schema, kind: str) -> str:
    """Return what stands for a parameter: its only value, or a placeholder."""
    schema = references.resolve(parameter.get("schema"))
    literal = only_value(schema)
    if literal is not None:
        return escape(str(literal))
    name = str(parameter.get("name"))
    return f"{{{kind}.{key_name(name) if kind == 'key' else secret_name(name)}}}"


def only_value(schema: Schema) -> Any:
    """Return the only value that a schema allows, or its default, or None."""
    values = as_list(schema.get("enum"))
    return schema.get("const", values[0] if len(values) == 1 else schema.get("default"))


def write_body(
    references: References, request: RequestDraft, operation: Schema
) -> None:
    """Write a body in JSON with a key for each value; raise UnsuitableError."""
    if "requestBody" not in operation:
        return
    if request.method == "GET":
        raise UnsuitableError("it sends a body by GET")
    owner = references.resolve(operation["requestBody"])
    schema = json_schema(references, owner)
    if schema is None:
        raise UnsuitableError("it takes no JSON")
    request.body = template_of(references, schema, "body", 0)


def template_of(references: References, schema: Schema, name: str, depth: int) -> Any:
    """Return the template of a value; None if it has no single values.

    Objects and lists keep their form, with a key for each single value.
    """
    flat = references.flatten(schema)
    literal = only_value(flat)
    if literal is not None:
        return escape(literal) if isinstance(literal, str) else literal
    if is_single(flat):
        return f"{{key.{key_name(name)}}}"
    if depth == MOST_DEPTH:
        return None
    if "properties" in flat:
        parts = {
            part: template_of(references, nested, part, depth + 1)
            for part, nested in list_fields(references, flat)
        }
        return {part: text for part, text in parts.items() if text is not None}
    items = template_of(references, references.get(flat, "items"), name, depth + 1)
    return None if items is None else [items]


def write_security(
    references: References, request: RequestDraft, operation: Schema
) -> None:
    """Write the first way of authentication, by secrets."""
    ways = operation.get("security", references.document.get("security"))
    first = references.resolve((as_list(ways) or [{}])[0])
    components = references.get(references.document, "components")
    schemes = references.get(components, "securitySchemes")
    vendor = str(references.get(references.document, "info").get("title") or "")
    for name in first:
        scheme = references.get(schemes, name)
        named = secret_name(f"{vendor[:30]}_{name}")
        secret = f"{{secret.{named}}}"
        kind, word = scheme.get("type"), str(scheme.get("scheme", "")).lower()
        if kind == "apiKey" and scheme.get("in") == "query":
            request.query[str(scheme.get("name"))] = secret
        elif kind == "apiKey" and scheme.get("in") == "cookie":
            request.headers["Cookie"] = f"{scheme.get('name')}={secret}"
        elif kind == "apiKey":
            request.headers[str(scheme.get("name"))] = secret
        elif kind == "http" and word == "basic":
            request.headers["Authorization"] = f"Basic {secret}"
            request.notes.append(f"{named} is base64 of user:password")
        else:
            request.headers["Authorization"] = f"Bearer {secret}"
        if kind in ("oauth2", "openIdConnect"):
            request.notes.append(f"{named} is an access token; nobody renews it")


def key_name(text: str) -> str:
    """Return a text as the name of a key."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", text)[:MAX_NAME]
    return plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"[:MAX_NAME]


def secret_name(text: str) -> str:
    """Return a text as the name of a secret: API_KEY of apiKey."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return key_name(words).upper().strip("_") or "SECRET"


def escape(text: str) -> str:
    """Return a text in which braces stand for themselves."""
    return re.sub(r"[{}]", lambda brace: brace.group() * 2, text)


def as_list(raw: object) -> list[Any]:
    return raw if isinstance(raw, list) else []
