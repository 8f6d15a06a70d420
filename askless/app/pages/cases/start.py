"""Pages to start a session: choose a model, a budget and known values."""

from decimal import Decimal
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from askless.app.documents.http.sessions import PredictRequest
from askless.app.documents.shape import read_shape
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import (
    After,
    At,
    Changes,
    Loaded,
    ReadDb,
    read_again,
)
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import errors_of, render, see_other
from askless.app.pages.plumbing.inputs import hint, options, read_typed, text_in
from askless.app.service import models
from askless.app.service import sessions as service
from askless.app.words.budgets import (
    beyond_words,
    budget_chart,
    budget_words,
    noise_words,
    place_knee,
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
from askless.core.table.cells import parse_number, to_point

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
    """Show the models to choose from, or the form of the one that was chosen.

    If there is only one model, its form is shown at once.
    """
    if model:
        return show_form(request, model, models.find(db, loaded, model))
    heads = models.page(db, MOST, after)
    if len(heads.items) == 1 and not after:
        only = heads.items[0].id
        return show_form(request, only, models.find(db, loaded, only))
    chosen = [(head, models.find(db, loaded, head.id)) for head in heads.items]
    return render(request, "choose.html", models=chosen, next=heads.next)


def show_form(
    request: Request, model_id: str, model: Model, status: int = 200, **more: Any
) -> HTMLResponse:
    """Show the form to start a session; `more` is added to its context."""
    rows = budget_words(model)
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
        noise=noise_words(model),
        beyond=beyond_words(model),
        # Limited budgets come first in a curve.
        knee=place_knee(model),
        beyond_knee=to_sentence(describe_knee(model)),
        chart=budget_chart(model),
        mean_field=MEAN,
        takes_mean=takes_mean(model),
        has_known=any(
            text and name.startswith("known.")
            for name, text in more.get("typed", {}).items()
        ),
        n_unread=len(model.ensemble.catalogue.features) - len(features),
        fields=[(feature, hint(feature), options(feature)) for feature in features],
        labels={f"known.{feature.name}": feature.title for feature in features}
        | {
            "budget": "Budget",
            "client_ref": "Your name for the case",
            "limit": "How much may this case cost?",
            MEAN: "On average",
        },
        **more,
    )


def takes_mean(model: Model) -> bool:
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
    model_id = text_in(form, "model")

    def begin(db: Any) -> Any:
        session_request = read_start_request(
            form, model_id, models.find(db, loaded, model_id)
        )
        return service.start(db, loaded, session_request, at)

    try:
        return await changes(
            begin, lambda made: see_other(f"/ui/sessions/{made.session.id}")
        )
    except RefusedError as error:
        model = await read_again(
            request,
            changes.caller.tenant_id,
            lambda db: models.find(db, loaded, model_id),
        )
        errors = dict(errors_of(error))
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
        if text := text_in(form, field):
            raw["known"][feature.name] = read_or_note(
                refusals,
                lambda asked=feature, of=text, at=field: read_typed(asked, of, at),
            )
    if text := text_in(form, "client_ref"):
        raw["client_ref"] = text
    raw["stop"]["certain"] = text_in(form, "certain") == "yes"
    if text := text_in(form, "spend"):
        raw["stop"]["spend"] = text
    if text := text_in(form, "confidence"):
        raw["stop"]["confidence"] = read_or_note(
            refusals, lambda: read_confidence(text)
        )
    if text := text_in(form, "max_questions"):
        raw["stop"]["max_questions"] = read_or_note(refusals, lambda: read_count(text))
    if text := text_in(form, "explore"):
        raw["explore"] = read_or_note(refusals, lambda: read_rate(text))
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
    limit, most = text_in(form, "limit"), text_in(form, "budget")
    mean_text = text_in(form, MEAN)
    terms: dict[str, Any] = {"budget": None}
    if limit != "none" and (most or limit != "mean"):
        terms["budget"] = read_or_note(refusals, lambda: read_money(most))
    if limit == "mean":
        mean = read_or_note(refusals, lambda: read_money(mean_text, MEAN))
        terms["aim"] = {"mean_budget": mean}
    elif mean_text:
        refusals.append(Refusal(MEAN, MEAN_RULE))
    return terms


def read_or_note(refusals: list[Refusal], read: Any) -> Any:
    """Return the result of `read`; if it refuses, add its refusals and return None."""
    try:
        return read()
    except RefusedError as error:
        refusals += error.refusals
        return None


def read_money(text: str, field: str = "budget") -> Decimal:
    """Return an amount typed in a field exactly; raise RefusedError if it is none.

    It may have a decimal comma (`to_point`).
    """
    try:
        written = to_point(text)
        # 1e3 is an amount in files; a person who types it has slipped.
        to_micros(written if "e" not in written.lower() else "")
    except ValueError as error:
        raise RefusedError([Refusal(field, str(error))]) from None
    return Decimal(written)


def read_confidence(text: str) -> float:
    """Return a confidence from 0 to 1; it is typed in percent."""
    percents = read_percents("confidence", text)
    if percents is None or not 0 < percents <= 100:
        raise RefusedError([Refusal("confidence", CONFIDENCE_RULE)])
    return percents / 100


def read_rate(text: str) -> float:
    """Return a chance to explore; it is typed in percent."""
    percents = read_percents("explore", text)
    if percents is None or not 0 <= percents / 100 <= RATES[1]:
        raise RefusedError([Refusal("explore", EXPLORE_RULE)])
    return percents / 100


def read_percents(field: str, text: str) -> float | None:
    """Return a number typed in a field, None if it is none."""
    try:
        return parse_number(to_point(text))
    except ValueError as error:
        raise RefusedError([Refusal(field, str(error))]) from None


def read_count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise RefusedError([Refusal("max_questions", COUNT_RULE)])
    return int(text)
