"""Two models side by side: one chart, one table, and what keeps them apart."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from app.http.plumbing.auth import needs
from app.http.plumbing.deps import Loaded, ReadDb
from app.pages.filters import name
from app.pages.frame import errors_of, render
from app.records import ModelHead
from app.service import models
from app.service.jobs import trainings
from app.store.database.transactions import Transaction
from app.words.charts import NamedCurve, curve_chart
from app.words.comparison import find_clashes, say_difference
from app.words.facts import list_facts
from app.words.figures import Cells
from app.words.wording import money, percent_range
from core.errors import Refusal, RefusedError
from core.model.model import Curve, Model
from core.simulation.curves import find_gap

router = APIRouter(prefix="/ui/models/compare", include_in_schema=False)
MOST = 50
LABELS = {"a": "First model", "b": "Second model"}
NO_CURVE = "has no curve, since it was trained without validation"
Chosen = Annotated[str, Query()]


class Side(NamedTuple):
    """One of two models, and what it is called beside the other."""

    head: ModelHead
    model: Model
    called: str


class SideBySide(NamedTuple):
    """What a page shows of two models that can be compared."""

    sides: tuple[Side, Side]
    svg: str
    cells: Cells
    cards: Sequence[tuple[object, ...]]
    rows: str


@router.get("", dependencies=[needs("models")])
def page(
    request: Request, db: ReadDb, loaded: Loaded, a: Chosen = "", b: Chosen = ""
) -> HTMLResponse:
    """Show two models that were chosen, or the form to choose them."""
    heads = list(models.page(db, MOST, None).items)
    for chosen in (a, b):
        if chosen and chosen not in {one.id for one in heads}:
            heads.append(models.get_head(db, chosen))
    context: dict[str, Any] = {
        "options": [("", "Choose one"), *((one.id, say_head(one)) for one in heads)],
        "n_models": len(heads),
        "typed": {"a": a, "b": b},
        "labels": LABELS,
        "found": None,
    }
    if not (a and b):
        return render(request, "compare.html", **context)
    found = {one.id: one for one in heads}
    sides = tuple(
        Side(one, models.find(db, loaded, one.id), say_head(one))
        for one in (found[a], found[b])
    )
    try:
        context["found"] = compare(db, *sides)
    except RefusedError as error:
        errors = errors_of(error)
        return render(request, "compare.html", 422, errors=errors, **context)
    return render(request, "compare.html", **context)


def say_head(head: ModelHead) -> str:
    return f"{head.name}, version {head.version}"


def compare(db: Transaction, first: Side, other: Side) -> SideBySide:
    """Return what two models differ in, or refuse it field by field."""
    curves = find_curves(first, other)
    unit = first.model.ensemble.catalogue.cost_unit
    named = [
        NamedCurve(side.called, curve)
        for side, curve in zip((first, other), curves, strict=True)
    ]
    ours, its = (dict(list_facts(side.model)) for side in (first, other))
    terms = list(dict.fromkeys([*ours, *its]))
    return SideBySide(
        sides=(first, other),
        svg=curve_chart(named, unit),
        cells=lay_cells(first, other, curves, unit),
        cards=[
            tuple(map(name, (one, ours.get(one, "–"), its.get(one, "–"))))
            for one in terms
        ],
        rows=say_rows(db, first.head, other.head),
    )


def find_curves(first: Side, other: Side) -> tuple[Curve, Curve]:
    """Return the curves of two models that can be compared."""
    refusals = []
    if first.head.id == other.head.id:
        refusals.append(Refusal("b", "must be another model than the first"))
    refusals += [
        Refusal("b", one.rule) for one in find_clashes(first.model, other.model)
    ]
    ours, its = first.model.curve, other.model.curve
    refusals += [
        Refusal(field, NO_CURVE)
        for field, curve in (("a", ours), ("b", its))
        if curve is None
    ]
    if refusals or ours is None or its is None:
        raise RefusedError(refusals)
    return ours, its


def lay_cells(
    first: Side, other: Side, curves: tuple[Curve, Curve], unit: str
) -> Cells:
    """Return a row for each budget that both curves speak of."""
    in_unit = f" ({unit})" if unit else ""
    head = [f"Budget{in_unit}"]
    for side in (first, other):
        head += [f"{side.called}: error", f"mean spend{in_unit}"]
    head.append("Second less first, in points of a percent")
    rows = []
    for budget in shared_budgets(*curves):
        cells = ["no limit" if budget is None else money(budget)]
        for curve in curves:
            place = curve.place_at(budget)
            error = 100 * curve.errors_calibrated[place]
            cells.append(f"{error:.1f} % ({percent_range(*curve.intervals[place])})")
            cells.append(money(round(curve.mean_spends[place], -4)))
        cells.append(say_difference(find_gap(*curves, budget)))
        rows.append(tuple(cells))
    return [name(one) for one in head], rows


def shared_budgets(first: Curve, other: Curve) -> Iterator[int | None]:
    """Yield the budgets of the first that the second has something to say of."""
    least = min((one for one in other.budgets if one is not None), default=None)
    for budget in first.budgets:
        if budget is None or (least is not None and budget >= least):
            yield budget


def say_rows(db: Transaction, first: ModelHead, other: ModelHead) -> str:
    """Say whose rows the errors are of."""
    ids = [
        one.training_id and trainings.get(db, one.training_id).dataset_id
        for one in (first, other)
    ]
    if None in ids:
        return "Whether both were trained on the same table is not known."
    if ids[0] == ids[1]:
        return "Both were trained on the same table."
    return "They were trained on different tables, whose cases may differ too."
