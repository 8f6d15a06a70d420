"""Parse a QuestionnaireResponse into session, answers and budget.

What is wrong is refused with its path in the resource. Values are not repeated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import unquote

from askless.app.documents.http.sessions import MAX_ANSWERS, SESSION_ID
from askless.app.documents.text import parse_json
from askless.app.doors.fhir.shapes import Json, ShapeCheck, refused
from askless.app.doors.fhir.vocabulary import (
    ABSENT,
    OUTCOMES,
    SESSION_SYSTEM,
    to_model_key,
    url_of,
)

# Deeper ones are no form of ours, and would be dear to read.
MAX_DEPTH = 8
#: Statuses that a caller may send, and whether the session ends after it.
ENDS = {"in-progress": False, "amended": True, "completed": True, "stopped": True}
SESSION = re.compile("ses_[0-9a-f]{24}")
PARAMETER = "questionnaire-response"
FORM_RULE = "must be `#` and the id of the contained Questionnaire, or a Questionnaire"
TYPE_RULE = f"must be a QuestionnaireResponse, or Parameters with one as `{PARAMETER}`"


class ItemAnswer(NamedTuple):
    """What an item says of a feature, with the item's path in the resource."""

    path: str
    feature: str
    outcome: str
    value: Any
    #: of a quantity
    unit: str | None
    #: of a coded value
    system: str | None = None


@dataclass(frozen=True)
class SentResponse:
    """A QuestionnaireResponse in our words."""

    raw: Json
    #: None: a first call
    session_id: str | None
    version: int | None
    #: the model by the Questionnaire's address; None: it says none
    form: str | None
    budget: Any
    #: in which the budget was sent; None: unsaid
    unit: str | None
    ends: bool
    answers: list[ItemAnswer]


def read_response(body: bytes, shapes: ShapeCheck) -> SentResponse:
    """Read the body of a call; raise RefusedError with what is wrong."""
    raw = unwrap(parse_json(body, "body"))
    items = [*walk_items(raw.get("item"), "item", 0)]
    try:
        shapes.check(raw)
    # References and extensions may hold one another without end.
    except RecursionError:
        raise refused("body", "must nest less deep") from None
    form = contained_form(raw)
    extensions = [*map_extensions(raw), *map_extensions(form)]
    status = raw["status"]
    if status not in ENDS:
        raise refused("status", f"must be one of {', '.join(ENDS)}")
    budget, unit = sent_budget(extensions)
    read = (read_item(path, item) for path, item in items)
    answers = [answer for answer in read if answer is not None]
    return SentResponse(
        raw,
        session_id=sent_session(form, extensions),
        version=parse_version(extensions),
        form=model_key_of_form(raw, form),
        budget=budget,
        unit=unit,
        ends=ENDS[status],
        answers=answers,
    )


def unwrap(raw: Any) -> Json:
    """Return the QuestionnaireResponse of a body, which may be in Parameters."""
    if isinstance(raw, dict) and raw.get("resourceType") == "Parameters":
        parameters = raw.get("parameter")
        resources = [
            parameter.get("resource")
            for parameter in (parameters if isinstance(parameters, list) else [])
            if isinstance(parameter, dict) and parameter.get("name") == PARAMETER
        ]
        raw = resources[0] if len(resources) == 1 else None
    if not isinstance(raw, dict) or raw.get("resourceType") != "QuestionnaireResponse":
        raise refused("resourceType", TYPE_RULE)
    return raw


def walk_items(items: Any, path: str, depth: int) -> Iterator[tuple[str, Json]]:
    """Yield every item with its path; those inside items and answers too."""
    if items is None:
        return
    if depth > MAX_DEPTH:
        raise refused(path, f"must nest at most {MAX_DEPTH} deep")
    if not isinstance(items, list) or len(items) > MAX_ANSWERS:
        raise refused(path, f"must be a list of at most {MAX_ANSWERS} items")
    for place, item in enumerate(items):
        where = f"{path}[{place}]"
        if not isinstance(item, dict):
            raise refused(where, "must be an object")
        yield where, item
        yield from walk_items(item.get("item"), f"{where}.item", depth + 1)
        answers = item.get("answer")
        if not isinstance(answers, list):
            continue
        for number, answer in enumerate(answers):
            if isinstance(answer, dict):
                inner = f"{where}.answer[{number}].item"
                yield from walk_items(answer.get("item"), inner, depth + 1)


def contained_form(raw: Json) -> Json:
    """Return the contained Questionnaire that a response names; {} for none."""
    name, contained = raw.get("questionnaire"), raw.get("contained")
    if contained is not None and not isinstance(contained, list):
        raise refused("contained", "must be a list")
    if not isinstance(name, str):
        raise refused("questionnaire", "is required")
    if not name.startswith("#"):
        return {}
    forms = [
        entry
        for entry in contained or []
        if isinstance(entry, dict) and entry.get("id") == name[1:]
    ]
    if len(forms) != 1 or forms[0].get("resourceType") != "Questionnaire":
        raise refused("questionnaire", FORM_RULE)
    return dict(forms[0])


def map_extensions(element: Json) -> Iterator[tuple[str, Json]]:
    """Yield the extensions of an element with their addresses."""
    extensions = element.get("extension")
    for extension in extensions if isinstance(extensions, list) else []:
        if isinstance(extension, dict) and isinstance(extension.get("url"), str):
            yield extension["url"], extension


def sent_session(form: Json, extensions: list[tuple[str, Json]]) -> str | None:
    """Return the session's id, of the extension or of the contained form."""
    session_ids = [
        extension.get("valueString")
        for url, extension in extensions
        if url == url_of("session")
    ]
    identifiers = form.get("identifier")
    session_ids += [
        identifier.get("value")
        for identifier in (identifiers if isinstance(identifiers, list) else [])
        if isinstance(identifier, dict) and identifier.get("system") == SESSION_SYSTEM
    ]
    for session_id in session_ids:
        if not isinstance(session_id, str) or not SESSION.fullmatch(session_id):
            rule = f"must have the id of a session, such as {SESSION_ID}"
            raise refused("extension", rule)
    if len(set(session_ids)) > 1:
        raise refused("contained", "must be the form of the same session")
    return session_ids[0] if session_ids else None


def find_single_extension(extensions: list[tuple[str, Json]], name: str) -> Json | None:
    """Return one of our extensions; refuse two that say different things."""
    matches = [extension for url, extension in extensions if url == url_of(name)]
    if any(match != matches[0] for match in matches):
        raise refused("extension", f"must have {name} once")
    return matches[0] if matches else None


def parse_version(extensions: list[tuple[str, Json]]) -> int | None:
    extension = find_single_extension(extensions, "version")
    if extension is None:
        return None
    version = extension.get("valueInteger")
    if not isinstance(version, int) or isinstance(version, bool):
        raise refused("extension", "must have a version as valueInteger")
    return version


def model_key_of_form(raw: Json, form: Json) -> str | None:
    """Return the key of the model whose form this one comes from.

    `Questionnaire/my%20heart|2` is version 2 of the model `my heart`.
    """
    address = raw["questionnaire"]
    if address.startswith("#"):
        derived = form.get("derivedFrom")
        address = derived[0] if isinstance(derived, list) and derived else None
    if not isinstance(address, str):
        return None
    address, _, version = address.partition("|")
    name = unquote(address.rpartition("/")[2])
    key = to_model_key(name)
    # An id has one version.
    return (f"{name}@{version}" if version and key == name else key) or None


def sent_budget(extensions: list[tuple[str, Json]]) -> tuple[Any, str | None]:
    """Return the budget as it was sent, and its unit; None: unlimited."""
    extension = find_single_extension(extensions, "budget")
    if extension is None:
        return None, None
    quantity = extension.get("valueQuantity")
    quantity = quantity if isinstance(quantity, dict) else {}
    value = extension.get("valueDecimal", quantity.get("value"))
    if value is None:
        rule = "must have a budget as valueQuantity or valueDecimal"
        raise refused("extension", rule)
    if "comparator" in quantity:
        raise refused("extension", "must have a budget without comparator")
    return value, quantity.get("code") or quantity.get("unit")


def read_item(path: str, item: Json) -> ItemAnswer | None:
    """Return the answer of an item; None where it is not answered."""
    answers = item.get("answer") or []
    name = item["linkId"]
    if len(answers) > 1:
        raise refused(f"{path}.answer", "must be one answer at most")
    answer = answers[0] if answers else {}
    keys = [key for key in answer if key.startswith("value")]
    if keys:
        content = answer[keys[0]]
        value, unit = read_value(content, f"{path}.answer[0].{keys[0]}")
        if value is not None:
            system = content.get("system") if isinstance(content, dict) else None
            return ItemAnswer(path, name, "value", value, unit, system)
    reason = absent_reason(item, answer)
    if reason is None and keys:
        raise refused(f"{path}.answer[0].{keys[0]}", "must have a value")
    if reason is None:
        return None
    if reason not in OUTCOMES:
        raise refused(f"{path}.extension", f"must be one of {', '.join(OUTCOMES)}")
    return ItemAnswer(path, name, OUTCOMES[reason], None, None)


def read_value(value: Any, path: str) -> tuple[Any, str | None]:
    """Return a plain value, and the unit of a quantity."""
    if not isinstance(value, dict):
        return value, None
    if path.endswith("valueCoding"):
        return value.get("code", value.get("display")), None
    if path.endswith("valueQuantity"):
        if "comparator" in value:
            raise refused(
                f"{path}.comparator", "must not be there: a value is a number"
            )
        return value.get("value"), value.get("code") or value.get("unit")
    raise refused(path, "must be a number, a boolean, a text, a Coding or a Quantity")


def absent_reason(item: Json, answer: Json) -> Any:
    """Return the data-absent-reason of an item, its answer or its value."""
    values = (value for name, value in answer.items() if "value" in name)
    elements = (
        element for element in (item, answer, *values) if isinstance(element, dict)
    )
    for url, extension in chain.from_iterable(map(map_extensions, elements)):
        if url == ABSENT:
            return extension.get("valueCode")
    return None
