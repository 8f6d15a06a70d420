"""Pages of the plan under a budget: as a flow chart, as a list, as a file."""

from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import Loaded, ReadDb
from askless.app.pages.cases.start import read_money
from askless.app.pages.models.model_view import isolate
from askless.app.pages.plumbing.frame import download, errors_of, render
from askless.app.records import ModelHead
from askless.app.service import models
from askless.app.words.budgets import budget_words
from askless.app.words.charts.flow_chart import compute_layout, draw_layout
from askless.app.words.charts.svg import stand_alone
from askless.app.words.figures import Cells
from askless.app.words.outlines import outline_cells
from askless.app.words.plan_words import PlanNode, describe_plan
from askless.app.words.trust import error_under
from askless.app.words.wording import money, percent
from askless.core.catalogue.prices import to_micros
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Model
from askless.core.session.plans.flow import FlowBounds, find_flow
from askless.core.session.spending import find_limit

router = APIRouter(prefix="/ui/models/{id}", include_in_schema=False)
DEPTHS = ("1", "2", "3", "4", "5")
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

    root: PlanNode
    svg: str
    outline: Cells
    budget: str
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
    head, model = models.get_head(db, id), models.find(db, loaded, id)
    typed = fill_in(model, budget, questions)
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
        wish = read_plan_request(typed)
    except RefusedError as error:
        wrong = {"errors": errors_of(error), "plan": None}
        return render(request, "plan.html", 422, **context, **wrong)
    plan = build_plan_view(head, model, wish)
    return render(request, "plan.html", plan=plan, **context)


@router.get("/plan.svg", dependencies=[needs("models")])
def download_drawing(
    id: str, db: ReadDb, loaded: Loaded, budget: Typed = None, questions: Typed = None
) -> Response:
    """Return the drawing as a file."""
    head, model = models.get_head(db, id), models.find(db, loaded, id)
    wish = read_plan_request(fill_in(model, budget, questions))
    drawing = stand_alone(build_plan_view(head, model, wish).svg, INK)
    return download(f"{head.name}-{head.version}.plan.svg", drawing, "image/svg+xml")


def fill_in(model: Model, budget: str | None, questions: str | None) -> dict[str, str]:
    """Return the fields of the form, with defaults for those not yet filled in."""
    if budget is None:
        amounts = [row.amount for row in budget_words(model) if row.amount]
        budget = amounts[len(amounts) // 2] if amounts else ""
    return {"budget": budget.strip(), "questions": questions or "3"}


def read_plan_request(typed: dict[str, str]) -> PlanRequest:
    """Read the requested plan from a form; RefusedError names each wrong field."""
    refusals: list[Refusal] = []
    budget = Decimal(0)
    try:
        budget = read_money(typed["budget"]) if typed["budget"] else Decimal(0)
    except RefusedError as error:
        refusals += error.refusals
    if typed["questions"] not in DEPTHS:
        refusals.append(Refusal("questions", DEPTH_RULE))
    if refusals:
        raise RefusedError(refusals)
    limit = to_micros(budget) if typed["budget"] else None
    return PlanRequest(limit, int(typed["questions"]))


def build_plan_view(head: ModelHead, model: Model, wish: PlanRequest) -> PlanView:
    ensemble, unit = model.ensemble, model.ensemble.catalogue.cost_unit
    budget_name = "without a limit" if wish.budget is None else money(wish.budget, unit)
    limit = find_limit(ensemble, wish.budget, None, "worthwhile")
    flow = find_flow(ensemble, wish.budget, FlowBounds(depth=wish.depth))
    root = describe_plan(ensemble, flow)
    error = error_under(model, limit)
    label = f"Plan of {head.name}, {budget_name}; the list below says the same"
    return PlanView(
        root=root,
        svg=draw_layout(compute_layout(root), label),
        outline=isolate(outline_cells(model, wish.budget)),
        budget=budget_name,
        error=None if error is None else percent(error),
        is_drawn=ensemble.policy_at(limit) == "sample",
    )
