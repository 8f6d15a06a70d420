"""Read values of features from resources of FHIR that a client sends along.

What can't be read is left out: a card does not fail for an odd result.
"""

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any, NamedTuple

from askless.app.documents.session.state import Texts
from askless.app.doors.records.patients import (
    list_patients,
    match_sex,
    read_age,
    read_sex,
)
from askless.app.service.sessions.requests import check_value
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.code_systems import SYSTEMS
from askless.core.errors import AnswerError

Json = dict[str, Any]
Codes = dict[tuple[str, str], Feature]
# Results that stand; others are not there yet, or were wrong.
DONE = ("final", "amended", "corrected")
MOST_RESOURCES = 1000
# A time of FHIR may end after its year, month or day.
TIME = re.compile(
    r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?)?", re.ASCII
)
REST_OF_TIME = {4: "-01-01", 7: "-01"}
NEVER = -math.inf
# Of an age, what was observed before that says nothing of today.
AGE_LASTS_S = 365 * 86_400
PATIENT = re.compile(r"(?:.*/)?Patient/([^/]+)(?:/_history/.*)?")


class KnownValue(NamedTuple):
    """The newest value of a feature, and when it was taken; "" where that is unsaid."""

    value: Any
    at: str


def map_codes(catalogue: Catalogue) -> Codes:
    """Return the features that have a code, by code system and code."""
    return {
        (SYSTEMS.get(feature.system, feature.system), feature.code): feature
        for feature in catalogue.features
        if feature.system is not None and feature.code is not None
    }


def list_resources(raw: Any) -> Iterator[Json]:
    """Yield the resources of a Bundle, or a resource itself."""
    if not isinstance(raw, dict):
        return
    if raw.get("resourceType") != "Bundle":
        yield raw
        return
    entries = raw.get("entry")
    for entry in (entries if isinstance(entries, list) else [])[:MOST_RESOURCES]:
        if isinstance(entry, dict) and isinstance(entry.get("resource"), dict):
            yield entry["resource"]


def read_known(
    prefetch: dict[str, Any],
    catalogue: Catalogue,
    now: datetime | None = None,
    patient_id: str | None = None,
) -> dict[str, KnownValue]:
    """Return the newest value of each feature among Observations, and of the Patient.

    Age and sex are the Patient's where no Observation says them; an age that was
    observed more than a year ago is not today's. Resources about another patient than
    `patient_id` are left out. `now` is when the values are used; None: by the clock.
    """
    now = now or datetime.now(UTC)
    resources = [*chain.from_iterable(map(list_resources, prefetch.values()))]
    codes = map_codes(catalogue)
    known: dict[str, KnownValue] = {}
    for part, at in list_results(resources, patient_id):
        feature = feature_of_concept(part.get("code"), codes)
        value = None if feature is None else read_value(feature, part)
        if feature is None or value is None:
            continue
        if feature.name not in known or to_seconds(known[feature.name].at) < to_seconds(
            at
        ):
            known[feature.name] = KnownValue(value, at)
    patients = list_patients(resources, patient_id)
    # Of two patients it is not known which one is meant.
    if len(patients) == 1:
        for feature in codes.values():
            add_patient_value(feature, patients[0], now, known)
    return known


def add_patient_value(
    feature: Feature, patient: Json, now: datetime, known: dict[str, KnownValue]
) -> None:
    """Add the age or the sex that a Patient has, where no Observation is better."""
    age = read_age(feature, patient, now.date())
    value = read_sex(feature, patient) if age is None else age
    if value is None or not is_allowed(feature, value):
        return
    before = known.get(feature.name)
    is_past = (
        before is not None and to_seconds(before.at) < now.timestamp() - AGE_LASTS_S
    )
    if before is None or (age is not None and is_past):
        known[feature.name] = KnownValue(value, "")


def list_results(
    resources: list[Json], patient_id: str | None
) -> Iterator[tuple[Json, str]]:
    """Yield each Observation that stands and its components, with their time."""
    for resource in resources:
        is_observation = resource.get("resourceType") == "Observation"
        is_done = is_observation and resource.get("status") in DONE
        if is_done and not names_other_patient(resource, patient_id):
            when = effective_time(resource)
            yield from ((part, when) for part in (resource, *list_components(resource)))


def names_other_patient(resource: Json, patient_id: str | None) -> bool:
    """Return whether an Observation names another patient as its subject."""
    subject = resource.get("subject")
    reference = subject.get("reference") if isinstance(subject, dict) else None
    match = PATIENT.fullmatch(reference) if isinstance(reference, str) else None
    return match is not None and patient_id is not None and match[1] != patient_id


def effective_time(resource: Json) -> str:
    """Return the time at which an Observation was true; "" if it has none.

    The time of issue counts only if there is no effective time, not even a wrong one.
    """
    period = resource.get("effectivePeriod")
    period = period if isinstance(period, dict) else {}
    for at in (
        *(resource.get("effectiveDateTime"), resource.get("effectiveInstant")),
        *(period.get("end"), period.get("start")),
    ):
        if isinstance(at, str) and to_seconds(at) > NEVER:
            return at
    issued = resource.get("issued")
    is_said = any(name.startswith("effective") for name in resource)
    is_time = isinstance(issued, str) and to_seconds(issued) > NEVER
    return str(issued) if is_time and not is_said else ""


def to_seconds(at: str) -> float:
    """Return a time of FHIR in seconds since 1970; before all where it is none.

    A day, a month or a year counts as its beginning, in UTC.
    """
    if not TIME.fullmatch(at):
        return NEVER
    try:
        time = datetime.fromisoformat(at + REST_OF_TIME.get(len(at), ""))
    except ValueError:
        return NEVER
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def list_components(resource: Json) -> list[Json]:
    """Return the components of an Observation, such as both blood pressures."""
    parts = resource.get("component")
    return (
        [part for part in parts if isinstance(part, dict)]
        if isinstance(parts, list)
        else []
    )


def feature_of_concept(concept: Any, codes: Codes) -> Feature | None:
    """Return the feature that a CodeableConcept names."""
    for system, code in list_codings(concept):
        if (system, code) in codes:
            return codes[system, code]
    return None


def list_codings(concept: Any) -> Iterator[tuple[str, str]]:
    codings = concept.get("coding") if isinstance(concept, dict) else None
    for coding in codings if isinstance(codings, list) else []:
        if isinstance(coding, dict):
            yield str(coding.get("system")), str(coding.get("code"))


def read_value(feature: Feature, part: Json) -> Any:
    """Return the value of a feature in an Observation; None where it has none."""
    return next((x for x in list_values(feature, part) if is_allowed(feature, x)), None)


def is_allowed(feature: Feature, value: Any) -> bool:
    """Return whether a feature may have a value; a category, whether training saw it.

    A rare category that training joined with others is not guessed from a text.
    """
    texts: Texts = {}
    try:
        check_value(feature, value, texts, accept_unseen=False)
    except AnswerError:
        return False
    return not texts


def list_values(feature: Feature, part: Json) -> Iterator[Any]:
    """Yield candidate values: a number in its unit, or names of a category."""
    if feature.type == "number":
        yield from list_numbers(feature, part)
    elif feature.type == "boolean":
        if isinstance(part.get("valueBoolean"), bool):
            yield part["valueBoolean"]
    else:
        names = [name for name in list_names(part) if isinstance(name, str) and name]
        yield from names
        yield from (sex for name in names if (sex := match_sex(feature, name)))


def list_numbers(feature: Feature, part: Json) -> Iterator[Any]:
    """Yield a number that is in the feature's unit; a bound such as < 5 is none."""
    units = [text for text in (feature.ucum, feature.unit) if text is not None]
    quantity = part.get("valueQuantity")
    if isinstance(quantity, dict) and "comparator" not in quantity:
        # A code says the unit; its text is for people.
        code = quantity.get("code")
        unit = quantity.get("unit") if code is None else code
        is_number = type(quantity.get("value")) in (int, float)
        if is_number and (unit in units or (not units and unit in (None, "1"))):
            yield quantity["value"]
    if type(part.get("valueInteger")) is int and units in ([], ["1"]):
        yield part["valueInteger"]


def list_names(part: Json) -> Iterator[Any]:
    """Yield possible names of a category: texts and codes."""
    concept = part.get("valueCodeableConcept")
    if isinstance(concept, dict):
        yield concept.get("text")
        codings = concept.get("coding")
        for coding in codings if isinstance(codings, list) else []:
            if isinstance(coding, dict):
                yield from (coding.get("code"), coding.get("display"))
    yield part.get("valueString")
