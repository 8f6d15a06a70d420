"""The case that home offers: a model, its first question, and a start by one click."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter
from fastapi.responses import Response

from askless.app.documents.http.sessions import AnswersRequest, PredictRequest
from askless.app.http.plumbing.auth import Called, needs
from askless.app.http.plumbing.deps import At, Changes, Loaded
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import redirect
from askless.app.pages.plumbing.inputs import field_text, list_options, read_typed
from askless.app.records import Moment
from askless.app.service import models
from askless.app.service import sessions as service
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions import answering, checks
from askless.app.service.sessions.opened import SessionCall
from askless.app.service.sessions.played import Patients, find_patients
from askless.app.store.database.transactions import Transaction
from askless.app.words.budgets import place_of_knee
from askless.app.words.savings import Saving, compute_saving
from askless.app.words.wording import describe_value
from askless.core.catalogue.catalogue import Feature
from askless.core.catalogue.price_lists import unknown_feature_rule
from askless.core.catalogue.prices import from_micros
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.state import Aim, State

router = APIRouter(prefix="/ui/try", include_in_schema=False)
# A feature with more answers than these is asked on the case's own page.
MOST_BUTTONS = 6
LETTER = re.compile(r"[^\W\d_]")
LOGARITHM = re.compile(r"\b(log|ln)", re.IGNORECASE)


class Offer(NamedTuple):
    """A model, and the first question of a case with it."""

    model_id: str
    model: Model
    feature: Feature
    #: in units
    price: float
    #: values and texts of its buttons; () where there are too many, or none
    answers: Sequence[tuple[str, str]]
    #: whether the value is typed here
    is_typed: bool

    @property
    def unit(self) -> str:
        return self.model.ensemble.catalogue.cost_unit


class Claim(NamedTuple):
    """The saving that home tells, and the model that it was measured with."""

    model: Model
    saving: Saving


def is_askable(feature: Feature) -> bool:
    """Return whether a person can answer the question for a feature.

    It needs a question or a label of its own. A number without a question needs a
    unit, which is no logarithm; each category needs a word, and no mere code.
    """
    if feature.type == "category":
        words = [
            describe_value(feature, code) for code in range(len(feature.categories))
        ]
        if not all(LETTER.search(word) for word in words):
            return False
    if feature.type != "number" or feature.question:
        return bool(feature.question or feature.label)
    return bool(feature.label and feature.unit and not LOGARITHM.search(feature.unit))


def has_askable_features(model: Model) -> bool:
    """Return whether a person can answer all that a model may ask."""
    features, is_used = model.ensemble.catalogue.features, model.ensemble.is_used
    return all(
        is_askable(feature)
        for feature, is_asked in zip(features, is_used, strict=True)
        if is_asked
    )


def choose_claim(shown: Iterable[Model]) -> Claim | None:
    """Return the saving whose lower end is greatest, of models that people can answer.

    The first of equals. None if no such model has a saving.
    """
    claims = [
        Claim(model, saving)
        for model in shown
        if has_askable_features(model) and (saving := compute_saving(model)) is not None
    ]
    return max(claims, key=lambda claim: claim.saving.least, default=None)


def make_offer(
    shown: Mapping[str, Model], patients: Patients | None = None
) -> Offer | None:
    """Return the offer of the first model that people can answer, else of the first.

    Where patients are shown, it is that of their model. None if no model has a curve,
    or the one chosen has nothing to ask.
    """
    if patients is not None and patients.first.session.model_id in shown:
        best, model = patients.first.session.model_id, patients.first.model
        state = patients.first.state
        aimed = machine.start(model.ensemble, state.budget, aim=state.aim)
        return offer_question(best, model, aimed)
    tested = {
        key: offered for key, offered in shown.items() if offered.curve is not None
    }
    if not tested:
        return None
    best = min(tested, key=lambda key: not has_askable_features(tested[key]))
    model = tested[best]
    state = machine.start(model.ensemble, usual_budget(model))
    return offer_question(best, model, state)


def offer_question(model_id: str, model: Model, state: State) -> Offer | None:
    """Return the offer of a session's first question; None where there is none."""
    question = machine.next_question(model.ensemble, state)
    if question is None or state.stop_reason is not None:
        return None
    feature = model.ensemble.catalogue.features[question.feature_idx]
    answers = list_options(feature)
    is_alone = len(question.feature_idxs) == 1
    return Offer(
        model_id,
        model,
        feature,
        from_micros(question.price),
        answers if is_alone and len(answers) <= MOST_BUTTONS else (),
        is_alone and feature.type == "number",
    )


def usual_budget(model: Model) -> int | None:
    """Return the budget at the knee of a model's curve, in micro-units."""
    knee = place_of_knee(model)
    return None if knee is None or model.curve is None else model.curve.budgets[knee]


@router.post("", dependencies=[needs("predict")])
async def start_case(
    form: Typed, changes: Changes, loaded: Loaded, at: At, caller: Called
) -> Response:
    """Start a case, answer its first question if a button said how, and show it."""
    return await changes(
        lambda db: start_offered_session(db, loaded, form, at, caller.scopes),
        lambda made: redirect(f"/ui/sessions/{made}"),
    )


def start_offered_session(
    db: Transaction,
    loaded: LoadedModels,
    form: Any,
    at: Moment,
    scopes: Collection[str],
) -> str:
    """Start a session under the terms of its offer; return its id."""
    key = field_text(form, "model")
    model = models.load(db, loaded, key)
    terms = {"model": key} | choose_terms(model, key, find_patients(db, loaded, scopes))
    request = PredictRequest.model_validate(terms)
    opened = service.start(db, loaded, request, at)
    if text := field_text(form, "value"):
        answer_first_question(
            db, SessionCall(opened.session.id, loaded, at), model, form, text
        )
    return opened.session.id


def choose_terms(
    model: Model, model_id: str, patients: Patients | None
) -> dict[str, Any]:
    """Return the terms of the patients shown, else the knee of the model's curve."""
    if patients is not None and patients.first.session.model_id == model_id:
        view = patients.first.view
        aim = view.aim and view.aim.model_dump(include=set(Aim.__slots__))
        return {"budget": view.budget.limit, "aim": aim}
    budget = usual_budget(model)
    return {"budget": None if budget is None else from_micros(budget)}


def answer_first_question(
    db: Transaction, call: SessionCall, model: Model, form: Any, text: str
) -> None:
    """Answer the first question; the case's own page asks again for an odd value."""
    catalogue, name = model.ensemble.catalogue, field_text(form, "feature")
    if name not in catalogue.feature_idxs:
        rule = unknown_feature_rule(catalogue, name)
        raise RefusedError([Refusal("feature", rule)])
    feature = catalogue.features[catalogue.feature_idxs[name]]
    try:
        value = read_typed(feature, text, "value")
    except RefusedError:
        return
    answer = {"feature": name, "outcome": "value", "value": value}
    body = AnswersRequest.model_validate({"answers": [answer]})
    if not checks.check(db, call, body).warnings:
        answering.answer(db, call, body)
