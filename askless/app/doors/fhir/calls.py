"""Answer a call by the service: start a session, or give it what is new."""

from typing import Any, NamedTuple

from pydantic import ValidationError

from askless.app.documents.http.sessions import (
    AnswersRequest,
    PredictRequest,
)
from askless.app.documents.shape import path_text, rule_text
from askless.app.doors.fhir.requests import ItemAnswer, SentResponse
from askless.app.doors.fhir.shapes import refused
from askless.app.doors.records.answers import CODED, convert, explain_units
from askless.app.errors import NotFoundError
from askless.app.records import Moment
from askless.app.service import models
from askless.app.service import sessions as service
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions import answering
from askless.app.service.sessions.opened import OpenSession, SessionCall, find_open
from askless.app.service.sessions.views import answers_of
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import from_micros
from askless.core.errors import Refusal, RefusedError


class Turn(NamedTuple):
    """What a call comes to: a session, and what its answers were charged."""

    opened: OpenSession
    n_answers: int
    #: in micro-units
    charged: int


class FormContext(NamedTuple):
    """What a call needs of the application."""

    loaded: LoadedModels
    at: Moment
    #: the address of the door, as callers know it
    base: str


def answer_call(
    db: Transaction, using: FormContext, key: str | None, sent: SentResponse
) -> Turn:
    """Start the session of a first call; else give its answers to the session.

    `key` is the model of the address. Raises what the service raises, with paths in the
    resource.
    """
    if sent.session_id is None:
        return start_session(db, using, key, sent)
    versions = None if sent.version is None else frozenset((sent.version,))
    call = SessionCall(sent.session_id, using.loaded, using.at, versions)
    opened = find_open(db, call)
    refuse_other_session(db, opened, key, sent)
    new_answers = list_new_answers(opened, sent.answers)
    if new_answers:
        turn = give_answers(db, call, new_answers)
    else:
        turn = Turn(find_open(db, call), 0, 0)
    if not sent.ends:
        return turn
    # New answers have made another version; else somebody may have answered meanwhile.
    ended = service.stop(db, call._replace(versions=None) if new_answers else call)
    assert isinstance(ended, OpenSession), "it was open in this transaction"
    return turn._replace(opened=ended)


def start_session(
    db: Transaction, using: FormContext, key: str | None, sent: SentResponse
) -> Turn:
    """Start a session; values that a first call has are known, and free."""
    if sent.ends:
        raise refused("status", "must be in-progress at a first call")
    known = {}
    for answer in sent.answers:
        if answer.outcome != "value":
            rule = "must not be there at a first call, which has values known before"
            raise refused(answer.path, rule)
        if answer.feature in known:
            raise refused(f"{answer.path}.linkId", "must stand once")
        known[answer.feature] = answer
    identifier = sent.raw.get("identifier")
    order: dict[str, Any] = {
        "model": key or sent.form,
        "budget": sent.budget,
        "known": {name: given.value for name, given in known.items()},
    }
    if isinstance(identifier, dict) and identifier.get("value") is not None:
        order["client_ref"] = identifier["value"]
    paths = {"budget": "extension", "model": "questionnaire"}
    paths |= {"client_ref": "identifier.value"}
    paths |= {f"known.{name}": given.path for name, given in known.items()}
    try:
        request = PredictRequest.model_validate(order)
    except ValidationError as error:
        raise rename_refusals(list_refusals(error), paths) from None
    catalogue = models.load(db, using.loaded, request.model).ensemble.catalogue
    own = to_own_forms(catalogue, list(known.values()))
    values = {answer.feature: answer.value for answer in own}
    request = request.model_copy(update={"known": values})
    try:
        opened = service.start(db, using.loaded, request, using.at)
    except RefusedError as error:
        raise rename_refusals(error.refusals, paths) from None
    refuse_other_session(db, opened, key, sent)
    return Turn(opened, 0, 0)


def refuse_other_session(
    db: Transaction, opened: OpenSession, key: str | None, sent: SentResponse
) -> None:
    """Refuse a form of another model, and another budget than the session's."""
    session = opened.session
    for named in (key, sent.form):
        if named not in (None, session.model_id, opened.model.name) and (
            model_id_of_version(db, str(named)) != session.model_id
        ):
            raise refused("questionnaire", "must be the form of the session's model")
    if sent.budget is None:
        return
    if sent.unit not in (None, session.unit):
        raise refused("extension", f"must have a budget in {session.unit or 'no unit'}")
    limit = session.budget_limit
    if limit is None or from_micros(limit) != sent.budget:
        rule = "must be the session's budget; PATCH /predict/{id} changes it"
        raise refused("extension", rule)


def model_id_of_version(db: Transaction, key: str) -> str | None:
    """Return the id of the model that a name with a version means."""
    try:
        return models.get_head(db, key).id
    except NotFoundError:
        return None


def list_new_answers(
    opened: OpenSession, answers: list[ItemAnswer]
) -> list[ItemAnswer]:
    """Return the answers that are new or changed.

    Leaves out what a form repeats: a value known from the start, which is no purchase,
    and an order of what has come in since. What was known may still be ordered.
    """
    ensemble, state = opened.model.ensemble, opened.state
    answers = to_own_forms(ensemble.catalogue, answers)
    old_answers = {
        answer["feature"]: answer
        for answer in answers_of(ensemble, state, opened.texts)
    }
    return [
        answer
        for answer in answers
        if not is_already_taken(old_answers.get(answer.feature), answer)
    ]


def is_already_taken(old: dict[str, Any] | None, sent: ItemAnswer) -> bool:
    """Return whether the last answer, as in `answers_of`, says the same already."""
    if old is None:
        return False
    outcome = old["outcome"]
    if outcome not in ("known", "value") or sent.outcome != "value":
        is_late = (outcome, sent.outcome) == ("value", "ordered")
        return is_late or outcome == sent.outcome
    return is_same_value(old["value"], sent.value)


def is_same_value(old: Any, sent: Any) -> bool:
    """Return whether a value is the one that was taken, however JSON writes it."""
    if isinstance(old, str) or isinstance(sent, str):
        return isinstance(sent, str) and sent.strip() == old
    # The service refuses a boolean for a number, but takes 1 for true.
    return old == sent and (isinstance(old, bool) or not isinstance(sent, bool))


def give_answers(
    db: Transaction, call: SessionCall, new_answers: list[ItemAnswer]
) -> Turn:
    """Add new answers to a session; refusals name paths of the resource."""
    paths = {}
    for position, answer in enumerate(new_answers):
        paths[f"answers[{position}].feature"] = f"{answer.path}.linkId"
        paths[f"answers[{position}].value"] = f"{answer.path}.answer"
        paths[f"answers[{position}].outcome"] = f"{answer.path}.extension"
        paths[answer.feature] = answer.path
    answers = [
        {"feature": answer.feature, "outcome": answer.outcome, "value": answer.value}
        for answer in new_answers
    ]
    try:
        request = AnswersRequest.model_validate({"answers": answers})
        opened, charged = answering.answer(db, call, request)
    except ValidationError as error:
        raise rename_refusals(list_refusals(error), paths) from None
    except RefusedError as error:
        raise rename_refusals(error.refusals, paths) from None
    return Turn(opened, len(new_answers), charged)


def to_own_forms(catalogue: Catalogue, answers: list[ItemAnswer]) -> list[ItemAnswer]:
    """Return answers with numbers in their features' units, and coded yes and no.

    Raises RefusedError for units that can't be converted.
    """
    refusals, converted = [], []
    for answer in answers:
        idx = catalogue.feature_idxs.get(answer.feature)
        value = answer.value
        if idx is not None:
            feature = catalogue.features[idx]
            units = [unit for unit in (feature.ucum, feature.unit) if unit is not None]
            if feature.type == "boolean":
                value = CODED.get((str(answer.system), str(value)), value)
            elif answer.unit is not None and units:
                value = convert(feature, value, answer.unit)
            if value is None and answer.value is not None:
                rule = f"must be in {' or '.join(dict.fromkeys(units))}"
                rule += ", or in a unit of UCUM that can be converted to it"
                rule += explain_units(answer.unit, units[0])
                where = f"{answer.path}.answer[0].valueQuantity"
                refusals.append(Refusal(where, rule))
        converted.append(answer._replace(value=value))
    if refusals:
        raise RefusedError(refusals)
    return converted


def list_refusals(error: ValidationError) -> list[Refusal]:
    return [
        Refusal(
            path_text(detail["loc"]), rule_text(detail["type"], detail.get("ctx", {}))
        )
        for detail in error.errors(include_url=False)
    ]


def rename_refusals(refusals: Any, paths: dict[str, str]) -> RefusedError:
    """Return refusals with their paths in the resource."""
    return RefusedError(
        Refusal(paths.get(refusal.field, refusal.field), refusal.rule)
        for refusal in refusals
    )
