"""Two models side by side: one chart, one table, and their cards."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import Loaded, ReadDb
from askless.app.pages.plumbing.filters import isolate_name
from askless.app.pages.plumbing.frame import field_errors, render
from askless.app.records import ModelHead
from askless.app.service import models
from askless.app.service.jobs import trainings
from askless.app.store.database.transactions import Transaction
from askless.app.words.charts.charts import NamedCurve, draw_curves
from askless.app.words.comparison import (
    ComparedModel,
    build_comparison_cells,
    describe_verdict,
    list_clashes,
)
from askless.app.words.facts import list_facts, list_settings
from askless.app.words.figures import Cells
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Curve, Model
from askless.core.simulation.curves import compare_independent

router = APIRouter(prefix="/ui/models/compare", include_in_schema=False)
# All are read, to offer those that can be compared.
MOST = 24
LABELS = {"a": "First model", "b": "Second model"}
NO_CURVE = "has no curve: it was trained without validation, or has learnt since"
Chosen = Annotated[str, Query()]


class Side(NamedTuple):
    """One of two models, with its name and version."""

    head: ModelHead
    model: Model
    called: str


class SideBySide(NamedTuple):
    """The parts of a page that compares two models."""

    sides: tuple[Side, Side]
    svg: str
    cells: Cells
    #: facts in which they differ
    cards: Sequence[tuple[object, ...]]
    verdict: str
    rows: str


@router.get("", dependencies=[needs("models")])
def show_comparison(
    request: Request, db: ReadDb, loaded: Loaded, a: Chosen = "", b: Chosen = ""
) -> HTMLResponse:
    """Show the two chosen models, or the form to choose them."""
    # An address may name a model in place of its id.
    a, b = (chosen and models.get_head(db, chosen).id for chosen in (a, b))
    heads = list(models.page(db, MOST, None).items)
    for chosen in (a, b):
        if chosen and chosen not in {head.id for head in heads}:
            heads.append(models.get_head(db, chosen))
    known = {head.id: models.load(db, loaded, head.id) for head in heads}
    first, second = (
        [
            ("", "Choose one"),
            *(
                (head.id, name_and_version(head))
                for head in heads
                if head.id in offered
            ),
        ]
        for offered in (
            list_first_models(known) | {a},
            list_second_models(known, a) | {b},
        )
    )
    context: dict[str, Any] = {
        "first": first,
        "second": second,
        "n_models": len(first) - 1,
        "typed": {"a": a, "b": b},
        "labels": LABELS,
        "clash": None,
        "found": None,
    }
    if not (a and b):
        return render(request, "compare.html", **context)
    heads_by_id = {head.id: head for head in heads}
    sides = tuple(
        Side(head, models.load(db, loaded, head.id), name_and_version(head))
        for head in (heads_by_id[a], heads_by_id[b])
    )
    context["clash"] = describe_clash(*sides)
    if context["clash"]:
        return render(request, "compare.html", 422, **context)
    try:
        context["found"] = compare(db, *sides)
    except RefusedError as error:
        errors = field_errors(error)
        return render(request, "compare.html", 422, errors=errors, **context)
    return render(request, "compare.html", **context)


def list_first_models(known: Mapping[str, Model]) -> set[str]:
    """Return the models that can be compared with another one."""
    return {model_id for model_id in known if list_second_models(known, model_id)}


def list_second_models(known: Mapping[str, Model], first: str) -> set[str]:
    """Return the models that can be compared with the first; if it is "", with any."""
    if first not in known:
        return list_first_models(known)
    return {
        model_id
        for model_id, model in known.items()
        if model_id != first and are_comparable(known[first], model)
    }


def are_comparable(first: Model, other: Model) -> bool:
    has_curves = first.curve is not None and other.curve is not None
    return has_curves and next(list_clashes(first, other), None) is None


def name_and_version(head: ModelHead) -> str:
    return f"{head.name}, version {head.version}"


def compare(db: Transaction, first: Side, other: Side) -> SideBySide:
    """Compare two models; RefusedError names each wrong field."""
    curves = comparable_curves(first, other)
    unit = first.model.ensemble.catalogue.cost_unit
    budgets = list(shared_budgets(*curves))
    gaps = [compare_independent(*curves, budget) for budget in budgets]
    models = [
        ComparedModel(side.called, curve, differences)
        for side, curve, differences in zip(
            (first, other), curves, (None, gaps), strict=True
        )
    ]
    head, rows = build_comparison_cells(models, budgets, unit)
    both = [
        dict([*list_facts(side.model), *list_settings(side.model)])
        for side in (first, other)
    ]
    terms = dict.fromkeys(term for facts in both for term in facts)
    return SideBySide(
        sides=(first, other),
        svg=draw_curves(
            [NamedCurve(model.name, model.curve) for model in models], unit
        ),
        cells=([isolate_name(cell) for cell in head], rows),
        cards=[
            tuple(map(isolate_name, (term, *(facts.get(term, "–") for facts in both))))
            for term in terms
            if both[0].get(term) != both[1].get(term)
        ],
        verdict=describe_verdict(models, budgets, unit),
        rows=describe_tables(db, first.head, other.head),
    )


def describe_clash(first: Side, other: Side) -> str | None:
    """Return a sentence on why there is no verdict between two; None: there is."""
    for clash in list_clashes(first.model, other.model):
        does, other_does = clash.words
        return (
            f"There is no verdict between these two: {first.called} {does}, and "
            f"{other.called} {other_does}."
        )
    return None


def comparable_curves(first: Side, other: Side) -> tuple[Curve, Curve]:
    """Return two models' curves; raise RefusedError if they can't be compared."""
    refusals = []
    if first.head.id == other.head.id:
        refusals.append(Refusal("b", "must be another model than the first"))
    curve, other_curve = first.model.curve, other.model.curve
    refusals += [
        Refusal(field, NO_CURVE)
        for field, compared in (("a", curve), ("b", other_curve))
        if compared is None
    ]
    if refusals or curve is None or other_curve is None:
        raise RefusedError(refusals)
    return curve, other_curve


def shared_budgets(first: Curve, other: Curve) -> Iterator[int | None]:
    """Yield the budgets of the first curve that the second covers too."""
    least = min(
        (budget for budget in other.budgets if budget is not None), default=None
    )
    for budget in first.budgets:
        if budget is None or (least is not None and budget >= least):
            yield budget


def describe_tables(db: Transaction, first: ModelHead, other: ModelHead) -> str:
    """Return a sentence on whether both models were trained on the same table."""
    ids = [
        head.training_id and trainings.get(db, head.training_id).dataset_id
        for head in (first, other)
    ]
    if None in ids:
        return "Whether both were trained on the same table is not known."
    if ids[0] == ids[1]:
        return "Both were trained on the same table."
    return "They were trained on different tables, whose cases may differ too."
