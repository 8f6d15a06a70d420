"""Write cards. A card's id holds the session and the feature that it is about.

So feedback finds the case without a table of cards.
"""

from typing import Any, NamedTuple

from askless.app.documents.http import sessions as bodies
from askless.app.doors.records.observations import KnownValue
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.code_systems import SYSTEMS
from askless.core.catalogue.prices import from_micros
from askless.core.errors import UselessAnswerError

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
    """Return what a card is about; its id was written by `write_id`."""
    digits = text.lower().replace("-", "")
    free = digits[:12] + digits[13:16] + digits[17:]
    number = int(free[24:], 16)
    return CardPlace(f"ses_{free[:24]}", number - 1 if number else None)


def summarise(view: bodies.Session) -> str:
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


def case_card(
    view: bodies.Session,
    catalogue: Catalogue,
    known: dict[str, KnownValue],
    patient_id: str,
    base: str,
) -> Json:
    """Return the card of a case: its chance, its next test, what is known."""
    question = None if view.should_stop else view.question
    idx = None if question is None else catalogue.feature_idxs[question.feature]
    card: Json = {
        "uuid": write_id(CardPlace(view.id, idx)),
        "summary": summarise(view),
        "indicator": "info",
        "detail": describe(view, catalogue, known) or "Nothing is known so far.",
        "source": {"label": SOURCE, "url": base},
        "links": [link_to(view, "Work through the case", base)],
    }
    if idx is not None and question is not None:
        feature = catalogue.features[idx]
        card["overrideReasons"] = [
            {"code": code, "system": REASON_SYSTEM, "display": text}
            for code, text in REASONS
        ]
        if feature.code is not None:
            price = money(question.price, view.budget.unit)
            card["suggestions"] = [order(card["uuid"], feature, price, patient_id)]
            card["selectionBehavior"] = "any"
    return card


def describe(
    view: bodies.Session, catalogue: Catalogue, known: dict[str, KnownValue]
) -> str:
    """Return why the next test is asked, and which values the chance rests on."""
    lines = []
    if view.question is not None and not view.should_stop:
        lines.append(view.question.why)
    if view.stop_words:
        lines.append(view.stop_words)
    features = catalogue.features
    for name, result in known.items():
        feature = features[catalogue.feature_idxs[name]]
        value = f"{result.value} {feature.unit or ''}".strip()
        taken = f" ({result.at[:10]})" if result.at else ""
        lines.append(f"- {feature.title}: {value}{taken}")
    return "\n".join(lines)


def order(card_id: str, feature: Feature, price: str, patient_id: str) -> Json:
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


def known_order_card(
    view: bodies.Session, feature: Feature, value: Any, base: str
) -> Json:
    """Return the card of an order whose result is known or awaited; None: awaited."""
    if value is None:
        return needless_order_card(view, f"{feature.title} is ordered already", base)
    text = f"{value} {feature.unit or ''}".strip()
    return needless_order_card(view, f"{feature.title} is known already: {text}", base)


def useless_order_card(
    view: bodies.Session, feature: Feature, error: UselessAnswerError, base: str
) -> Json:
    """Return a card that warns of an order whose result can't change the prediction."""
    price = money(from_micros(error.price), view.budget.unit)
    text = f"{feature.title} ({price}) would not change the prediction"
    return needless_order_card(view, text, base)


def needless_order_card(view: bodies.Session, text: str, base: str) -> Json:
    """Return the card that warns of a needless order.

    It names no feature, so overriding it is no answer.
    """
    return {
        "uuid": write_id(CardPlace(view.id, None)),
        "summary": shorten(text),
        "indicator": "warning",
        "source": {"label": SOURCE, "url": base},
        "links": [link_to(view, "See the case", base)],
    }


def link_to(view: bodies.Session, label: str, base: str) -> Json:
    address = f"{base}/ui/sessions/{view.id}"
    return {"label": label, "url": address, "type": "absolute"}
