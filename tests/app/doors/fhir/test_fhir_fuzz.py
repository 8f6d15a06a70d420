"""Whatever resource comes, the door answers as FHIR does, and never fails."""

import copy
import json
import os
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.app.clinic import Put
from tests.app.doors.fhir.filler import (
    MEDIA_TYPE,
    Json,
    absent,
    asked,
    call,
    first,
    said,
    url_of,
    validated,
    with_answer,
)

pytest_plugins = ["tests.app.conftest_http"]

NAMES = (
    *("resourceType", "id", "meta", "contained", "extension", "url", "identifier"),
    *("system", "value", "questionnaire", "status", "subject", "reference", "item"),
    *("linkId", "text", "answer", "valueDecimal", "valueInteger", "valueString"),
    *("valueBoolean", "valueCoding", "valueQuantity", "valueCode", "code", "unit"),
    *("derivedFrom", "parameter", "name", "resource", "_valueDecimal", "_status"),
    *("display", "comparator", "valueDate", "valueReference", "valueAttachment"),
)
TEXTS = (
    *("QuestionnaireResponse", "Questionnaire", "Parameters", "Patient", "Bundle"),
    *("in-progress", "completed", "stopped", "amended", "entered-in-error", "#form"),
    *("age", "sex", "chol", "fbs", "ecg", "echo1", "male", "asked-declined", "", "\0"),
    *("temp-unknown", "questionnaire-response", "\ud800", "ses_" + "0" * 24, "1e999"),
    *(url_of(one) for one in ("session", "version", "budget")),
    "http://hl7.org/fhir/StructureDefinition/data-absent-reason",
)
LEAVES = (
    st.sampled_from(TEXTS)
    | st.text(max_size=8)
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES) | st.text(max_size=6), inner, max_size=4
        )
    ),
    max_leaves=10,
)
#: Places to change, each by numbers that choose a way down, and what is put there.
CHANGES = st.lists(
    st.tuples(st.lists(st.integers(0, 30), min_size=1, max_size=7), VALUES),
    min_size=1,
    max_size=4,
)
ADDED = st.sampled_from(NAMES)
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def change(element: Any, way: list[int], value: Any, name: str) -> None:
    """Put a value somewhere into a resource: instead of a part, or as one more."""
    for step, number in enumerate(way):
        keys = list(element) if isinstance(element, dict) else [*range(len(element))]
        is_last = step == len(way) - 1
        if not keys or (is_last and number % 3 == 0):
            if isinstance(element, dict):
                element[name] = value
            else:
                element.append(value)
            return
        key = keys[number % len(keys)]
        if is_last or not isinstance(element[key], dict | list):
            element[key] = value
            return
        element = element[key]


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
