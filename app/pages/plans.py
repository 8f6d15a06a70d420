"""These pages show the plan under a budget: as a flow chart, as a list, as a file."""

from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from app.http.plumbing.auth import needs
from app.http.plumbing.deps import Loaded, ReadDb
from app.pages.budgets import budget_words
from app.pages.flow_chart import draw, lay_out
from app.pages.frame import errors_of, render
from app.pages.model_view import isolate
from app.pages.models import download
from app.pages.plan_words import PlanNode, say_plan
from app.pages.start import read_money
from app.records import ModelHead
from app.service import models
from app.words.figures import Cells
from app.words.outlines import outline_cells
from app.words.svg import stand_alone
from app.words.wording import money, percent
from core.errors import Refusal, RefusedError
from core.model.model import Model
from core.session.flow import FlowBounds, find_flow
from core.table.prices import to_micros

router = APIRouter(prefix="/ui/models/{id}", include_in_schema=False)
DEPTHS = ("1", "2", "3", "4", "5")
DEPTH_RULE = "must be one of 1 to 5"
# The colours of a file, which has no page around it.
INK = (
    "svg { color: #000; background: var(--paper) } @media screen and "
    "(prefers-color-scheme: dark) { svg { color: #e6e9ed } }"
)
Typed = Annotated[str | None, Query()]


class PlanWish(NamedTuple):
    """The plan that is asked for: its budget, and how many questions deep."""

    budget: int | None
    depth: int


class PlanView(NamedTuple):
    """What a page shows of a plan."""

    root: PlanNode
    svg: str
    outline: Cells
    budget: str
    error: str | None
    is_drawn: bool


@router.get("/plan", dependencies=[needs("models")])
def show(
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
        "unit": model.ensemble.catalogue.cost_unit,
        "typed": typed,
        "depths": [(one, f"{one} question{'s' * (one != '1')}") for one in DEPTHS],
    }
    try:
        wish = read_wish(typed)
    except RefusedError as error:
        wrong = {"errors": errors_of(error), "plan": None}
        return render(request, "plan.html", 422, **context, **wrong)
    plan = view_of(head, model, wish)
    return render(request, "plan.html", plan=plan, **context)


@router.get("/plan.svg", dependencies=[needs("models")])
def picture(
    id: str, db: ReadDb, loaded: Loaded, budget: Typed = None, questions: Typed = None
) -> Response:
    """Return the drawing as a file."""
    head, model = models.get_head(db, id), models.find(db, loaded, id)
    wish = read_wish(fill_in(model, budget, questions))
    drawing = stand_alone(view_of(head, model, wish).svg, INK)
    return download(f"{head.name}-{head.version}.plan.svg", drawing, "image/svg+xml")


def fill_in(model: Model, budget: str | None, questions: str | None) -> dict[str, str]:
    """Return the fields of the form, with defaults for those not yet filled in."""
    if budget is None:
        told = [one.amount for one in budget_words(model) if one.amount]
        budget = told[len(told) // 2] if told else ""
    return {"budget": budget.strip(), "questions": questions or "3"}


def read_wish(typed: dict[str, str]) -> PlanWish:
    """Return the plan that a form asks for; RefusedError names each wrong field."""
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
    return PlanWish(limit, int(typed["questions"]))


def view_of(head: ModelHead, model: Model, wish: PlanWish) -> PlanView:
    ensemble, unit = model.ensemble, model.ensemble.catalogue.cost_unit
    named = "without a limit" if wish.budget is None else money(wish.budget, unit)
    flow = find_flow(ensemble, wish.budget, FlowBounds(depth=wish.depth))
    root = say_plan(ensemble, flow)
    said = f"Plan of {head.name}, {named}; the list below says the same"
    return PlanView(
        root=root,
        svg=draw(lay_out(root), said),
        outline=isolate(outline_cells(model, wish.budget)),
        budget=named,
        error=error_at(model, wish.budget),
        is_drawn=ensemble.policy_at(wish.budget) == "sample",
    )


def error_at(model: Model, budget: int | None) -> str | None:
    """Return the error on held-out cases under the nearest smaller budget."""
    curve = model.curve
    if curve is None:
        return None
    if budget is not None and all(one is None or one > budget for one in curve.budgets):
        return None
    return percent(curve.errors_calibrated[curve.place_at(budget)])
