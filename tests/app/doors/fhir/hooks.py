"""A clinical system: calls hooks with what it knows, and sends feedback on cards."""

from typing import Any
from uuid import UUID, uuid4

from fastapi.testclient import TestClient

from tests.app.clinic import Json, clinic, model_json

PATH = "/cds-services/clinic.patient-view"
CODES = {
    "age": {"code": "30525-0", "system": "loinc", "ucum": "a"},
    "sex": {"code": "46098-0", "system": "loinc"},
    "chol": {"code": "2093-3", "system": "loinc", "ucum": "mg/dL"},
    "ecg": {"code": "34534-8", "system": "loinc"},
}


def coded(name: str = "clinic") -> Json:
    raw = model_json(clinic(), name)
    for feature in raw["features"]:
        feature |= CODES.get(feature["name"], {})
    return raw


def observation(code: str, at: str = "2026-11-01", **more: Any) -> Json:
    return {
        "resourceType": "Observation",
        "status": "final",
        "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
        "effectiveDateTime": at,
        **more,
    }


def quantity(value: float, code: str) -> Json:
    return {"value": value, "unit": code, "code": code}


def bundle(*resources: Json) -> Json:
    entries = [{"resource": resource} for resource in resources]
    return {"resourceType": "Bundle", "type": "searchset", "entry": entries}


KNOWN = bundle(
    observation("30525-0", valueQuantity=quantity(63, "a")),
    observation("2093-3", "2026-10-01", valueQuantity=quantity(180, "mg/dL")),
    observation("2093-3", "2026-11-02", valueQuantity=quantity(250, "mg/dL")),
    observation("2093-3", "2026-11-09", valueQuantity=quantity(6.5, "mmol/L")),
    observation("46098-0", valueCodeableConcept={"text": "male"}),
    observation("34534-8", status="preliminary", valueInteger=3),
)


SOME = bundle(observation("2093-3", "2026-11-02", valueQuantity=quantity(250, "mg/dL")))


def hook(name: str = "patient-view", **more: Any) -> Json:
    context = {"userId": "Practitioner/1", "patientId": "1288992"}
    body = {
        "hook": name,
        "hookInstance": str(uuid4()),
        "context": context | more.pop("context", {}),
        "prefetch": {"observations": KNOWN},
    }
    return body | more


def ask(client: TestClient, body: Json, model: str = "clinic", **more: Any) -> Any:
    return client.post(f"/cds-services/{model}.{body['hook']}", json=body, **more)


def cards(client: TestClient, body: Json) -> list[Json]:
    response = ask(client, body)
    assert response.status_code == 200, response.text
    shown: list[Json] = response.json()["cards"]
    for card in shown:
        UUID(card["uuid"])
        assert 0 < len(card["summary"]) < 140
        assert card["indicator"] in ("info", "warning", "critical")
        assert card["source"]["label"]
        assert all(link["type"] == "absolute" for link in card["links"])
        assert None not in card.values()
    return shown


def session_of(client: TestClient, card: Json) -> Json:
    session_id = card["links"][0]["url"].rpartition("/")[2]
    session: Json = client.get(f"/predict/{session_id}").json()
    return session


def drafts(*codes: str) -> Json:
    requests = [
        {
            "resourceType": "ServiceRequest",
            "id": f"r{place}",
            "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
        }
        for place, code in enumerate(codes)
    ]
    selections = [f"ServiceRequest/r{place}" for place in range(len(codes))]
    return {"selections": selections, "draftOrders": bundle(*requests)}


def feed(client: TestClient, card: Json, model: str = "clinic", **more: Any) -> Any:
    one = {"card": card["uuid"], "outcomeTimestamp": "2026-11-26T12:00:00Z", **more}
    path = f"/cds-services/{model}.patient-view/feedback"
    return client.post(path, json={"feedback": [one]})
