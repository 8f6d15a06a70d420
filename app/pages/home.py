"""Home: the models with their curves, open sessions, what this is."""

from collections import OrderedDict

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from app.charts import NamedCurve, curve_chart, stand_alone
from app.http.auth import keep, needs
from app.http.deps import At, Loaded, ReadDb
from app.pages.frame import render
from app.records import SessionFilter
from app.service import models
from app.service.predictions import lists
from app.wording import money, percent
from core.model.model import Model

router = APIRouter(prefix="/ui", include_in_schema=False)
# Inches: a chart of few words.
THUMBNAIL = (3.0, 1.9)
MOST = 12
DRAWN: OrderedDict[str, str] = OrderedDict()


@router.get("", dependencies=[needs("models"), needs("predict")])
def home(request: Request, db: ReadDb, at: At, loaded: Loaded) -> HTMLResponse:
    asked = lists.page(db, MOST, None, at, SessionFilter("open", None, None))
    waiting = lists.page(db, MOST, None, at, SessionFilter("waiting", None, None))
    found = models.page(db, MOST, None)
    shown = {one.id: models.find(db, loaded, one.id) for one in found.items}
    return render(
        request,
        "home.html",
        models=found.items,
        curves={key: said(one) for key, one in shown.items() if one.curve},
        has_more=found.next is not None,
        sessions=[*asked.items, *waiting.items],
    )


def said(model: Model) -> str:
    """Return what a model's curve shows, for who can't see it."""
    curve = model.curve
    assert curve is not None
    first, last = (percent(curve.errors_calibrated[idx]) for idx in (0, -1))
    spend = money(curve.mean_spends[-1], model.ensemble.catalogue.cost_unit)
    return f"Error falls from {first} for nothing to {last} for {spend} a case"


@router.get("/models/{id}/curve.svg", dependencies=[needs("models")])
def curve(id: str, db: ReadDb, loaded: Loaded) -> Response:
    """Return a model's curve as a small picture; a model never changes."""
    model = models.find(db, loaded, id)
    if model.curve is None:
        raise HTTPException(404)
    kept = {"Cache-Control": "private, max-age=86400"}
    return Response(drawn(id, model), headers=kept, media_type="image/svg+xml")


def drawn(model_id: str, model: Model) -> str:
    """Return the picture of a model, drawn once: a chart takes some 50 ms."""
    found = DRAWN.get(model_id)
    if found is None:
        assert model.curve is not None
        unit = model.ensemble.catalogue.cost_unit
        curves = [NamedCurve(model.name, model.curve)]
        found = stand_alone(curve_chart(curves, unit, THUMBNAIL))
        keep(DRAWN, model_id, found)
    return found
