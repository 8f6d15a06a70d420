"""The patients of a demo side by side, as home shows them."""

from typing import NamedTuple

from askless.app.documents.http.sessions import Session
from askless.app.service.sessions.played import Patients, PlayedCase
from askless.app.words.case_words import answer_words
from askless.app.words.own_questions import RULE, describe_own_questions
from askless.app.words.stops import describe_stop, to_sentence
from askless.app.words.trust import describe_aim
from askless.app.words.wording import money
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
        name_event(session, displays),
        list_rows(session, model),
        to_sentence(describe_stop(model.ensemble, case.advised)),
        displays[case.outcome.label],
        case.is_right,
    )


def name_event(session: Session, displays: dict[str, str]) -> str:
    """Return the class whose chance the steps of a session have."""
    assert session.prediction is not None, "its answers were erased"
    steps = session.prediction.steps
    return displays[steps[0].label] if steps else session.prediction.display


def list_rows(session: Session, model: Model) -> tuple[AnswerRow, ...]:
    """Return the answers in the order in which they came."""
    assert session.prediction is not None, "its answers were erased"
    catalogue = model.ensemble.catalogue
    given = {answer.feature: answer for answer in session.answers}
    rows = []
    for step in session.prediction.steps:
        feature = catalogue.features[catalogue.feature_idxs[step.feature]]
        answer = given[step.feature]
        words = answer_words(feature, answer)
        rows.append(AnswerRow(feature.title, words, answer.charged, step.after))
    return tuple(rows)
