"""Read values of features from resources of FHIR that a client sends along.

What can't be read is left out, with the reason: a card does not fail for an odd result.
"""

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from typing import Any, NamedTuple

from askless.app.documents.session.state import Texts
from askless.app.doors.records.answers import (
    CODED,
    COUNTED,
    IN_WORDS,
    convert,
    explain_units,
)
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
# Of a unit that a card names: what could be read as a link is not shown.
PLAIN_UNIT = re.compile(r"[^`\s<>]{1,40}")
NO_VALUE = "it has no value that can be read"
# Of an age, what was observed before that says nothing of today.
AGE_LASTS_S = 365 * 86_400
PATIENT = re.compile(r"(?:.*/)?Patient/([^/]+)(?:/_history/.*)?")


class KnownValue(NamedTuple):
    """The newest value of a feature, and when it was taken; "" where that is unsaid."""

    value: Any
    at: str


class Record(NamedTuple):
    """What a record says of a patient, by feature."""

    known: dict[str, KnownValue]
    #: why a newer result than the known one, or the only one, was left out
    left_out: dict[str, KnownValue]


class UnreadError(Exception):
    """A result has no value of its feature; the message says why."""


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


def read_record(
    prefetch: dict[str, Any],
    catalogue: Catalogue,
    now: datetime | None = None,
    patient_id: str | None = None,
) -> Record:
    """Return the newest value of each feature among Observations, and of the Patient.

    Age and sex are the Patient's where no Observation says them; an age that was
    observed more than a year ago is not today's. Resources about another patient than
    `patient_id` are left out. `now` is when the values are used; None: by the clock.
    """
    now = now or datetime.now(UTC)
    resources = [*chain.from_iterable(map(list_resources, prefetch.values()))]
    codes = map_codes(catalogue)
    record = Record({}, {})
    for part, at in list_results(resources, patient_id):
        feature = feature_of_concept(part.get("code"), codes)
        if feature is None:
            continue
        try:
            keep_newest(
                record.known, feature, KnownValue(read_value(feature, part), at)
            )
        except UnreadError as error:
            keep_newest(record.left_out, feature, KnownValue(str(error), at))
    patients = list_patients(resources, patient_id)
    # Of two patients it is not known which one is meant.
    if len(patients) == 1:
        for feature in codes.values():
            add_patient_value(feature, patients[0], now, record.known)
    for name in record.known.keys() & record.left_out.keys():
        if to_seconds(record.left_out[name].at) <= to_seconds(record.known[name].at):
            del record.left_out[name]
    return record


def keep_newest(
    values: dict[str, KnownValue], feature: Feature, value: KnownValue
) -> None:
    """Keep a value where it is newer than the one before."""
    before = values.get(feature.name)
    if before is None or to_seconds(before.at) < to_seconds(value.at):
        values[feature.name] = value


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
    """Return the value of a feature in an Observation; raise UnreadError for none."""
    values = [*list_values(feature, part)]
    allowed = next((value for value in values if is_allowed(feature, value)), None)
    if allowed is None:
        raise UnreadError("the feature can't have it" if values else NO_VALUE)
    return allowed


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
    """Yield candidate values; raise UnreadError for a form that can't be read."""
    if feature.type == "number":
        yield from list_numbers(feature, part)
    elif feature.type == "boolean":
        yield from list_booleans(part)
    else:
        names = [name for name in list_names(part) if isinstance(name, str) and name]
        yield from names
        yield from (sex for name in names if (sex := match_sex(feature, name)))
        if type(part.get("valueInteger")) is int:
            yield part["valueInteger"]
        quantity = part.get("valueQuantity")
        # A grade may be a number that is counted in nothing.
        if isinstance(quantity, dict) and is_count(unit_of(quantity)):
            yield quantity.get("value")


def list_booleans(part: Json) -> Iterator[bool]:
    """Yield a boolean, or a yes or no in codes, else in words."""
    if isinstance(part.get("valueBoolean"), bool):
        yield part["valueBoolean"]
    codings = [*list_codings(part.get("valueCodeableConcept"))]
    words = [str(name).lower() for name in list_names(part, has_codes=False)]
    coded = [CODED[coding] for coding in codings if coding in CODED]
    coded += [IN_WORDS[word] for word in words if word in IN_WORDS]
    if codings and not coded:
        raise UnreadError("its code is no yes or no")
    yield from coded


def list_numbers(feature: Feature, part: Json) -> Iterator[Any]:
    """Yield a number in the feature's unit; a bound such as < 5 is none."""
    has_unit = {feature.ucum, feature.unit} - {None, "1"} != set()
    quantity = part.get("valueQuantity")
    if isinstance(quantity, dict):
        if "comparator" in quantity:
            raise UnreadError("it is a bound, and no number")
        unit = unit_of(quantity)
        if type(quantity.get("value")) not in (int, float):
            raise UnreadError(NO_VALUE)
        yield convert_quantity(feature, quantity["value"], unit, has_unit=has_unit)
    if type(part.get("valueInteger")) is int:
        if has_unit:
            raise UnreadError("it has no unit")
        yield part["valueInteger"]


def convert_quantity(
    feature: Feature, value: Any, unit: object, *, has_unit: bool
) -> Any:
    """Return a number in the feature's unit; raise UnreadError where it is in none."""
    if not has_unit and is_count(unit):
        return value
    if unit is None:
        raise UnreadError("it has no unit")
    converted = None
    with suppress(OverflowError):
        converted = convert(feature, value, unit) if isinstance(unit, str) else None
    if converted is None:
        wanted = feature.ucum or feature.unit or "a number without a unit"
        why = explain_units(unit, wanted)
        raise UnreadError(
            f"its unit {quote_unit(unit)} can't be converted to {wanted}{why}"
        )
    return converted


def unit_of(quantity: Json) -> Any:
    """Return the unit of a Quantity: its code, else its text, which is for people."""
    code = quantity.get("code")
    return quantity.get("unit") if code is None else code


def is_count(unit: object) -> bool:
    """Return whether a unit is none: that of a count, such as {score}."""
    if isinstance(unit, str):
        return unit == "1" or COUNTED.fullmatch(unit) is not None
    return unit is None


def quote_unit(unit: object) -> str:
    """Return a unit of a record as it may stand on a card."""
    is_plain = isinstance(unit, str) and PLAIN_UNIT.fullmatch(unit) is not None
    return f"`{unit}`" if is_plain else "(which is no text)"


def list_names(part: Json, *, has_codes: bool = True) -> Iterator[Any]:
    """Yield possible names of a category: texts and, with `has_codes`, codes."""
    concept = part.get("valueCodeableConcept")
    if isinstance(concept, dict):
        yield concept.get("text")
        codings = concept.get("coding")
        for coding in codings if isinstance(codings, list) else []:
            if isinstance(coding, dict):
                yield from [coding.get("code")] * has_codes
                yield coding.get("display")
    yield part.get("valueString")
