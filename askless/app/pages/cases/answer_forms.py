"""Reads the form of a question: its answers, and whether the user insists."""

from starlette.datastructures import FormData

from askless.app.documents.http.sessions import GivenAnswer
from askless.app.errors import NotFoundError
from askless.app.pages.plumbing.inputs import read_typed, text_in
from askless.app.service.sessions.opened import ErasedSession, SessionCall, find
from askless.app.store.database.transactions import Transaction
from askless.core.errors import ClosedError, Refusal, RefusedError

GIVEN = ("value", "unavailable", "refused", "unknown", "ordered")
EMPTY_RULE = 'Choose an answer, or press "Refused" or another button'


def read_answers(
    form: FormData, call: SessionCall, db: Transaction
) -> list[GivenAnswer]:
    """Return the answers of a form: of its feature, and of others in its bundle.

    Other features that are left empty are still pending. If a button gives an outcome
    without a value, that is the only answer. Raises ClosedError for an erased session,
    NotFoundError for an unknown feature or outcome, and RefusedError with every value
    that can't be read.
    """
    opened = find(db, call)
    if isinstance(opened, ErasedSession):
        raise ClosedError("the session takes no more answers")
    catalogue = opened.model.ensemble.catalogue
    asked = first_feature(form)
    outcome = text_in(form, "insist") or text_in(form, "outcome")
    if asked not in catalogue.feature_idxs or outcome not in GIVEN:
        raise NotFoundError("feature" if outcome in GIVEN else "outcome")
    if outcome != "value":
        return [GivenAnswer(feature=asked, outcome=outcome)]  # type: ignore[arg-type]  # one of GIVEN
    answers, refusals = [], []
    for name in dict.fromkeys((asked, *form.getlist("feature"))):
        if name not in catalogue.feature_idxs:
            continue
        field = f"value.{name}"
        # `other` is the field to type a category that is not among the choices.
        text = text_in(form, f"other.{name}") or text_in(form, field)
        if not text and name != asked:
            continue
        feature = catalogue.features[catalogue.feature_idxs[str(name)]]
        if not text:
            refusals.append(Refusal(field, EMPTY_RULE))
            continue
        try:
            value = read_typed(feature, text, field)
            answers.append(GivenAnswer(feature=name, outcome="value", value=value))
        except RefusedError as error:
            refusals += error.refusals
    if refusals:
        raise RefusedError(refusals)
    return answers


def is_insistent(form: FormData) -> bool:
    """Return whether a form insists on an answer that can't be used.

    Its field `insist` then has the outcome.
    """
    return bool(text_in(form, "insist"))


def first_feature(form: FormData) -> str:
    """Return a form's first feature, the asked one; others of its bundle follow."""
    names = form.getlist("feature")[:1]
    return names[0] if names and isinstance(names[0], str) else ""


def signature(answers: list[GivenAnswer]) -> str:
    """Return a signature of answers; a form that holds it confirms them."""
    return ";".join(one.model_dump_json() for one in answers)
