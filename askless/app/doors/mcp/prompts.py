"""The prompt: how an agent works through a case under a budget."""

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from askless.app.documents.http.models import Model
from askless.app.documents.http.sessions import PredictRequest
from askless.app.doors.mcp.calls import Call, CallRefusedError, Host
from askless.app.service import models

Context = ServerRequestContext[Host, Any]
UNLIMITED = "unlimited"
NAME = "work_through_a_case"
PROMPT = Prompt(
    name=NAME,
    title="Work through a case under a budget",
    description="Obtain one value at a time, each for its price, until more are not "
    "worth it; then say what is predicted, how surely, and what was spent.",
    arguments=[
        PromptArgument(
            name="model", description="A model's name or id.", required=True
        ),
        PromptArgument(
            name="budget",
            description=f"Most that may be charged, or `{UNLIMITED}`.",
            required=True,
        ),
        PromptArgument(
            name="facts", description="What is known of the case, in any words."
        ),
    ],
)
TEXT = """\
Work through one case with the model `{name}`, which predicts {target} ({classes}), and
spend {budget} on it at most.

1. Call `start_case` with model `{model}` and budget {number}. Put into `known` only
   what is given below; known values are free. Its features: {features}.
2. Each result has one `question` with its `price`. Obtain that value, from the person
   or by the means you have, and never guess it. Give it to `answer`. If it is on its
   way, give the outcome `ordered`.
3. If it is not to be had, call `correct_or_refuse` with `refused`, `unavailable` or
   `unknown`. If a value turns out wrong, give the right one there.
4. Go on until `should_stop` is true or `question` is null; then call `stop_case`. An
   answer that got no result may be sent again: it is not charged twice.
5. Say the `label` with its `chance`, why it ended (`stop_words`), and what was spent;
   `ledger` lists the charges. A chance is a model's estimate, no certainty.

Known of the case: {facts}"""


async def list_prompts(
    context: Context, params: PaginatedRequestParams | None
) -> ListPromptsResult:
    del context, params
    return ListPromptsResult(prompts=[PROMPT])


async def get_prompt(
    context: Context, params: GetPromptRequestParams
) -> GetPromptResult:
    if params.name != NAME:
        raise MCPError(INVALID_PARAMS, f"There is no such prompt, only {NAME}")
    given = params.arguments or {}
    assert PROMPT.arguments is not None
    known = [argument.name for argument in PROMPT.arguments]
    needed = [argument.name for argument in PROMPT.arguments if argument.required]
    if not set(given) <= set(known) or not set(needed) <= set(given):
        raise MCPError(INVALID_PARAMS, f"Its arguments are {', '.join(known)}")

    async def act(call: Call) -> GetPromptResult:
        budget = budget_from_text(given["budget"])
        # Checked by the very rules of the call that it leads to.
        asked = PredictRequest(model=given["model"], budget=budget)
        model = await call.read(
            lambda db: models.get(db, call.state.loaded, asked.model)
        )
        content = TextContent(text=write_prompt(model, given))
        message = PromptMessage(role="user", content=content)
        return GetPromptResult(description=PROMPT.description, messages=[message])

    try:
        return await context.lifespan_context.serve(context, NAME, "models:read", act)
    except CallRefusedError as refused:
        raise refused.to_protocol() from None


def budget_from_text(text: str) -> Any:
    """Return a budget as a request has it; what is no number is for its rule."""
    if text.strip().lower() == UNLIMITED:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def write_prompt(model: Model, given: dict[str, str]) -> str:
    budget = budget_from_text(given["budget"])
    number = "null" if budget is None else given["budget"].strip()
    return TEXT.format(
        name=model.name,
        model=model.id,
        target=model.target_label,
        classes=" or ".join(label.display for label in model.classes),
        budget="any amount" if budget is None else f"{number} {model.cost_unit}",
        number=number,
        features=", ".join(feature.name for feature in model.features if feature.used),
        facts=given.get("facts", "").strip() or "nothing yet.",
    )
