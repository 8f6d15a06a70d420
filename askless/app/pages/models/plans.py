"""Pages of the plan under a budget: as a flow chart, as a list, as a file."""

from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.documents.model.card import read_sessions
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import Loaded, ReadDb
from askless.app.pages.cases.start import parse_money
from askless.app.pages.models.model_view import isolate_cells
from askless.app.pages.plumbing.frame import download, field_errors, render
from askless.app.records import ModelHead
from askless.app.service import models
from askless.app.words.budgets import list_budget_words
from askless.app.words.charts.flow_chart import compute_layout, draw_layout
from askless.app.words.charts.svg import to_standalone
from askless.app.words.figures import Cells
from askless.app.words.outlines import build_question_cells
from askless.app.words.plan_words import PlanNode, describe_plan
from askless.app.words.sessions import describe_sessions
from askless.app.words.trust import error_under
from askless.app.words.wording import money, percent
from askless.core.catalogue.prices import to_micros
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Model
from askless.core.session.plans.flow import FlowBounds, FlowNode, compute_flow
from askless.core.session.spending import compute_limit
from askless.core.session.state import Question

router = APIRouter(prefix="/ui/models/{id}", include_in_schema=False)
DEPTHS = ("1", "2", "3", "4", "5")
NO_BREAK = "\N{NO-BREAK SPACE}"
DEPTH_RULE = "must be one of 1 to 5"
# The colours of a drawing as a file, without the page's style sheet.
INK = (
    "svg { color: #000; background: var(--paper) } @media screen and "
    "(prefers-color-scheme: dark) { svg { color: #e6e9ed } }"
)
Typed = Annotated[str | None, Query()]


class PlanRequest(NamedTuple):
    """A request for a plan: its budget in micro-units, and its depth in questions."""

    budget: int | None
    depth: int


class PlanView(NamedTuple):
    """The parts of a plan's page."""

    budget: str
    #: how the rows of training went under it; None: not known
    cases: str | None
    #: the questions that are asked first, whatever the answers are
    first: Cells
    #: where answers change what is asked next; None: nowhere
    root: PlanNode | None
    svg: str
    error: str | None
    is_drawn: bool


@router.get("/plan", dependencies=[needs("models")])
def show_plan(
    request: Request,
    id: str,
    db: ReadDb,
    loaded: Loaded,
    budget: Typed = None,
    questions: Typed = None,
) -> HTMLResponse:
    """Show the plan for a budget, by default the middle one of the curve."""
    head, model = models.get_head(db, id), models.load(db, loaded, id)
    typed = fill_defaults(model, budget, questions)
    context: dict[str, Any] = {
        "head": head,
        "model_note": model.card.get("note"),
        "unit": model.ensemble.catalogue.cost_unit,
        "typed": typed,
        "depths": [
            (depth, f"{depth} question{'s' * (depth != '1')}") for depth in DEPTHS
        ],
    }
    try:
        plan_request = read_plan_request(typed)
    except RefusedError as error:
        wrong = {"errors": field_errors(error), "plan": None}
        return render(request, "plan.html", 422, **context, **wrong)
    plan = build_plan_view(head, model, plan_request)
    return render(request, "plan.html", plan=plan, **context)


@router.get("/plan.svg", dependencies=[needs("models")])
def download_drawing(
    id: str, db: ReadDb, loaded: Loaded, budget: Typed = None, questions: Typed = None
) -> Response:
    """Return the drawing as a file."""
    head, model = models.get_head(db, id), models.load(db, loaded, id)
    plan_request = read_plan_request(fill_defaults(model, budget, questions))
    drawing = to_standalone(build_plan_view(head, model, plan_request).svg, INK)
    return download(f"{head.name}-{head.version}.plan.svg", drawing, "image/svg+xml")


def fill_defaults(
    model: Model, budget: str | None, questions: str | None
) -> dict[str, str]:
    """Return the fields of the form, with defaults for those not yet filled in."""
    if budget is None:
        amounts = [row.amount for row in list_budget_words(model) if row.amount]
        budget = amounts[len(amounts) // 2] if amounts else ""
    return {"budget": budget.strip(), "questions": questions or "3"}


def read_plan_request(typed: dict[str, str]) -> PlanRequest:
    """Read the requested plan from a form; RefusedError names each wrong field."""
    refusals: list[Refusal] = []
    budget = Decimal(0)
    try:
        budget = parse_money(typed["budget"]) if typed["budget"] else Decimal(0)
    except RefusedError as error:
        refusals += error.refusals
    if typed["questions"] not in DEPTHS:
        refusals.append(Refusal("questions", DEPTH_RULE))
    if refusals:
        raise RefusedError(refusals)
    limit = to_micros(budget) if typed["budget"] else None
    return PlanRequest(limit, int(typed["questions"]))


def build_plan_view(
    head: ModelHead, model: Model, plan_request: PlanRequest
) -> PlanView:
    ensemble, unit = model.ensemble, model.ensemble.catalogue.cost_unit
    budget_name = (
        "without a limit"
        if plan_request.budget is None
        else money(plan_request.budget, unit)
    )
    limit = compute_limit(ensemble, plan_request.budget, None, "worthwhile")
    flow = compute_flow(
        ensemble, plan_request.budget, FlowBounds(depth=plan_request.depth)
    )
    questions, parting = split_plan(flow)
    root = describe_plan(ensemble, parting or flow)
    error = error_under(model, limit)
    label = f"Plan of {head.name}, {budget_name}; the list below says the same"
    return PlanView(
        cases=describe_course(model, limit),
        first=isolate_cells(build_question_cells(ensemble.catalogue, questions)),
        root=None if parting is None else root,
        svg=draw_layout(compute_layout(root), label),
        budget=budget_name,
        # A number and its sign stay on one line.
        error=None if error is None else percent(error).replace(" ", NO_BREAK),
        is_drawn=ensemble.policy_at(limit) == "sample",
    )


def split_plan(root: FlowNode) -> tuple[list[Question], FlowNode | None]:
    """Return the questions that no answer changes, and the node where answers do.

    None: they do nowhere.
    """
    node, questions = root, list[Question]()
    while node.question is not None:
        if len(node.children) > 1 and any(child.question for child in node.children):
            return questions, node
        questions.append(node.question)
        if len(node.children) != 1:
            break
        (node,) = node.children
    return questions, None


def describe_course(model: Model, limit: int | None) -> str | None:
    """Return how cases go under a budget of the curve, in micro-units; else None."""
    sessions = read_sessions(model)
    if sessions is None:
        return None
    for place, amount in enumerate(sessions.budgets):
        if (None if amount is None else to_micros(amount)) == limit:
            return describe_sessions(sessions, place, model.ensemble)
    return None
