"""Reads values of features from resources of FHIR that a client sends along.

What can't be read is left out: a card does not fail for an odd result.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from app.documents.state import Texts
from app.service.sessions.requests import check_value
from core.errors import AnswerError
from core.table.catalogue import Catalogue, Feature
from core.table.codes import SYSTEMS

Json = dict[str, Any]
# Results that stand; others are not there yet, or were wrong.
DONE = ("final", "amended", "corrected")
MOST_RESOURCES = 1000


class KnownValue(NamedTuple):
    """The newest value of a feature, and when it was taken; "" where that is unsaid."""

    value: Any
    at: str


def map_codes(catalogue: Catalogue) -> dict[tuple[str, str], Feature]:
    """Return the features that have a code, by code system and code."""
    return {
        (SYSTEMS.get(one.system, one.system), one.code): one
        for one in catalogue.features
        if one.system is not None and one.code is not None
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


def read_known(prefetch: dict[str, Any], catalogue: Catalogue) -> dict[str, KnownValue]:
    """Return the newest value of each feature among prefetched Observations."""
    codes = map_codes(catalogue)
    known: dict[str, KnownValue] = {}
    for part, at in list_results(prefetch):
        feature = find_feature(part.get("code"), codes)
        value = None if feature is None else read_value(feature, part)
        if feature is None or value is None:
            continue
        if feature.name not in known or known[feature.name].at < at:
            known[feature.name] = KnownValue(value, at)
    return known


def list_results(prefetch: dict[str, Any]) -> Iterator[tuple[Json, str]]:
    """Yield each Observation that stands and its components, with their time."""
    resources = chain.from_iterable(map(list_resources, prefetch.values()))
    for resource in resources:
        is_observation = resource.get("resourceType") == "Observation"
        if is_observation and resource.get("status") in DONE:
            at = resource.get("effectiveDateTime") or resource.get("issued")
            when = at if isinstance(at, str) else ""
            yield from ((one, when) for one in (resource, *list_parts(resource)))


def list_parts(resource: Json) -> list[Json]:
    """Return the components of an Observation, such as both blood pressures."""
    parts = resource.get("component")
    return (
        [one for one in parts if isinstance(one, dict)]
        if isinstance(parts, list)
        else []
    )


def find_feature(concept: Any, codes: dict[tuple[str, str], Feature]) -> Feature | None:
    """Return the feature that a CodeableConcept names."""
    for system, code in list_codings(concept):
        if (system, code) in codes:
            return codes[system, code]
    return None


def list_codings(concept: Any) -> Iterator[tuple[str, str]]:
    codings = concept.get("coding") if isinstance(concept, dict) else None
    for one in codings if isinstance(codings, list) else []:
        if isinstance(one, dict):
            yield str(one.get("system")), str(one.get("code"))


def read_value(feature: Feature, part: Json) -> Any:
    """Return the value of a feature in an Observation; None where it has none."""
    for raw in list_values(feature, part):
        texts: Texts = {}
        try:
            check_value(feature, raw, texts, accept_unseen=False)
        except AnswerError:
            continue
        return raw
    return None


def list_values(feature: Feature, part: Json) -> Iterator[Any]:
    """Yield what may be the value: a number in its unit, or names of a category."""
    quantity, concept = part.get("valueQuantity"), part.get("valueCodeableConcept")
    if feature.type == "number" and isinstance(quantity, dict):
        units = [one for one in (feature.ucum, feature.unit) if one is not None]
        said = {quantity.get("code"), quantity.get("unit")} - {None}
        is_number = type(quantity.get("value")) in (int, float)
        if is_number and (not units or said & set(units)):
            yield quantity["value"]
    elif feature.type == "boolean":
        if isinstance(part.get("valueBoolean"), bool):
            yield part["valueBoolean"]
    elif feature.type == "category" and isinstance(concept, dict):
        names = [concept.get("text")]
        codings = concept.get("coding")
        for one in codings if isinstance(codings, list) else []:
            if isinstance(one, dict):
                names += [one.get("code"), one.get("display")]
        yield from (one for one in names if isinstance(one, str) and one)
    if isinstance(part.get("valueString"), str) and part["valueString"]:
        yield part["valueString"]
    if feature.type == "number" and type(part.get("valueInteger")) is int:
        yield part["valueInteger"]
