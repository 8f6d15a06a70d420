"""Whatever a clinical system sends, the door shows cards or says what is wrong."""

import copy
import json
import os
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app.clinic import Json
from tests.app.doors.fhir.changes import ADDED, CHANGES, QUIET, change
from tests.app.doors.fhir.hooks import (
    KNOWN,
    PATH,
    bundle,
    cards,
    coded,
    drafts,
    hook,
    observation,
    quantity,
)

pytest_plugins = ["tests.app.conftest_http"]

PATIENT = {"resourceType": "Patient", "birthDate": "1963-01-01", "gender": "male"}


@pytest.fixture
def calls(client: TestClient) -> list[tuple[str, Json]]:
    """Calls of hooks and feedback, with the addresses that they are sent to."""
    client.post("/models", json=coded()).raise_for_status()
    select = hook("order-select", context=drafts("2093-3", "34534-8"), prefetch={})
    (card,) = cards(client, hook(prefetch={}))
    accepted = [{"id": card["uuid"]}]
    feedback = [
        {
            **{"card": card["uuid"], "outcome": "accepted"},
            "acceptedSuggestions": accepted,
        },
        {
            **{"card": card["uuid"], "outcome": "overridden"},
            "overrideReason": {"reason": card["overrideReasons"][0]},
        },
    ]
    chol = observation("2093-3", valueQuantity=quantity(250, "mg/dL"))
    return [
        (PATH, hook(prefetch={"observations": KNOWN, "patient": PATIENT})),
        (PATH, hook(prefetch={"observations": bundle(chol), "patient": PATIENT})),
        (PATH.replace("patient-view", "order-select"), select),
        (f"{PATH}/feedback", {"feedback": feedback}),
    ]


def fuzz(client: TestClient, calls: list[tuple[str, Json]], n_examples: int) -> None:
    @settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        derandomize=n_examples < 1000,
        suppress_health_check=QUIET,
    )
    @given(st.integers(0, 3), CHANGES, ADDED)
    def send(place: int, changes: Any, name: str) -> None:
        path, body = copy.deepcopy(calls[place])
        for way, value in changes:
            change(body, way, value, name)
        content = json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        response = client.post(path, content=content, headers=headers)
        assert response.status_code < 500, (content, response.text)
        assert "Traceback" not in response.text
        json.loads(response.content)

    send()


def test_no_call_fails_the_door(
    client: TestClient, calls: list[tuple[str, Json]]
) -> None:
    fuzz(client, calls, int(os.environ.get("FUZZ", "150")))

    for one in client.get("/predict?limit=200").json()["items"]:
        items = client.get(f"/predict/{one['id']}/ledger").json()["items"]
        assert len({entry["feature"] for entry in items}) == len(items)
        total = sum(entry["amount"] for entry in items)
        assert one["budget"]["spent"] == pytest.approx(total)
