"""What the door can do, and what its extensions mean, as resources."""

from typing import Any

from askless.app.doors.fhir import vocabulary as words
from askless.app.doors.fhir.vocabulary import EXTENSIONS, url_of
from askless.app.errors import NotFoundError

Json = dict[str, Any]
# A CapabilityStatement has a date; that of the door's last change.
DATE = "2026-11-26"


def capability_statement(base: str, version: str) -> Json:
    """Return the statement of `GET /fhir/metadata`."""
    operation = {"name": "next-question", "definition": words.NEXT_QUESTION}
    questionnaire = {
        "type": "Questionnaire",
        "interaction": [{"code": "read"}],
        "operation": [operation],
    }
    definitions = {"type": "StructureDefinition", "interaction": [{"code": "read"}]}
    return {
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": DATE,
        "kind": "instance",
        "software": {"name": "Askless", "version": version},
        "implementation": {"description": "Askless", "url": base},
        "fhirVersion": words.FHIR_VERSION,
        "format": ["json"],
        "rest": [{"mode": "server", "resource": [questionnaire, definitions]}],
    }


def structure_definition(name: str) -> Json:
    """Return the definition of one of our extensions."""
    one = EXTENSIONS.get(name)
    if one is None:
        raise NotFoundError("extension")
    element: Json = {"id": "Extension", "path": "Extension", "definition": one.text}
    value = {"id": "Extension.value[x]", "path": "Extension.value[x]"}
    parts = [
        element,
        {"id": "Extension.url", "path": "Extension.url", "fixedUri": url_of(name)},
    ]
    if one.kind != "Extension":
        parts.append(value | {"type": [{"code": one.kind}]})
    return {
        "resourceType": "StructureDefinition",
        "id": name,
        "url": url_of(name),
        "name": name.title().replace("-", ""),
        "status": "active",
        "date": DATE,
        "description": one.text,
        "fhirVersion": words.FHIR_VERSION,
        "kind": "complex-type",
        "abstract": False,
        "context": [{"type": "element", "expression": one.context}],
        "type": "Extension",
        "baseDefinition": f"{words.HL7}/Extension",
        "derivation": "constraint",
        "differential": {"element": parts},
    }
