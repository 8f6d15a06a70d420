"""Play hooks on the service: prepare sessions, try orders, take feedback."""

import json
from hashlib import sha256
from typing import Any, NamedTuple

from askless.app.documents.http.sessions import AnswersRequest, PredictRequest
from askless.app.documents.words import Outcome
from askless.app.doors.cds.bodies import Feedback, FeedbackRequest, HookRequest
from askless.app.doors.cds.cards import (
    REASON_SYSTEM,
    REASONS,
    case_card,
    known_order_card,
    read_id,
    useless_order_card,
)
from askless.app.doors.records.observations import (
    KnownValue,
    find_feature,
    list_resources,
    map_codes,
    read_known,
)
from askless.app.errors import NotFoundError
from askless.app.records import Moment
from askless.app.service import models
from askless.app.service import sessions as service
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions import answering, checks, lists
from askless.app.service.sessions.opened import (
    ErasedSession,
    OpenSession,
    SessionCall,
    find,
)
from askless.app.store.database.transactions import Transaction
from askless.core.errors import ClosedError, OverBudgetError, UselessAnswerError

Json = dict[str, Any]
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
    catalogue = models.find(db, using.loaded, name).ensemble.catalogue
    patient_id = body.context.patient_id
    known = read_known(body.prefetch or {}, catalogue, using.at.now, patient_id)
    opened = prepare(db, using, name, body, known)
    view, catalogue = opened.view, opened.model.ensemble.catalogue
    cards = []
    if body.hook == "order-select":
        cards = judge_orders(db, using, opened, body)
    return [*cards, case_card(view, catalogue, known, patient_id, using.base)]


def prepare(
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
    order = {
        "model": name,
        "budget": using.settings.cds_budget,
        "known": values,
        "client_ref": reference,
    }
    request = PredictRequest.model_validate(order)
    return service.start(db, using.loaded, request, using.at)


def judge_orders(
    db: Transaction,
    using: HookContext,
    opened: OpenSession,
    body: HookRequest,
) -> list[Json]:
    """Return a card for each selected order that would change nothing."""
    view, codes = opened.view, map_codes(opened.model.ensemble.catalogue)
    taken = {given.feature: given for given in view.answers}
    cards = []
    for resource in list_resources(body.context.draft_orders):
        name = f"{resource.get('resourceType')}/{resource.get('id')}"
        feature = find_feature(resource.get("code"), codes)
        if feature is None or name not in body.context.selections:
            continue
        before = taken.get(feature.name)
        if before is not None and before.outcome in HAD:
            cards.append(known_order_card(view, feature, before.value, using.base))
            continue
        call = SessionCall(opened.session.id, using.loaded, using.at)
        ordered = [{"feature": feature.name, "outcome": "ordered"}]
        try:
            checks.check(db, call, AnswersRequest.model_validate({"answers": ordered}))
        except UselessAnswerError as error:
            cards.append(useless_order_card(view, feature, error, using.base))
        # That it can't be paid, or that the case has ended, its own card says.
        except (OverBudgetError, ClosedError):
            continue
    return cards


def take_feedback(
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
        opened = find(db, call)
        if isinstance(opened, ErasedSession):
            raise ClosedError("the session was erased")
        if opened.model.name != model_name:
            raise NotFoundError("card")
        outcome = outcome_of(feedback_item)
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


def outcome_of(feedback: Feedback) -> Outcome | None:
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
