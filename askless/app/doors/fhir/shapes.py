"""Check resources that come in by the models of `fhir.resources`."""

import json
from collections import OrderedDict
from hashlib import sha256
from threading import Lock
from typing import Any

from fhir.resources.R4B.questionnaireresponse import (
    QuestionnaireResponse,
    QuestionnaireResponseItem,
)
from fhir_core.fhirabstractmodel import FHIRAbstractModel
from pydantic import ValidationError

from askless.app.documents.shape import MAX_REFUSALS, path_text
from askless.app.doors.fhir.vocabulary import EXTENSIONS, READ, url_of
from askless.core.errors import Refusal, RefusedError

Json = dict[str, Any]
#: Our extensions that a call is not read for.
UNREAD = {url_of(extension) for extension in EXTENSIONS} - {
    url_of(entry) for entry in READ
}


def refused(path: str, rule: str) -> RefusedError:
    return RefusedError([Refusal(path, rule)])


def other_contained(raw: Json) -> list[Json]:
    """Return a response's contained resources beside forms, such as its author."""
    contained = raw.get("contained")
    return [
        entry
        for entry in (contained if isinstance(contained, list) else [])
        if not isinstance(entry, dict) or entry.get("resourceType") != "Questionnaire"
    ]


def is_unread(extension: Any) -> bool:
    """Return whether an extension is one of ours that only tells callers something."""
    url = extension.get("url") if isinstance(extension, dict) else None
    return isinstance(url, str) and url in UNREAD


def list_read(frame: Json) -> Json:
    """Return the extensions and the contained resources that have to be checked."""
    others = other_contained(frame)
    # The library takes what names no type for any resource.
    if not all(isinstance(other, dict) and "resourceType" in other for other in others):
        raise refused("contained", "must be resources with their resourceType")
    extensions = frame.get("extension")
    if isinstance(extensions, list):
        extensions = [
            extension for extension in extensions if not is_unread(extension)
        ] or None
    return {"contained": others or None, "extension": extensions}


class ShapeCheck:
    """Refuses what is no QuestionnaireResponse of R4B.

    A form comes back with all its items at each call. Those that were right before are
    known by their digests: to check all of them anew took a fifth of a call's time.
    The contained form and most of our extensions are ours, and come back unread, so
    they are not checked: that took a tenth of a call's time.
    """

    def __init__(self, most: int = 4096) -> None:
        self.most = most
        self.lock = Lock()
        self.digests: OrderedDict[bytes, None] = OrderedDict()

    def check(self, raw: Json) -> None:
        frame = {name: value for name, value in raw.items() if name != "item"}
        try:
            refuse_misfit(QuestionnaireResponse, frame | list_read(frame))
        except RefusedError:
            # The paths of what is wrong count all parts.
            refuse_misfit(QuestionnaireResponse, frame)
            raise
        if "status" not in raw:
            raise refused("status", "is required")
        for place, item in enumerate(raw.get("item") or ()):
            digest = sha256(json.dumps(item).encode()).digest()
            if digest not in self.digests:
                refuse_misfit(QuestionnaireResponseItem, item, ("item", place))
                self.keep(digest)

    def keep(self, digest: bytes) -> None:
        with self.lock:
            self.digests[digest] = None
            while len(self.digests) > self.most:
                self.digests.popitem(last=False)


def refuse_misfit(
    model: type[FHIRAbstractModel], raw: Json, where: tuple[str | int, ...] = ()
) -> None:
    """Refuse what a class of FHIR does not allow, each by its path."""
    try:
        model.model_validate(raw)
    except ValidationError as error:
        raise RefusedError(
            Refusal(path_text((*where, *detail["loc"])) or "body", shape_rule(detail))
            for detail in error.errors(include_url=False)[:MAX_REFUSALS]
        ) from None
    # The library's own checks fail so where a type that is named does not exist.
    except (LookupError, TypeError, AttributeError):
        rule = "must be as FHIR R4B defines it"
        raise refused(path_text(where) or "body", rule) from None


def shape_rule(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "is no element of FHIR R4B here"
    if error["type"] == "missing":
        return "is required"
    return "must be as FHIR R4B defines it"
