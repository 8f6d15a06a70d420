"""Whatever resource comes, the door answers as FHIR does, and never fails."""

import copy
import json
import os
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app.clinic import Put
from tests.app.doors.fhir.changes import ADDED, CHANGES, QUIET, VALUES, change
from tests.app.doors.fhir.filler import (
    MEDIA_TYPE,
    Json,
    absent,
    asked,
    call,
    first,
    said,
    validated,
    with_answer,
)

pytest_plugins = ["tests.app.conftest_http"]


@pytest.fixture
def forms(client: TestClient, put: Put) -> list[Json]:
    """A first call, and later ones with answers of each kind."""
    begun = call(client, first(put(), 60))
    more = with_answer(begun, asked(begun) or {}, 63)
    later = call(client, with_answer(call(client, more), {"linkId": "sex"}, "ordered"))
    volunteered = {"linkId": "chol", "answer": [{"valueQuantity": {"value": 240}}]}
    wrapped = {"name": "questionnaire-response", "resource": copy.deepcopy(later)}
    return [
        first("clinic", 60),
        more,
        later,
        later | {"item": [*later["item"], volunteered]},
        later | {"item": [{"linkId": "fbs", "extension": absent("refused")}]},
        {"resourceType": "Parameters", "parameter": [wrapped]},
    ]


def fuzz(client: TestClient, forms: list[Json], n_examples: int) -> None:
    @settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        derandomize=n_examples < 1000,
        suppress_health_check=QUIET,
    )
    @given(st.integers(0, 5), CHANGES, ADDED, st.none() | VALUES)
    def send(place: int, changes: Any, name: str, other: Any) -> None:
        sent: Any = copy.deepcopy(forms[place])
        for way, value in changes:
            change(sent, way, value, name)
        body = other if other is not None and place == 0 else sent
        content = json.dumps(body).encode()
        path = "/fhir/Questionnaire/$next-question"
        headers = {"content-type": MEDIA_TYPE}
        response = client.post(path, content=content, headers=headers)
        assert response.status_code < 500, (content, response.text)
        assert "Traceback" not in response.text
        kind = "QuestionnaireResponse" if response.is_success else "OperationOutcome"
        assert validated(response)["resourceType"] == kind

    send()


def check_books(client: TestClient, forms: list[Json]) -> None:
    """Check that each session was charged once a feature, and as its ledger says."""
    for one in client.get("/predict?limit=200").json()["items"]:
        items = client.get(f"/predict/{one['id']}/ledger").json()["items"]
        assert len({entry["feature"] for entry in items}) == len(items)
        total = sum(entry["amount"] for entry in items)
        assert one["budget"]["spent"] == pytest.approx(total)
        assert total <= (one["budget"]["limit"] or 1e9)
    assert said(forms[2], "session")


def test_no_resource_fails_the_door(client: TestClient, forms: list[Json]) -> None:
    fuzz(client, forms, int(os.environ.get("FUZZ", "150")))
    check_books(client, forms)
