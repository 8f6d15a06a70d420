"""Play hooks on the service: prepare sessions, try orders, take feedback."""

import json
from hashlib import sha256
from typing import Any, NamedTuple

from askless.app.documents.http import sessions as bodies
from askless.app.documents.http.sessions import AnswersRequest, PredictRequest
from askless.app.documents.words import Outcome
from askless.app.doors.cds.bodies import Feedback, FeedbackRequest, HookRequest
from askless.app.doors.records.observations import (
    KnownValue,
    Record,
    feature_of_concept,
    list_resources,
    map_codes,
    read_record,
)
from askless.app.errors import NotFoundError
from askless.app.records import Moment
from askless.app.service import models
from askless.app.service import sessions as service
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions import answering, checks, lists
from askless.app.service.sessions.opened import (
    OpenSession,
    SessionCall,
    find,
    find_open,
)
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.code_systems import SYSTEMS
from askless.core.catalogue.prices import from_micros
from askless.core.errors import ClosedError, OverBudgetError, UselessAnswerError
from askless.core.table.texts.categories import label_of

Json = dict[str, Any]
MOST_SUMMARY = 140
SOURCE = "Askless"
# Reasons to override the proposal of a test.
REASONS = (
    ("refused", "The patient does not want it"),
    ("unavailable", "It can't be done here"),
    ("unknown", "Other"),
)
REASON_SYSTEM = "https://askless.example/fhir/override-reason"


class CardPlace(NamedTuple):
    """The session that a card is about, and the feature if there is one."""

    session_id: str
    feature_idx: int | None


def write_id(place: CardPlace) -> str:
    """Return a UUID (version 8, RFC 9562) of a session's id and a feature's number."""
    number = 0 if place.feature_idx is None else place.feature_idx + 1
    free = place.session_id.removeprefix("ses_") + f"{number:06x}"
    text = f"{free[:12]}8{free[12:15]}8{free[15:]}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def read_id(text: str) -> CardPlace:
    """Return session and feature of a card from an id that `write_id` wrote."""
    digits = text.lower().replace("-", "")
    free = digits[:12] + digits[13:16] + digits[17:]
    number = int(free[24:], 16)
    return CardPlace(f"ses_{free[:24]}", number - 1 if number else None)


def summarise_case(view: bodies.Session) -> str:
    """Return the class that is most probable, its chance, and the next test."""
    prediction, question = view.prediction, view.question
    assert prediction is not None, "it was not erased"
    chance = f"{prediction.display}: {prediction.probability:.0%}"
    if question is None or view.should_stop:
        rest = "no further test is worth its price"
    else:
        price = money(question.price, view.budget.unit)
        rest = f"next {question.label} ({price})"
    return shorten(f"{chance}; {rest}")


def money(value: float, unit: str) -> str:
    return f"{value:g} {unit}".strip()


def shorten(text: str) -> str:
    return text if len(text) < MOST_SUMMARY else f"{text[: MOST_SUMMARY - 2]}…"


def build_case_card(
    view: bodies.Session,
    catalogue: Catalogue,
    record: Record,
    patient_id: str,
    base: str,
) -> Json:
    """Return the card of a case: its chance, its next test, what is known."""
    question = None if view.should_stop else view.question
    idx = None if question is None else catalogue.feature_idxs[question.feature]
    card: Json = {
        "uuid": write_id(CardPlace(view.id, idx)),
        "summary": summarise_case(view),
        "indicator": "info",
        "detail": describe_case(view, catalogue, record) or "Nothing is known so far.",
        "source": {"label": SOURCE, "url": base},
        "links": [link_to_case(view, "Work through the case", base)],
    }
    if idx is not None and question is not None:
        feature = catalogue.features[idx]
        card["overrideReasons"] = [
            {"code": code, "system": REASON_SYSTEM, "display": text}
            for code, text in REASONS
        ]
        if feature.code is not None:
            price = money(question.price, view.budget.unit)
            card["suggestions"] = [
                suggest_order(card["uuid"], feature, price, patient_id)
            ]
            card["selectionBehavior"] = "any"
    return card


def describe_case(view: bodies.Session, catalogue: Catalogue, record: Record) -> str:
    """Return why the next test is asked, which values are known, and what is not."""
    lines = []
    if view.question is not None and not view.should_stop:
        lines.append(view.question.why)
    if view.stop_words:
        lines.append(view.stop_words)
    features = catalogue.features
    for name, result in record.known.items():
        feature = features[catalogue.feature_idxs[name]]
        value = result_text(feature, result.value)
        lines.append(f"- {feature.title}: {value}{date_note(result)}")
    for name, reason in record.left_out.items():
        title = features[catalogue.feature_idxs[name]].title
        lines.append(f"- {title}: left out{date_note(reason)}, since {reason.value}")
    return "\n".join(lines)


def result_text(feature: Feature, value: Any) -> str:
    return f"{label_of(feature, f'{value}')} {feature.unit or ''}".strip()


def date_note(result: KnownValue) -> str:
    return f" ({result.at[:10]})" if result.at else ""


def suggest_order(card_id: str, feature: Feature, price: str, patient_id: str) -> Json:
    """Return the suggestion to order a test."""
    assert feature.system is not None, "a code has its system"
    system = SYSTEMS.get(feature.system, feature.system)
    # Without a display: a code system has its own words for a code.
    coding = {"system": system, "code": feature.code}
    text = f"Order: {feature.title} ({price})"
    request = {
        "resourceType": "ServiceRequest",
        "status": "draft",
        "intent": "order",
        "code": {"coding": [coding], "text": feature.title},
        "subject": {"reference": f"Patient/{patient_id}"},
    }
    action = {"type": "create", "description": text, "resource": request}
    return {"label": text, "uuid": card_id, "actions": [action]}


def known_result_card(
    view: bodies.Session, feature: Feature, value: Any, base: str
) -> Json:
    """Return the card of an order whose result is known or awaited; None: awaited."""
    if value is None:
        return needless_card(view, f"{feature.title} is ordered already", base)
    text = f"{feature.title} is known already: {result_text(feature, value)}"
    return needless_card(view, text, base)


def useless_result_card(
    view: bodies.Session, feature: Feature, error: UselessAnswerError, base: str
) -> Json:
    """Return a card that warns of an order whose result can't change the prediction."""
    price = money(from_micros(error.price), view.budget.unit)
    text = f"{feature.title} ({price}) would not change the prediction"
    return needless_card(view, text, base)


def needless_card(view: bodies.Session, text: str, base: str) -> Json:
    """Return the card that warns of a needless order; it names no feature."""
    return {
        "uuid": write_id(CardPlace(view.id, None)),
        "summary": shorten(text),
        "indicator": "warning",
        "source": {"label": SOURCE, "url": base},
        "links": [link_to_case(view, "See the case", base)],
    }


def link_to_case(view: bodies.Session, label: str, base: str) -> Json:
    address = f"{base}/ui/sessions/{view.id}"
    return {"label": label, "url": address, "type": "absolute"}


# A test with one of these outcomes need not be ordered again.
HAD = ("known", "value", "ordered")


class HookContext(NamedTuple):
    """What a call needs of the application."""

    loaded: LoadedModels
    #: `askless.app.settings.settings.Settings`
    settings: Any
    at: Moment
    base: str


def answer(
    db: Transaction, using: HookContext, name: str, body: HookRequest
) -> list[Json]:
    """Return the cards of a hook: needless orders first, then the case."""
    catalogue = models.load(db, using.loaded, name).ensemble.catalogue
    patient_id = body.context.patient_id
    record = read_record(body.prefetch or {}, catalogue, using.at.now, patient_id)
    opened = start_or_resume_session(db, using, name, body, record.known)
    view, catalogue = opened.view, opened.model.ensemble.catalogue
    cards = []
    if body.hook == "order-select":
        cards = check_orders(db, using, opened, body)
    return [*cards, build_case_card(view, catalogue, record, patient_id, using.base)]


def start_or_resume_session(
    db: Transaction,
    using: HookContext,
    name: str,
    body: HookRequest,
    known: dict[str, KnownValue],
) -> OpenSession:
    """Start the session of a hook; called again, the hook has the same one.

    If other values are known meanwhile, it has another one: a card says what its
    session rests on, and never shows one patient's session on another's chart.
    """
    values = {feature: result.value for feature, result in known.items()}
    digest = sha256(json.dumps([name, body.hook_instance, values]).encode())
    reference = f"cds:{digest.hexdigest()[:32]}:{body.hook_instance}"[:200]
    session = lists.find_referred(db, reference, using.at)
    if session is not None:
        opened = find(db, SessionCall(session.id, using.loaded, using.at))
        if isinstance(opened, OpenSession):
            return opened
    suggest_order = {
        "model": name,
        "budget": using.settings.cds_budget,
        "known": values,
        "client_ref": reference,
    }
    request = PredictRequest.model_validate(suggest_order)
    return service.start(db, using.loaded, request, using.at)


def check_orders(
    db: Transaction, using: HookContext, opened: OpenSession, body: HookRequest
) -> list[Json]:
    """Return a card for each selected order that would change nothing."""
    view, codes = opened.view, map_codes(opened.model.ensemble.catalogue)
    given_answers = {given.feature: given for given in view.answers}
    cards = []
    for resource in list_resources(body.context.draft_orders):
        name = f"{resource.get('resourceType')}/{resource.get('id')}"
        feature = feature_of_concept(resource.get("code"), codes)
        if feature is None or name not in body.context.selections:
            continue
        before = given_answers.get(feature.name)
        if before is not None and before.outcome in HAD:
            cards.append(known_result_card(view, feature, before.value, using.base))
            continue
        call = SessionCall(opened.session.id, using.loaded, using.at)
        ordered = [{"feature": feature.name, "outcome": "ordered"}]
        try:
            checks.check(db, call, AnswersRequest.model_validate({"answers": ordered}))
        except UselessAnswerError as error:
            cards.append(useless_result_card(view, feature, error, using.base))
        # That it can't be paid, or that the case has ended, its own card says.
        except (OverBudgetError, ClosedError):
            continue
    return cards


def store_feedback(
    db: Transaction, using: HookContext, name: str, body: FeedbackRequest
) -> None:
    """Write feedback into the cases of a model; what a case has already stays.

    An accepted order is `ordered`, and charged; a card that is overridden refuses its
    test, or says of it what the reason says. Cards about no test change nothing.
    """
    model_name = models.get_head(db, name).name
    for feedback_item in body.feedback:
        place = read_id(feedback_item.card)
        call = SessionCall(place.session_id, using.loaded, using.at)
        opened = find_open(db, call)
        if opened.model.name != model_name:
            raise NotFoundError("card")
        outcome = outcome_of_feedback(feedback_item)
        features = opened.model.ensemble.catalogue.features
        idx = place.feature_idx
        if outcome is None or idx is None or idx >= len(features):
            continue
        # An answer that came in since counts more than the feedback.
        if opened.state.outcomes[idx] is not None:
            continue
        answers = [{"feature": features[idx].name, "outcome": outcome}]
        request = AnswersRequest.model_validate({"answers": answers})
        answering.answer(db, call, request)


def outcome_of_feedback(feedback: Feedback) -> Outcome | None:
    """Return the outcome that feedback means for its test; None: nothing."""
    if feedback.outcome == "accepted":
        is_ordered = any(
            str(item.get("id")).lower() == feedback.card.lower()
            for item in feedback.accepted_suggestions
        )
        return "ordered" if is_ordered else None
    reason = (
        feedback.override_reason.reason
        if feedback.override_reason is not None
        else None
    )
    if reason is not None and reason.get("system") == REASON_SYSTEM:
        for code, _ in REASONS:
            if reason.get("code") == code:
                return code  # type: ignore[return-value]  # a reason is an outcome
    return "refused"
