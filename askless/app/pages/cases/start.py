"""Pages to start a session: choose a model, a budget and known values."""

from decimal import Decimal
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from askless.app.documents.http.sessions import PredictRequest
from askless.app.documents.shape import read_shape
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import After, At, Changes, Loaded, ReadDb, show_now
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import field_errors, redirect, render
from askless.app.pages.plumbing.inputs import (
    field_text,
    list_options,
    range_hint,
    read_typed,
)
from askless.app.service import models
from askless.app.service import sessions as service
from askless.app.words.budgets import (
    describe_beyond,
    describe_noise,
    draw_budget_chart,
    list_budget_words,
    place_of_knee,
)
from askless.app.words.savings import describe_knee
from askless.app.words.stops import to_sentence
from askless.core.catalogue.catalogue import Feature
from askless.core.catalogue.prices import to_micros
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Model
from askless.core.session.aims import check_aim
from askless.core.session.explorations import RATES
from askless.core.session.state import Aim
from askless.core.table.texts.numbers import parse_number, to_decimal_point

router = APIRouter(prefix="/ui/sessions/new", include_in_schema=False)
MOST = 50
CONFIDENCE_RULE = "must be a number above 0 and at most 100"
EXPLORE_RULE = "must be a number from 0 to 50"
COUNT_RULE = "must be a whole number, 0 or more"
# The field of what cases may cost on average, as requests name it.
MEAN = "aim.mean_budget"
MEAN_RULE = "must be empty, or chosen above"


@router.get("", dependencies=[needs("predict"), needs("models")])
def choose_model(
    request: Request, db: ReadDb, loaded: Loaded, model: str = "", after: After = None
) -> HTMLResponse:
    """Show the models to choose from, or the form of the chosen or only one."""
    if model:
        return show_form(request, model, models.load(db, loaded, model))
    heads = models.page(db, MOST, after)
    if len(heads.items) == 1 and not after:
        only = heads.items[0].id
        return show_form(request, only, models.load(db, loaded, only))
    chosen = [(head, models.load(db, loaded, head.id)) for head in heads.items]
    return render(request, "choose.html", models=chosen, next=heads.next)


def show_form(
    request: Request, model_id: str, model: Model, status: int = 200, **more: Any
) -> HTMLResponse:
    """Show the form to start a session; `more` is added to its context."""
    rows = list_budget_words(model)
    finite = [row.amount for row in rows if row.amount]
    features = sort_by_use(model)
    return render(
        request,
        "start.html",
        status,
        model_id=model_id,
        model=model,
        model_note=model.card.get("note"),
        unit=model.ensemble.catalogue.cost_unit,
        rows=rows,
        finite=finite,
        noise=describe_noise(model),
        beyond=describe_beyond(model),
        # Limited budgets come first in a curve.
        knee=place_of_knee(model),
        beyond_knee=to_sentence(describe_knee(model)),
        chart=draw_budget_chart(model),
        mean_field=MEAN,
        takes_mean=can_take_mean(model),
        has_known=any(
            text and name.startswith("known.")
            for name, text in more.get("typed", {}).items()
        ),
        n_unread=len(model.ensemble.catalogue.features) - len(features),
        fields=[
            (feature, range_hint(feature), list_options(feature))
            for feature in features
        ],
        labels={f"known.{feature.name}": feature.title for feature in features}
        | {
            "budget": "Budget",
            "client_ref": "Your name for the case",
            "limit": "How much may this case cost?",
            MEAN: "On average",
        },
        **more,
    )


def can_take_mean(model: Model) -> bool:
    """Return whether sessions of a model can have a mean budget."""
    try:
        check_aim(Aim(mean_budget=0), model.ensemble, None, "aim")
    except RefusedError:
        return False
    return True


def sort_by_use(model: Model) -> list[Feature]:
    """Return the features that a model reads, the most often asked first.

    Purchases are summed over the budgets of the curve. Where none are known, the order
    stays.
    """
    ensemble = model.ensemble
    read = [idx for idx, is_used in enumerate(ensemble.is_used) if is_used]
    purchases = None if model.curve is None else model.curve.purchases
    if purchases is not None:
        shares = [
            sum(purchase[idx] for purchase in purchases)
            for idx in range(len(purchases[0]))
        ]
        read.sort(key=lambda idx: -shares[idx])
    return [ensemble.catalogue.features[idx] for idx in read]


@router.post("", dependencies=[needs("predict")])
async def start_session(
    request: Request, form: Typed, changes: Changes, loaded: Loaded, at: At
) -> Response:
    """Start a session; refusals are shown at their fields."""
    model_id = field_text(form, "model")

    def begin(db: Any) -> Any:
        session_request = read_start_request(
            form, model_id, models.load(db, loaded, model_id)
        )
        return service.start(db, loaded, session_request, at)

    try:
        return await changes(
            begin, lambda made: redirect(f"/ui/sessions/{made.session.id}")
        )
    except RefusedError as error:
        model = await show_now(
            request,
            changes.caller.tenant_id,
            lambda db: models.load(db, loaded, model_id),
        )
        errors = dict(field_errors(error))
        if "aim" in errors:
            # No amount is wrong: the model can have none.
            errors["limit"] = errors.pop("aim")
        more = {"typed": form, "errors": errors}
        return show_form(request, model_id, model, 422, **more)


def read_start_request(form: FormData, model_id: str, model: Model) -> PredictRequest:
    """Read the requested session from a form; RefusedError names each wrong field."""
    refusals: list[Refusal] = []
    raw: dict[str, Any] = {"model": model_id, "known": {}, "stop": {}}
    raw |= read_terms(refusals, form)
    for feature in model.ensemble.catalogue.features:
        field = f"known.{feature.name}"
        if text := field_text(form, field):
            raw["known"][feature.name] = read_or_collect(
                refusals,
                lambda asked=feature, of=text, at=field: read_typed(asked, of, at),
            )
    if text := field_text(form, "client_ref"):
        raw["client_ref"] = text
    raw["stop"]["certain"] = field_text(form, "certain") == "yes"
    if text := field_text(form, "spend"):
        raw["stop"]["spend"] = text
    if text := field_text(form, "confidence"):
        raw["stop"]["confidence"] = read_or_collect(
            refusals, lambda: parse_confidence(text)
        )
    if text := field_text(form, "max_questions"):
        raw["stop"]["max_questions"] = read_or_collect(
            refusals, lambda: parse_count(text)
        )
    if text := field_text(form, "explore"):
        raw["explore"] = read_or_collect(refusals, lambda: parse_rate(text))
    if refusals:
        raise RefusedError(refusals)
    try:
        return read_shape(PredictRequest, raw, "start")
    except RefusedError as error:
        refusals = [
            Refusal(refusal.field.removeprefix("start."), refusal.rule)
            for refusal in error.refusals
        ]
        raise RefusedError(refusals) from None


def read_terms(refusals: list[Refusal], form: FormData) -> dict[str, Any]:
    """Return the budget, and the aim; beside a mean an empty budget is no limit."""
    limit, most = field_text(form, "limit"), field_text(form, "budget")
    mean_text = field_text(form, MEAN)
    terms: dict[str, Any] = {"budget": None}
    if limit != "none" and (most or limit != "mean"):
        terms["budget"] = read_or_collect(refusals, lambda: parse_money(most))
    if limit == "mean":
        mean = read_or_collect(refusals, lambda: parse_money(mean_text, MEAN))
        terms["aim"] = {"mean_budget": mean}
    elif mean_text:
        refusals.append(Refusal(MEAN, MEAN_RULE))
    return terms


def read_or_collect(refusals: list[Refusal], read: Any) -> Any:
    """Return the result of `read`; if it refuses, add its refusals and return None."""
    try:
        return read()
    except RefusedError as error:
        refusals += error.refusals
        return None


def parse_money(text: str, field: str = "budget") -> Decimal:
    """Return a typed amount, with a point or a comma; raise RefusedError."""
    try:
        written = to_decimal_point(text)
        # 1e3 is an amount in files; a person who types it has slipped.
        to_micros(written if "e" not in written.lower() else "")
    except ValueError as error:
        raise RefusedError([Refusal(field, str(error))]) from None
    return Decimal(written)


def parse_confidence(text: str) -> float:
    """Return a confidence from 0 to 1; it is typed in percent."""
    percents = parse_percents("confidence", text)
    if percents is None or not 0 < percents <= 100:
        raise RefusedError([Refusal("confidence", CONFIDENCE_RULE)])
    return percents / 100


def parse_rate(text: str) -> float:
    """Return a chance to explore; it is typed in percent."""
    percents = parse_percents("explore", text)
    if percents is None or not 0 <= percents / 100 <= RATES[1]:
        raise RefusedError([Refusal("explore", EXPLORE_RULE)])
    return percents / 100


def parse_percents(field: str, text: str) -> float | None:
    """Return a number typed in a field, None if it is none."""
    try:
        return parse_number(to_decimal_point(text))
    except ValueError as error:
        raise RefusedError([Refusal(field, str(error))]) from None


def parse_count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise RefusedError([Refusal("max_questions", COUNT_RULE)])
    return int(text)
