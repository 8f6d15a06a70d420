"""Home page: what Askless is for, a case to try, models, cases and trainings."""

from typing import NamedTuple

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.documents.http.sessions import Session
from askless.app.http.plumbing.auth import Called, needs
from askless.app.http.plumbing.deps import At, Loaded, ReadDb
from askless.app.pages.cases.leads import make_lead_card
from askless.app.pages.cases.trying import choose_claim, make_offer
from askless.app.pages.plumbing.frame import render
from askless.app.records import FINAL_STATES, ModelHead, Page, SessionFilter, StoredJob
from askless.app.service import models
from askless.app.service.jobs import trainings
from askless.app.service.sessions import lists
from askless.app.service.sessions.played import Patients, PlayedCase, find_patients
from askless.app.words.case_words import answer_text
from askless.app.words.charts.charts import NamedCurve, draw_curves
from askless.app.words.charts.svg import to_standalone
from askless.app.words.own_questions import RULE, describe_own_questions
from askless.app.words.savings import half_spend_place
from askless.app.words.stops import describe_stop, to_sentence
from askless.app.words.trust import describe_aim
from askless.app.words.wording import money, percent
from askless.core.model.model import Model


class AnswerRow(NamedTuple):
    """A question with its answer, its charge in units, and the chance after it."""

    title: str
    answer: str
    charged: float
    chance: float


class PatientCard(NamedTuple):
    """A patient's case from the first question to the truth."""

    session: Session
    n_questions: int
    #: the class whose chance stands beside each answer
    event: str
    rows: tuple[AnswerRow, ...]
    end: str
    truth: str
    is_right: bool


class PatientsWords(NamedTuple):
    """Words and cards by which home shows the patients of a model."""

    model_name: str
    cards: tuple[PatientCard, ...]
    terms: str
    rule: str
    n_played: int
    n_right: int


def describe_patients(patients: Patients) -> PatientsWords:
    cards = tuple(map(describe_patient, patients.cases))
    model = patients.first.model
    terms = describe_terms(patients, cards[0].session)
    counts = patients.n_played, patients.n_right
    return PatientsWords(model.name, cards, terms, RULE, *counts)


def describe_terms(patients: Patients, session: Session) -> str:
    """Return what makes the cases differ: own questions of each case, or an aim."""
    model, limit = patients.first.model, patients.first.state.budget
    most = "Without a limit"
    if limit is not None:
        most = f"With at most {money(limit, session.budget.unit)} a case"
    own = describe_own_questions(model)
    if session.aim is None:
        return f"{most} each is asked what its answers so far call for." + (
            f" The model {own}." if own else ""
        )
    by_aim = (
        f"{most}, and by an aim: easy cases end early and lend their money to hard "
        f"ones. {describe_aim(model, session)}"
    )
    return by_aim + (f" Under a budget alone: {own}." if own else "")


def describe_patient(case: PlayedCase) -> PatientCard:
    model, session = case.opened.model, case.opened.view
    displays = {label.label: label.display for label in model.ensemble.classes}
    return PatientCard(
        session,
        len(case.questions),
        event_of_steps(session, displays),
        list_answer_rows(session, model),
        to_sentence(describe_stop(model.ensemble, case.advised)),
        displays[case.outcome.label],
        case.is_right,
    )


def event_of_steps(session: Session, displays: dict[str, str]) -> str:
    """Return the class whose chance the steps of a session have."""
    assert session.prediction is not None, "its answers were erased"
    steps = session.prediction.steps
    return displays[steps[0].label] if steps else session.prediction.display


def list_answer_rows(session: Session, model: Model) -> tuple[AnswerRow, ...]:
    """Return the answers in the order in which they came."""
    assert session.prediction is not None, "its answers were erased"
    catalogue = model.ensemble.catalogue
    given = {answer.feature: answer for answer in session.answers}
    rows = []
    for step in session.prediction.steps:
        feature = catalogue.features[catalogue.feature_idxs[step.feature]]
        answer = given[step.feature]
        words = answer_text(feature, answer)
        rows.append(AnswerRow(feature.title, words, answer.charged, step.after))
    return tuple(rows)


router = APIRouter(prefix="/ui", include_in_schema=False)
THUMBNAIL = (300, 190)
MOST = 12
# Open cases that are shown of each state; the page of sessions has them all.
MOST_CASES = 5
MODELS, SESSIONS, TRAININGS = "models:read", "predict:read", "train:read"
STARTS = "predict:write"
# The text colour of a picture, which does not load the page's style sheet.
INK = "svg { color: #444 } @media (prefers-color-scheme: dark) { svg { color: #ccc } }"


class CardWords(NamedTuple):
    """What the card of a model says beside its picture."""

    classes: tuple[str, ...]
    n_tests: int
    #: of the curve, for those who do not see it; "" without one
    curve: str
    errors: str


@router.get("")
def show_home(
    request: Request,
    db: ReadDb,
    at: At,
    loaded: Loaded,
    caller: Called,
    lead: int = 1,
) -> HTMLResponse:
    """Show models, sessions and trainings that the caller may see.

    `lead` is the one of the demo's that stands first.
    """
    heads: Page[ModelHead] = Page((), None)
    if MODELS in caller.scopes:
        heads = models.page(db, MOST, None)
    sessions, patients = [], find_patients(db, loaded, caller.scopes)
    if SESSIONS in caller.scopes:
        for state in ("open", "waiting"):
            filters = SessionFilter(state, None, None)
            sessions += lists.page(db, MOST_CASES, None, at, filters).items
    under_way: list[StoredJob] = []
    if TRAININGS in caller.scopes:
        latest = trainings.page(db, MOST, None).items
        under_way = [
            training for training in latest if training.state not in FINAL_STATES
        ]
    # The model whose cases differ comes before one that asks all the same.
    first = None if patients is None else patients.first.session.model_id
    listed = sorted(heads.items, key=lambda head: head.id != first)
    shown = {head.id: models.load(db, loaded, head.id) for head in listed}
    return render(
        request,
        "home.html",
        leads=make_lead_card(db, lead, at.now) if STARTS in caller.scopes else None,
        models=listed,
        cards={key: describe_card(model) for key, model in shown.items()},
        offer=make_offer(shown, patients) if STARTS in caller.scopes else None,
        patients=None if patients is None else describe_patients(patients),
        claim=choose_claim(shown.values()) if STARTS in caller.scopes else None,
        has_more=heads.next is not None,
        sessions=sessions,
        trainings=under_way,
        wanting=[scope for scope in (MODELS, SESSIONS) if scope not in caller.scopes],
    )


def describe_card(model: Model) -> CardWords:
    """Return the classes, the number of tests that are read, and the errors."""
    ensemble = model.ensemble
    # Of two classes the positive one, which has the chances, comes first.
    classes = ensemble.classes[:: -1 if ensemble.n_outputs == 1 else 1]
    return CardWords(
        tuple(label.display for label in classes),
        int(ensemble.is_used.sum()),
        describe_curve(model) if model.curve else "",
        describe_errors(model) if model.curve else "",
    )


def describe_errors(model: Model) -> str:
    """Return the error at half of the full mean cost, and at full cost."""
    curve, unit = model.curve, model.ensemble.catalogue.cost_unit
    assert curve is not None
    full = f"{percent(curve.errors_calibrated[-1])} at full cost"
    half = half_spend_place(curve)
    # A mean is rounded to the cent.
    spend = money(round(curve.mean_spends[-1], -4), unit)
    if half is None or curve.mean_spends[-1] <= 0:
        words = f"{full}, {spend} a case"
    else:
        error = percent(curve.errors_calibrated[half])
        words = f"{error} at half, {full} ({spend} a case)"
    # A number and its sign stay on one line.
    return words.replace(" %", "\N{NO-BREAK SPACE}%")


def describe_curve(model: Model) -> str:
    """Describe a model's curve in a sentence, for screen readers."""
    curve = model.curve
    assert curve is not None
    first, last = (percent(curve.errors_calibrated[idx]) for idx in (0, -1))
    # A mean is rounded to the cent.
    spend = money(round(curve.mean_spends[-1], -4), model.ensemble.catalogue.cost_unit)
    return f"Error falls from {first} for nothing to {last} for {spend} a case"


@router.get("/models/{id}/curve.svg", dependencies=[needs("models")])
def draw_curve(id: str, db: ReadDb, loaded: Loaded) -> Response:
    """Return a model's curve as a small picture; a model never changes."""
    model = models.load(db, loaded, id)
    if model.curve is None:
        raise HTTPException(404)
    headers = {
        "Cache-Control": "private, max-age=86400",
        # Its colours are a style within it; opened by itself it can do nothing else.
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    }
    curves = [NamedCurve(model.name, model.curve)]
    chart = draw_curves(curves, model.ensemble.catalogue.cost_unit, THUMBNAIL)
    picture = to_standalone(chart, INK)
    return Response(picture, headers=headers, media_type="image/svg+xml")
