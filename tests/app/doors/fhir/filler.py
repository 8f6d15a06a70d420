"""A form filler: plays adaptive questionnaires as SDC describes them.

Each resource that comes is validated by `fhir.resources`.
"""

from typing import Any

from fastapi.testclient import TestClient
from fhir.resources.R4B import get_fhir_model_class

Json = dict[str, Any]
MEDIA_TYPE = "application/fhir+json"
OURS = "https://askless.example/fhir"
ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
REASONS = {
    "refused": "asked-declined",
    "unknown": "asked-unknown",
    "unavailable": "not-performed",
    "ordered": "temp-unknown",
}


def validated(response: Any) -> Json:
    """Give a response's resource, which FHIR R4B must allow."""
    assert response.headers["content-type"] == MEDIA_TYPE, response.text
    raw: Json = response.json()
    kind = get_fhir_model_class(raw["resourceType"])
    kind.model_validate(raw)
    for resource in raw.get("contained", []):
        get_fhir_model_class(resource["resourceType"]).model_validate(resource)
    return raw


def url_of(name: str) -> str:
    return f"{OURS}/StructureDefinition/{name}"


def said(element: Json, name: str) -> Any:
    """Give the value of one of our extensions, of a quantity its number."""
    for extension in element.get("extension", []):
        if extension["url"] == url_of(name):
            value = next(extension[key] for key in extension if key.startswith("value"))
            return value["value"] if isinstance(value, dict) else value
    return None


def first(model: str, budget: float | None = None, **more: Any) -> Json:
    """A first call's response, which has no items yet."""
    form = f"http://127.0.0.1/fhir/Questionnaire/{model.replace('_', '-')}"
    sent: Json = {
        "resourceType": "QuestionnaireResponse",
        "contained": [
            {
                "resourceType": "Questionnaire",
                "id": "form",
                "status": "active",
                "derivedFrom": [form],
            }
        ],
        "questionnaire": "#form",
        "status": "in-progress",
        "subject": {"reference": "Patient/1"},
        **more,
    }
    if budget is not None:
        amount = {"url": url_of("budget"), "valueQuantity": {"value": budget}}
        sent["extension"] = [amount]
    return sent


def absent(outcome: str) -> list[Json]:
    return [{"url": ABSENT, "valueCode": REASONS[outcome]}]


def answer_of(item: Json, value: Any) -> Json:
    """An item's answer as its type says it."""
    kind = item["type"]
    if kind == "decimal":
        return {"valueDecimal": value}
    if kind == "boolean":
        return {"valueBoolean": bool(value)}
    options = [option["valueCoding"] for option in item["answerOption"]]
    return {
        "valueCoding": next(option for option in options if option["code"] == value)
    }


def asked(response: Json) -> Json | None:
    """Give the item that waits for its answer, of which there is one at most."""
    (form,) = response["contained"]
    done = {item["linkId"] for item in response.get("item", [])}
    waiting = [item for item in form.get("item", []) if item["linkId"] not in done]
    assert len(waiting) <= 1, "one item a question"
    return waiting[0] if waiting else None


def with_answer(response: Json, item: Json, value: Any) -> Json:
    """Give the response with an item more: a value, or why there is none."""
    new: Json = {"linkId": item["linkId"]}
    if value in REASONS:
        new["extension"] = absent(value)
    else:
        new["answer"] = [answer_of(item, value)]
    return response | {"item": [*response.get("item", []), new]}


def post(client: TestClient, sent: Json, model: str | None = None, **more: Any) -> Any:
    path = "/fhir/Questionnaire/$next-question"
    if model is not None:
        path = f"/fhir/Questionnaire/{model}/$next-question"
    headers = {"content-type": MEDIA_TYPE} | more.pop("headers", {})
    return client.post(path, json=sent, headers=headers, **more)


def call(client: TestClient, sent: Json, model: str | None = None) -> Json:
    response = post(client, sent, model)
    assert response.status_code == 200, response.text
    return validated(response)
