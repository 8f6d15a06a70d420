"""The seven tools: each checks its arguments and asks one function of the service.

Agents read compact JSON, and schemas without what only people need.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel

from askless.app.documents.arguments import read_arguments
from askless.app.documents.buying.receipts import Receipt
from askless.app.documents.buying.runs import RunTerms
from askless.app.documents.http import ledger as ledger_bodies
from askless.app.documents.http import sessions as bodies
from askless.app.documents.shape import Answer, Shape
from askless.app.doors.mcp import shapes
from askless.app.doors.mcp.calls import Call, CallRefusedError, Host
from askless.app.doors.mcp.resources import uri_of
from askless.app.http.plumbing.buying.runs import wait_for_end
from askless.app.http.plumbing.deps import make_moment
from askless.app.records import LedgerFilter, ModelHead
from askless.app.service import ledger as ledger_service
from askless.app.service import models
from askless.app.service import sessions as service
from askless.app.service.buying import receipts, starts
from askless.app.service.sessions import answering
from askless.app.service.sessions.opened import ErasedSession, OpenSession
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.prices import from_micros
from askless.core.model.model import Model

# pydantic adds them to every field; the field's name and description say as much.
LEFT_OUT = ("title", "examples")


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def compact_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without titles and examples; what it allows stays the same."""
    compact: dict[str, Any] = {}
    for word, value in schema.items():
        if word in LEFT_OUT:
            continue
        # The keys of these are names of fields, which may be any word.
        if word in ("properties", "$defs", "patternProperties"):
            compact[word] = {name: compact_schema(part) for name, part in value.items()}
        elif isinstance(value, dict):
            compact[word] = compact_schema(value)
        elif isinstance(value, list):
            compact[word] = [
                compact_schema(part) if isinstance(part, dict) else part
                for part in value
            ]
        else:
            compact[word] = value
    return compact


Context = ServerRequestContext[Host, Any]


class ToolEntry(NamedTuple):
    """A tool: what it is called, takes and gives, the scope it needs, what it does."""

    title: str
    text: str
    scope: str
    shape: type[Shape]
    body: type[Answer]
    hints: ToolAnnotations
    act: Callable[[Call, Any], Awaitable[Answer]]


async def list_models(call: Call, asked: shapes.ModelsShape) -> shapes.ListedModels:
    def read(db: Transaction) -> shapes.ListedModels:
        page = models.page(db, asked.limit, asked.after)
        listed = [
            view_model(head, models.load(db, call.state.loaded, head.id))
            for head in page.items
        ]
        return shapes.ListedModels(items=listed, next=page.next)

    return await call.read(read)


def view_model(head: ModelHead, model: Model) -> shapes.ListedModel:
    """Return a model in short, for agents that are handed no resources."""
    ensemble = model.ensemble
    catalogue = ensemble.catalogue
    used = zip(catalogue.features, ensemble.is_used, strict=True)
    return shapes.ListedModel.of(
        head,
        model,
        catalogue,
        name=head.name,
        classes=[label.display for label in ensemble.classes],
        features=[
            shapes.ListedFeature.of(feature) for feature, is_used in used if is_used
        ],
        error=None if model.curve is None else float(model.curve.errors_calibrated[-1]),
        card=uri_of(head.id, "card"),
        curve=uri_of(head.id, "curve"),
    )


async def start_case(call: Call, asked: bodies.PredictRequest) -> shapes.CaseView:
    state, at = call.state, make_moment(call.request)
    return await call.change(
        lambda db: service.start(db, state.loaded, asked, at),
        lambda opened: view_case(call, opened),
    )


async def decide(call: Call, asked: shapes.DecideShape) -> Receipt:
    """Start a run, or find it again; wait, and return what it has come to."""
    state, at, case = call.state, make_moment(call.request), asked.case
    if case is None:
        wish = bodies.PredictRequest(
            model=asked.model or "",
            # The request reads an amount of money, as agents write it.
            budget=None if asked.budget is None else from_micros(asked.budget),  # type: ignore[arg-type]
            keys=asked.keys,
            known=asked.known,
            run=RunTerms(),
        )
        start = starts.RunStart(wish, state.settings.provider_hosts)
        opened = await call.change(
            lambda db: starts.start(db, state.loaded, start, at), lambda made: made
        )
        case = opened.session.id
    about = call.on_case(case, None)
    await call.read(lambda db: receipts.show_receipt(db, about))
    await wait_for_end(call.request, case, asked.wait_s)
    receipt = await call.read(lambda db: receipts.show_receipt(db, about))
    call.fields["session"] = case
    return receipt


async def answer(call: Call, asked: shapes.AnswerShape) -> shapes.CaseView:
    given = bodies.AnswersRequest(
        answers=list(asked.answers),
        insist=asked.insist,
        accept_unseen=asked.accept_unseen,
    )
    return await send_answers(call, asked, given)


async def correct_or_refuse(call: Call, asked: shapes.RevisionShape) -> shapes.CaseView:
    return await send_answers(call, asked, asked.to_answers())


async def stop_case(call: Call, asked: shapes.CaseShape) -> shapes.CaseView:
    about = call.on_case(asked.case, asked.version)
    return await call.change(
        lambda db: service.stop(db, about), lambda opened: view_case(call, opened)
    )


async def ledger(call: Call, asked: shapes.LedgerShape) -> ledger_bodies.LedgerPage:
    case = asked.case
    if case is None:
        return await call.read(
            lambda db: ledger_service.get_page_with_sums(
                db, asked.limit, asked.after, LedgerFilter()
            )
        )
    page = await call.read(lambda db: ledger_service.list_of_session(db, case))
    # Only now is it known to be an id, and safe to log.
    call.fields["session"] = case
    return page


async def send_answers(
    call: Call, asked: shapes.CaseShape, given: bodies.AnswersRequest
) -> shapes.CaseView:
    about = call.on_case(asked.case, asked.version)
    return await call.change(
        lambda db: answering.answer(db, about, given),
        lambda done: view_case(call, done[0], from_micros(done[1])),
    )


def view_case(
    call: Call, opened: OpenSession | ErasedSession, charged: float = 0.0
) -> shapes.CaseView:
    """Return a case as the tools show it; add its fields to the log."""
    case = shapes.CaseView.of_session(opened.view, charged)
    fields = {"session": case.case, "model": opened.session.model_id}
    call.fields.update(
        fields, charged=charged, remaining=case.remaining, unit=case.unit
    )
    return case


READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
STARTS = ToolAnnotations(
    read_only_hint=False,
    destructive_hint=False,
    idempotent_hint=False,
    open_world_hint=False,
)
# The same answer a second time changes nothing, and is charged once.
ADDS = STARTS.model_copy(update={"idempotent_hint": True})
REPLACES = ADDS.model_copy(update={"destructive_hint": True})

TOOLS = {
    "list_models": ToolEntry(
        "List models",
        "List the models that cases can be worked through with, newest first: what "
        "each predicts, from which features, and how often it errs. Its resources "
        "`card` and `curve` tell all of it, and its error for each budget.",
        "models:read",
        shapes.ModelsShape,
        shapes.ListedModels,
        READS,
        list_models,
    ),
    "start_case": ToolEntry(
        "Start a case",
        "Start a case with a model under a budget. Gives the first question with its "
        "price. Nothing is charged until an answer comes; `known` values are free.",
        "predict:write",
        bodies.PredictRequest,
        shapes.CaseView,
        STARTS,
        start_case,
    ),
    "decide": ToolEntry(
        "Decide a case by buying",
        "Let the service buy by itself, from its providers, what is worth its price, "
        "until the case is decided or the budget, your cap, is spent. Gives the "
        "receipt: the decision, what was bought and what was not, with prices and "
        "reasons. While its `state` is open it still buys: call again with `case`.",
        "predict:write",
        shapes.DecideShape,
        Receipt,
        STARTS.model_copy(update={"open_world_hint": True}),
        decide,
    ),
    "answer": ToolEntry(
        "Answer the question",
        "Give the value that was obtained for the question's feature, or for several. "
        "It is charged at the question's price, never above the budget. Gives the next "
        "question. The same again changes nothing, and is charged once.",
        "predict:write",
        shapes.AnswerShape,
        shapes.CaseView,
        ADDS,
        answer,
    ),
    "correct_or_refuse": ToolEntry(
        "Correct a value, or say that none comes",
        "Say of one feature that its value is refused, unavailable or unknown, or give "
        "the right value of one that was answered wrongly. A feature that was paid for "
        "is not charged again. Gives the next question.",
        "predict:write",
        shapes.RevisionShape,
        shapes.CaseView,
        REPLACES,
        correct_or_refuse,
    ),
    "stop_case": ToolEntry(
        "Stop a case",
        "End a case. What was predicted and charged stands, and results that were "
        "ordered may still come in.",
        "predict:write",
        shapes.CaseShape,
        shapes.CaseView,
        REPLACES,
        stop_case,
    ),
    "ledger": ToolEntry(
        "Show the charges",
        "List what was charged and reversed, of one case or of all, with the sums.",
        "ledger:read",
        shapes.LedgerShape,
        ledger_bodies.LedgerPage,
        READS,
        ledger,
    ),
}


def describe_tool(name: str, entry: ToolEntry) -> Tool:
    shape: type[BaseModel] = entry.shape
    return Tool(
        name=name,
        title=entry.title,
        description=entry.text,
        input_schema=compact_schema(shape.model_json_schema()),
        output_schema=compact_schema(
            entry.body.model_json_schema(mode="serialization")
        ),
        annotations=entry.hints,
    )


DESCRIBED = {name: describe_tool(name, entry) for name, entry in TOOLS.items()}


def input_schema_of(name: str) -> dict[str, Any] | None:
    tool = DESCRIBED.get(name)
    return None if tool is None else tool.input_schema


async def list_tools(
    context: Context, params: PaginatedRequestParams | None
) -> ListToolsResult:
    del context, params
    return ListToolsResult(tools=list(DESCRIBED.values()))


async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
    """Do what a tool does; what is refused is a result that says so to the agent."""
    entry = TOOLS.get(params.name)
    if entry is None:
        raise MCPError(
            INVALID_PARAMS, f"There is no such tool, only {', '.join(TOOLS)}"
        )

    async def act(call: Call) -> Answer:
        arguments = read_arguments(
            DESCRIBED[params.name].input_schema, params.arguments
        )
        asked = entry.shape.model_validate(arguments)
        return await entry.act(call, asked)

    host = context.lifespan_context
    try:
        body = await host.serve(context, params.name, entry.scope, act)
    except CallRefusedError as refused:
        text = TextContent(text=json_text(refused.problem))
        return CallToolResult(content=[text], is_error=True)
    document = body.model_dump(mode="json")
    return CallToolResult(
        content=[TextContent(text=json_text(document))], structured_content=document
    )
