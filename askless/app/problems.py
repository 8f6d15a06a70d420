"""The types of problems (RFC 9457), shared by requests and jobs."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """One type of problem, as /problems/{kind} documents it."""

    status: int
    title: str
    meaning: str


# Of several with one status the last one is general.
KINDS = {
    "idempotency-mismatch": Kind(
        422,
        "The idempotency key belongs to another request",
        "A key stands for one request: its method, address and body. Send another "
        "request with a key of its own.",
    ),
    "invalid-request": Kind(
        422,
        "The request breaks a rule",
        "`errors` lists each field with its rule. Nothing was stored or charged. "
        "Correct the fields and send the request again.",
    ),
    "unauthorized": Kind(
        401,
        "The request has no valid key",
        "Send `Authorization: Bearer askl_…`. A key that has expired or was revoked is "
        "no longer valid.",
    ),
    "foreign-origin": Kind(
        403,
        "A page of another origin may not change anything here",
        "The operator may name origins that may (ASKLESS_ORIGINS).",
    ),
    "foreign-form": Kind(
        403,
        "The form is not of this page, or too old",
        "Each page gives its forms a token for one browser. Load the page again, and "
        "send its form once more.",
    ),
    "forbidden": Kind(
        403, "The key lacks a scope", "`detail` names the scope that the request needs."
    ),
    "not-found": Kind(
        404,
        "Not found",
        "The address or the id in it names nothing, or nothing any more.",
    ),
    "method-not-allowed": Kind(
        405,
        "The address has no such method",
        "The header Allow lists the methods it has.",
    ),
    "not-acceptable": Kind(
        406, "There is no such representation", "See the API documentation."
    ),
    "over-budget": Kind(
        409,
        "The price exceeds what remains of the budget",
        "`feature` and `price` say which charge did not fit, `remaining` what the "
        "answers before it in the request would have left. None of them was taken, and "
        "nothing was charged.",
    ),
    "useless-answer": Kind(
        409,
        "The answer can't be used",
        "Nothing that the model asks depends on `feature`, so its answer would cost "
        "`price` and change nothing. No answer of the request was taken, and nothing "
        'was charged. `"insist": true` charges it all the same.',
    ),
    "being-bought": Kind(
        409,
        "The feature is being bought just now",
        "A run has a call for it on its way, which would be paid as well. Wait for its "
        "answer, or pause the run first.",
    ),
    "session-closed": Kind(
        409,
        "The session takes no such answer any more",
        "It was stopped, has expired or was erased. At most it takes results that were "
        "ordered.",
    ),
    "version-mismatch": Kind(
        412,
        "It has changed since",
        "If-Match named another version. Read the session or model again.",
    ),
    "name-taken": Kind(
        409,
        "A model has this name",
        "An import takes over no name silently: `?as_version=true` adds the next "
        "version.",
    ),
    "model-in-use": Kind(
        409,
        "The model has sessions in progress",
        "A model can be deleted once none of its sessions has a question or waits for "
        "results.",
    ),
    "dataset-in-use": Kind(
        409,
        "A training uses the dataset",
        "A dataset can be deleted once its trainings have ended.",
    ),
    "training-finished": Kind(
        409,
        "The training has ended",
        "Only a training that is queued or running can be cancelled.",
    ),
    "limit-reached": Kind(
        409,
        "The key has as much as it may",
        "`detail` names the limit. End or delete something, or ask the operator.",
    ),
    "already-reversed": Kind(
        409,
        "The charge is reversed already",
        "A charge is reversed once, and whole. What was obtained afterwards is another "
        "charge, with an id of its own.",
    ),
    "not-a-charge": Kind(
        409,
        "The entry is no charge",
        "Only charges can be reversed; a reversal stands.",
    ),
    "idempotency-in-progress": Kind(
        409,
        "The same request is still being answered",
        "Send it again when Retry-After says; it is answered once.",
    ),
    "conflict": Kind(
        409, "The present state forbids it", "`detail` says what stands in the way."
    ),
    "too-large": Kind(
        413,
        "The body is too large",
        "Uploads and other bodies have limits that the operator sets.",
    ),
    "unsupported-media-type": Kind(
        415,
        "The address does not take this type of body",
        "The API documentation names the content type of every call.",
    ),
    "unknown-host": Kind(
        421,
        "The service does not answer to this host name",
        "On loopback `Host` must be a loopback name, or one that the operator names "
        "(ASKLESS_HOSTS).",
    ),
    "too-many-requests": Kind(
        429,
        "The key sends more requests than it may",
        "Retry-After says in how many seconds the next one may come.",
    ),
    "worker-lost": Kind(
        500,
        "The training's workers died",
        "As many workers as are allowed were lost while they ran this training.",
    ),
    "out-of-memory": Kind(
        500,
        "The training needed too much memory",
        "It passed the bound that the operator sets, or what the machine has.",
    ),
    "cluster-lost": Kind(
        500,
        "The training lost the machines of its cluster",
        "`detail` tells what happened. Once the cluster has workers again, order the "
        "training anew.",
    ),
    "time-limit": Kind(
        500,
        "The training took too long",
        "The operator sets how long a training may take.",
    ),
    "training-failed": Kind(
        500, "The training failed", "`detail` and `errors` say why."
    ),
    "internal": Kind(
        500,
        "The service made a mistake",
        "It is logged under the request's id (X-Request-ID). Nothing was stored.",
    ),
    "unavailable": Kind(
        503,
        "The service can't answer now",
        "It is starting, or its database does not answer. Try again soon.",
    ),
}


def problem_document(
    kind: str, detail: str | None = None, status: int | None = None, **more: object
) -> dict[str, Any]:
    """Return a problem; without a detail it says what its type means."""
    known = KINDS[kind]
    return {
        "type": f"/problems/{kind}",
        "title": known.title,
        **({} if status is None else {"status": status}),
        "detail": detail or known.meaning,
        **more,
    }
