"""Write sessions as QuestionnaireResponses, and models as Questionnaires."""

from typing import Any

from askless.app.documents.http import sessions as bodies
from askless.app.documents.http.questions import Question
from askless.app.doors.fhir import vocabulary as words
from askless.app.doors.fhir.shapes import other_contained
from askless.app.doors.fhir.vocabulary import extension
from askless.app.service.sessions.opened import OpenSession
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.code_systems import SYSTEMS
from askless.core.table.texts.categories import label_of

Json = dict[str, Any]
FORM_ID = "form"
TYPES = {"number": "decimal", "boolean": "boolean"}
#: What a response keeps of the one that was sent.
KEPT = (
    *("id", "identifier", "basedOn", "partOf", "subject", "encounter", "author"),
    "source",
)


def build_response(
    opened: OpenSession, sent: Json, base: str
) -> tuple[Json, bodies.Session]:
    """Return a session as the response to send back, and as the API shows it."""
    view = opened.view
    catalogue = opened.model.ensemble.catalogue
    answers = view.answers
    copied = {name: sent[name] for name in KEPT if name in sent}
    profile = (
        {"meta": {"profile": [words.RESPONSE_PROFILE]}} if "subject" in copied else {}
    )
    response = {
        "resourceType": "QuestionnaireResponse",
        **profile,
        **copied,
        "contained": [
            build_contained_form(view, catalogue, answers, base),
            *(entry for entry in other_contained(sent) if entry.get("id") != FORM_ID),
        ],
        "extension": session_extensions(view),
        "questionnaire": f"#{FORM_ID}",
        "status": response_status(view),
        "authored": f"{view.updated_at:%Y-%m-%dT%H:%M:%S}Z",
    }
    if answers:
        items = {feature.name: feature for feature in catalogue.features}
        response["item"] = [
            answered_item(items[answer.feature], answer, view.budget.unit)
            for answer in answers
        ]
    return response, view


def response_status(view: bodies.Session) -> str:
    """Return `completed` where nothing more need be asked and nothing is awaited."""
    if view.state == "closed":
        return "completed"
    is_done = unanswered_question(view) is None and not view.pending
    return "completed" if is_done else "in-progress"


def unanswered_question(view: bodies.Session) -> Question | None:
    """Return the question to ask: none where the session advises to stop."""
    return None if view.should_stop or view.state == "closed" else view.question


def session_extensions(view: bodies.Session) -> list[Json]:
    """Return the extensions of a response: amounts and chances."""
    budget = view.budget
    extensions = [
        extension("session", valueString=view.id),
        extension("version", valueInteger=view.version),
        extension("spent", valueQuantity=amount(budget.spent, budget.unit)),
    ]
    for name, value in (("budget", budget.limit), ("remaining", budget.remaining)):
        if value is not None:
            extensions.append(extension(name, valueQuantity=amount(value, budget.unit)))
    if view.prediction is not None:
        extensions += map(to_chance_extension, view.prediction.classes)
    if view.stop_words:
        extensions.append(extension("stop-reason", valueString=view.stop_words))
    extensions += (
        extension("warning", valueString=f"{warning.feature}: {warning.detail}")
        for warning in view.warnings
    )
    return extensions


def to_chance_extension(predicted: bodies.ClassProbability) -> Json:
    parts = [
        {"url": "label", "valueString": predicted.label},
        {"url": "display", "valueString": predicted.display},
        {"url": "probability", "valueDecimal": round(predicted.probability, 6)},
    ]
    return extension("chance", extension=parts)


def amount(value: float, unit: str) -> Json:
    return {"value": value, "unit": unit} if unit else {"value": value}


def build_contained_form(
    view: bodies.Session,
    catalogue: Catalogue,
    answers: list[bodies.TakenAnswer],
    base: str,
) -> Json:
    """Return the form so far: an item for each answer, and for the question if any."""
    features = {feature.name: feature for feature in catalogue.features}
    items = [feature_item(features[answer.feature]) for answer in answers]
    question = unanswered_question(view)
    if question is not None:
        items.append(asked_item(features, question, view.budget.unit))
    form = {
        "resourceType": "Questionnaire",
        "id": FORM_ID,
        "extension": [{"url": words.ADAPTIVE, "valueBoolean": True}],
        "identifier": [{"system": words.SESSION_SYSTEM, "value": view.id}],
        "title": view.model.name,
        "derivedFrom": [form_address(view.model.id, base)],
        "status": "active",
        "subjectType": ["Patient"],
    }
    return form | ({"item": items} if items else {})


def form_address(model_id: str, base: str) -> str:
    return f"{base}/Questionnaire/{words.to_fhir_id(model_id)}"


def feature_item(feature: Feature) -> Json:
    """Return a feature as an item: its text, code, unit, limits and options."""
    item: Json = {"linkId": feature.name}
    if extensions := [*extensions_of_number(feature)]:
        item["extension"] = extensions
    if feature.code is not None and feature.system is not None:
        # Without a display: a code system has its own words for a code.
        system = SYSTEMS.get(feature.system, feature.system)
        item["code"] = [{"system": system, "code": feature.code}]
    item |= {"text": feature.text, "type": item_type(feature), "required": False}
    if feature.type == "category":
        item["answerOption"] = [
            answer_option(*choice)
            for choice in zip(feature.categories, feature.shown_categories, strict=True)
        ]
    return item


def item_type(feature: Feature) -> str:
    """Return the type of an item; a category may be another one where rare ones are."""
    if feature.type == "category":
        return "open-choice" if feature.has_other else "choice"
    return TYPES[feature.type]


def extensions_of_number(feature: Feature) -> list[Json]:
    extensions: list[Json] = []
    if feature.ucum is not None:
        unit = {"system": words.UCUM, "code": feature.ucum}
        unit["display"] = feature.unit or feature.ucum
        extensions.append({"url": words.UNIT, "valueCoding": unit})
    elif feature.unit is not None:
        unit = {"display": feature.unit}
        extensions.append({"url": words.UNIT, "valueCoding": unit})
    for url, limit in ((words.LEAST, feature.least), (words.MOST, feature.most)):
        if limit is not None:
            extensions.append({"url": url, "valueDecimal": limit})
    return extensions


def answer_option(category: str, label: str) -> Json:
    """Return a category as an answer option; a code has single spaces at most."""
    if category == " ".join(category.split()):
        return {"valueCoding": {"code": category, "display": label}}
    return {"valueString": label}


def asked_item(features: dict[str, Feature], question: Question, unit: str) -> Json:
    """Return the item of the question, with its price and why it is asked.

    Both stand in extensions for programs, and in a help text for people.
    """
    item = feature_item(features[question.feature])
    price = amount(question.price, unit)
    item["extension"] = [
        *item.get("extension", []),
        extension("price", valueQuantity=price),
        extension("reason", valueString=question.why),
    ]
    name = "help"
    while name in features:
        name += "-"
    coding = {"system": words.ITEM_CONTROLS, "code": "help"}
    control = {"url": words.ITEM_CONTROL, "valueCodeableConcept": {"coding": [coding]}}
    cost = f"{question.price:g} {unit}".strip()
    text = f"Price: {cost}. {question.why}"
    help_text = {"linkId": name, "text": text, "type": "display"}
    item["item"] = [help_text | {"extension": [control]}]
    return item


def answered_item(feature: Feature, answer: bodies.TakenAnswer, unit: str) -> Json:
    """Return the item of an answer: its value, or why there is none."""
    extensions = [extension("charged", valueQuantity=amount(answer.charged, unit))]
    item: Json = {"linkId": feature.name, "text": feature.text}
    reason = words.REASONS.get(answer.outcome)
    if reason is None and answer.value is not None:
        item["answer"] = [answer_value(feature, answer.value)]
    else:
        code = reason or words.REASONS["unknown"]
        extensions.append({"url": words.ABSENT, "valueCode": code})
    return item | {"extension": extensions}


def answer_value(feature: Feature, value: Any) -> Json:
    if feature.type == "number":
        return {"valueDecimal": value}
    if feature.type == "boolean":
        return {"valueBoolean": value}
    return answer_option(str(value), label_of(feature, str(value)))


def build_search_set(forms: list[Json]) -> Json:
    """Return forms as the Bundle that a search gives."""
    entries = [
        {"fullUrl": form["url"], "resource": form, "search": {"mode": "match"}}
        for form in forms
    ]
    bundle = {"resourceType": "Bundle", "type": "searchset", "total": len(forms)}
    # A list without entries is none in FHIR.
    return bundle | ({"entry": entries} if entries else {})


def build_template(model: Any, base: str) -> Json:
    """Return a model's form before a session: it has no question yet."""
    address = form_address(model.id, base)
    return {
        "resourceType": "Questionnaire",
        "id": words.to_fhir_id(model.id),
        "meta": {"profile": [words.FORM_PROFILE]},
        "extension": [{"url": words.ADAPTIVE, "valueBoolean": True}],
        "url": address,
        "version": str(model.version),
        "title": model.name,
        "status": "active",
        "subjectType": ["Patient"],
        "date": f"{model.created_at:%Y-%m-%dT%H:%M:%S}Z",
    }
