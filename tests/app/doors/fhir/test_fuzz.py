"""Whatever a clinical system sends, the doors answer as FHIR does, and never fail."""

import copy
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.app.clinic import Json, Put
from tests.app.doors.fhir.filler import (
    MEDIA_TYPE,
    absent,
    asked,
    call,
    first,
    url_of,
    validated,
    with_answer,
)
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
DOORS = ["fhir", "cds"]

# `make test-fuzz` sends more.
N_EXAMPLES = int(os.environ.get("FUZZ", 2 * settings.default.max_examples))
NAMES = (
    *("resourceType", "id", "meta", "contained", "extension", "url", "identifier"),
    *("system", "value", "questionnaire", "status", "subject", "reference", "item"),
    *("linkId", "text", "answer", "valueDecimal", "valueInteger", "valueString"),
    *("valueBoolean", "valueCoding", "valueQuantity", "valueCode", "code", "unit"),
    *("derivedFrom", "parameter", "name", "resource", "_valueDecimal", "_status"),
    *("display", "comparator", "valueDate", "valueReference", "valueAttachment"),
    *("coding", "component", "entry", "effectiveDateTime", "birthDate", "gender"),
    *("card", "outcome", "overrideReason", "selections", "draftOrders", "prefetch"),
)
TEXTS = (
    *("QuestionnaireResponse", "Questionnaire", "Parameters", "Patient", "Bundle"),
    *("in-progress", "completed", "stopped", "amended", "entered-in-error", "#form"),
    *("age", "sex", "chol", "fbs", "ecg", "echo1", "male", "asked-declined", "", "\0"),
    *("temp-unknown", "questionnaire-response", "\ud800", "ses_" + "0" * 24, "1e999"),
    *("Observation", "final", "2026-11-01", "2093-3", "mg/dL", "http://loinc.org"),
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


def fuzz(bodies: list[Any], check: Callable[[int, Any], Any]) -> None:
    """Change bodies that are right; check how each is answered, by its place."""

    @settings(
        max_examples=N_EXAMPLES,
        deadline=None,
        database=None,
        derandomize=N_EXAMPLES < 1000,
        suppress_health_check=QUIET,
    )
    @given(st.integers(0, len(bodies) - 1), CHANGES, ADDED, st.none() | VALUES)
    def send(place: int, changes: Any, name: str, other: Any) -> None:
        body = copy.deepcopy(bodies[place])
        for way, value in changes:
            change(body, way, value, name)
        response = check(place, other if other is not None and place == 0 else body)
        assert response.status_code < 500, response.text
        assert "Traceback" not in response.text
        json.loads(response.content)

    send()


def check_books(client: TestClient) -> None:
    """Check that each session was charged once a feature, and as its ledger says."""
    for session in client.get("/predict?limit=200").json()["items"]:
        items = client.get(f"/predict/{session['id']}/ledger").json()["items"]
        assert len({entry["feature"] for entry in items}) == len(items)
        total = sum(entry["amount"] for entry in items)
        assert session["budget"]["spent"] == pytest.approx(total)
        assert total <= (session["budget"]["limit"] or 1e9)


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


def test_no_call_of_a_hook_fails_the_door(
    client: TestClient, calls: list[tuple[str, Json]]
) -> None:
    def send(place: int, body: Any) -> Any:
        headers = {"content-type": "application/json"}
        content = json.dumps(body).encode()
        return client.post(calls[place][0], content=content, headers=headers)

    fuzz([body for _, body in calls], send)
    check_books(client)


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


def test_no_resource_fails_the_door(client: TestClient, forms: list[Json]) -> None:
    def send(_: int, body: Any) -> Any:
        response = client.post(
            "/fhir/Questionnaire/$next-question",
            content=json.dumps(body).encode(),
            headers={"content-type": MEDIA_TYPE},
        )
        kind = "QuestionnaireResponse" if response.is_success else "OperationOutcome"
        assert validated(response)["resourceType"] == kind
        return response

    fuzz(forms, send)
    check_books(client)
