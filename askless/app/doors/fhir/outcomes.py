"""Problems as OperationOutcomes, below the door's addresses."""

import json
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response

from askless.app.doors.fhir.vocabulary import MEDIA_TYPE, PROBLEM_SYSTEM
from askless.app.http.plumbing.layers.translating import Translation

Json = dict[str, Any]
# Types of issue of FHIR by our types of problems; others are `processing`.
ISSUES = {
    "invalid-request": "invalid",
    "unauthorized": "login",
    "forbidden": "forbidden",
    "not-found": "not-found",
    "method-not-allowed": "not-supported",
    "not-acceptable": "not-supported",
    "unsupported-media-type": "not-supported",
    "over-budget": "business-rule",
    "useless-answer": "business-rule",
    "session-closed": "expired",
    "version-mismatch": "conflict",
    "conflict": "conflict",
    "limit-reached": "throttled",
    "too-many-requests": "throttled",
    "too-large": "too-long",
    "internal": "exception",
    "unavailable": "transient",
}


def translate(document: Json, status: int, headers: Headers) -> Response:
    """Return the response of a problem, as an OperationOutcome."""
    del headers
    return Response(json.dumps(outcome_of(document)), status, media_type=MEDIA_TYPE)


def outcome_of(document: Json) -> Json:
    """Return a problem document as an OperationOutcome: an issue for each rule."""
    kind = str(document.get("type", "")).rpartition("/")[2]
    coding = {"system": PROBLEM_SYSTEM, "code": kind, "display": document["title"]}
    code = ISSUES.get(kind, "processing")
    rules = document.get("errors") or [{"rule": document.get("detail", "")}]
    issues = []
    for one in rules:
        text = one["rule"] or document["title"]
        details = {"coding": [coding], "text": text}
        issue: Json = {"severity": "error", "code": code, "details": details}
        if one.get("field"):
            issue["expression"] = [one["field"]]
        issues.append(issue)
    return {"resourceType": "OperationOutcome", "issue": issues}


TRANSLATION = Translation("/fhir", translate)
