"""Changes that hypothesis makes to resources and calls, which were right before."""

from typing import Any

from hypothesis import HealthCheck
from hypothesis import strategies as st

from tests.app.doors.fhir.filler import url_of

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
