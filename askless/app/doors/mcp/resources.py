"""The resources: a model's card and curve, and a case with all that is known of it."""

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, unquote

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from askless.app.documents.shape import Answer
from askless.app.doors.mcp.calls import Call, CallRefusedError, Host
from askless.app.service import models
from askless.app.service import sessions as service
from askless.app.store.database.transactions import Transaction

Context = ServerRequestContext[Host, Any]
JSON = "application/json"
# Of the models, each of which has two resources.
PAGE = 50


class ResourceEntry(NamedTuple):
    """A kind of resource: its address, its scope, and what it holds."""

    address: str
    title: str
    text: str
    scope: str
    read: Callable[[Transaction, Call, str], Answer]


RESOURCES = {
    "card": ResourceEntry(
        "askless://models/{model}/card",
        "Model card",
        "What a model predicts, its features with their prices, and its training.",
        "models:read",
        lambda db, call, name: models.get(db, call.state.loaded, name),
    ),
    "curve": ResourceEntry(
        "askless://models/{model}/curve",
        "Error against budget",
        "The error and the mean spend of a model for each budget, on held-out rows.",
        "models:read",
        lambda db, call, name: models.get_curve(db, call.state.loaded, name),
    ),
    "case": ResourceEntry(
        "askless://cases/{case}",
        "Case",
        "A case with its question, its answers and what each did to the chances.",
        "predict:read",
        lambda db, call, name: service.get(db, call.on_case(name)),
    ),
}
ADDRESSES = {
    name: re.compile(re.sub(r"\{\w+\}", "([^/?#]{1,600})", entry.address))
    for name, entry in RESOURCES.items()
}


def uri_of(name: str, kind: Literal["card", "curve"]) -> str:
    return re.sub(r"\{\w+\}", quote(name, safe=""), RESOURCES[kind].address)


async def list_templates(
    context: Context, params: PaginatedRequestParams | None
) -> ListResourceTemplatesResult:
    del context, params
    described = [
        ResourceTemplate(
            name=name,
            title=entry.title,
            description=entry.text,
            uri_template=entry.address,
            mime_type=JSON,
        )
        for name, entry in RESOURCES.items()
    ]
    return ListResourceTemplatesResult(resource_templates=described)


async def list_resources(
    context: Context, params: PaginatedRequestParams | None
) -> ListResourcesResult:
    """List the card and the curve of each model, newest first."""
    after = None if params is None else params.cursor

    async def act(call: Call) -> ListResourcesResult:
        page = await call.read(lambda db: models.page(db, PAGE, after))
        listed = [
            Resource(
                name=f"{item.name}@{item.version} {kind}",
                title=f"{RESOURCES[kind].title}: {item.name}, version {item.version}",
                description=RESOURCES[kind].text,
                uri=uri_of(item.id, kind),
                mime_type=JSON,
            )
            for item in page.items
            for kind in ("card", "curve")
        ]
        return ListResourcesResult(resources=listed, next_cursor=page.next)

    try:
        return await context.lifespan_context.serve(
            context, "resources", "models:read", act
        )
    except CallRefusedError as refused:
        raise refused.to_protocol() from None


async def read_resource(
    context: Context, params: ReadResourceRequestParams
) -> ReadResourceResult:
    address = str(params.uri)
    matches = (
        (name, pattern.fullmatch(address)) for name, pattern in ADDRESSES.items()
    )
    kind, name = next(
        ((kind, unquote(match[1])) for kind, match in matches if match), ("", "")
    )
    # No name has it, and PostgreSQL takes no text with it.
    if not kind or "\0" in name:
        known = ", ".join(resource.address for resource in RESOURCES.values())
        raise MCPError(INVALID_PARAMS, f"There is no such resource, only {known}")
    entry = RESOURCES[kind]

    async def act(call: Call) -> Answer:
        return await call.read(lambda db: entry.read(db, call, name))

    try:
        body = await context.lifespan_context.serve(context, kind, entry.scope, act)
    except CallRefusedError as refused:
        raise refused.to_protocol() from None
    text = body.model_dump_json(by_alias=True)
    contents = TextResourceContents(uri=params.uri, mime_type=JSON, text=text)
    return ReadResourceResult(contents=[contents])
