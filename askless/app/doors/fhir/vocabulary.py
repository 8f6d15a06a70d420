"""The addresses, codes and extensions that the door writes and reads.

Our own extensions have addresses below `OURS`, which belongs to nobody: they are names.
The service shows their definitions at `/fhir/StructureDefinition/{name}`.
"""

import re
from typing import Any, NamedTuple

from askless.app.documents.words import Outcome

MEDIA_TYPE = "application/fhir+json"
FHIR_VERSION = "4.3.0"
OURS = "https://askless.example/fhir"
HL7 = "http://hl7.org/fhir/StructureDefinition"
SDC = "http://hl7.org/fhir/uv/sdc"

SESSION_SYSTEM = f"{OURS}/session"
PROBLEM_SYSTEM = f"{OURS}/problem"
ABSENT = f"{HL7}/data-absent-reason"
UNIT = f"{HL7}/questionnaire-unit"
LEAST, MOST = f"{HL7}/minValue", f"{HL7}/maxValue"
ITEM_CONTROL = f"{HL7}/questionnaire-itemControl"
ITEM_CONTROLS = "http://hl7.org/fhir/questionnaire-item-control"
ADAPTIVE = f"{SDC}/StructureDefinition/sdc-questionnaire-questionnaireAdaptive"
UCUM = "http://unitsofmeasure.org"
#: Profiles of what the door gives.
FORM_PROFILE = f"{SDC}/StructureDefinition/sdc-questionnaire-adapt-srch"
RESPONSE_PROFILE = f"{SDC}/StructureDefinition/sdc-questionnaireresponse-adapt"
NEXT_QUESTION = f"{SDC}/OperationDefinition/Questionnaire-next-question"

#: Why there is no value, by the outcome that we write.
REASONS: dict[str, str] = {
    "refused": "asked-declined",
    "unknown": "asked-unknown",
    "unavailable": "not-performed",
    "ordered": "temp-unknown",
}
#: The outcome of each reason that we read.
OUTCOMES: dict[str, Outcome] = {
    "asked-declined": "refused",
    "masked": "refused",
    "not-permitted": "refused",
    "asked-unknown": "unknown",
    "unknown": "unknown",
    "not-asked": "unknown",
    "not-performed": "unavailable",
    "not-applicable": "unavailable",
    "unsupported": "unavailable",
    "error": "unavailable",
    "temp-unknown": "ordered",
}

# Ids of ours have an underscore, which an id of FHIR must not have.
MODEL_ID = re.compile("mdl-([0-9a-f]{24})")


class Extension(NamedTuple):
    """One of our extensions: where it stands, what it holds, what it says."""

    context: str
    kind: str
    text: str


EXTENSIONS = {
    "session": Extension(
        "QuestionnaireResponse", "string", "The id of the session, which /predict has."
    ),
    "version": Extension(
        "QuestionnaireResponse",
        "integer",
        "The session's version. A call that sends an old one with new answers is "
        "refused.",
    ),
    "budget": Extension(
        "QuestionnaireResponse",
        "Quantity",
        "Most that may be charged, said at the first call, on the response or on the "
        "contained Questionnaire; none: unlimited.",
    ),
    "spent": Extension("QuestionnaireResponse", "Quantity", "What was charged so far."),
    "remaining": Extension(
        "QuestionnaireResponse", "Quantity", "What is left of the budget."
    ),
    "chance": Extension(
        "QuestionnaireResponse",
        "Extension",
        "A class (label, display) and its probability so far; once a class.",
    ),
    "stop-reason": Extension(
        "QuestionnaireResponse", "string", "Why nothing more need be asked."
    ),
    "warning": Extension(
        "QuestionnaireResponse", "string", "What is odd about a value that was taken."
    ),
    "charged": Extension(
        "QuestionnaireResponse.item", "Quantity", "What this answer was charged."
    ),
    "price": Extension(
        "Questionnaire.item", "Quantity", "What an answer to it would charge now."
    ),
    "reason": Extension("Questionnaire.item", "string", "Why it is asked next."),
}


# Those that a call is read for.
READ = ("session", "version", "budget")


def url_of(name: str) -> str:
    """Return the address of one of our extensions."""
    return f"{OURS}/StructureDefinition/{name}"


def extension(name: str, **value: Any) -> dict[str, Any]:
    return {"url": url_of(name), **value}


def to_fhir_id(model_id: str) -> str:
    return model_id.replace("_", "-")


def to_model_key(name: str) -> str:
    """Return the key of a model of an id in FHIR, or of a name, which stays."""
    match = MODEL_ID.fullmatch(name)
    return name if match is None else f"mdl_{match[1]}"
