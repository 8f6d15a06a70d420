"""Exceptions of the application; `http/plumbing/errors.py` has their statuses."""

from askless.app.records import StoredAnswer
from askless.core.errors import Refusal, RefusedError

# Letters of what was asked for that an error repeats.
MOST_ECHOED = 100


class NotFoundError(Exception):
    """No such thing exists, or not any more."""

    def __init__(
        self, noun: str, asked: str | None = None, nearest: str | None = None
    ) -> None:
        words = f"There is no such {noun}."
        if asked is not None:
            words = f"There is no {noun} {asked[:MOST_ECHOED]!r}."
        if nearest is not None:
            words += f" Did you mean {nearest!r}?"
        super().__init__(words)


class ConflictError(Exception):
    """A request conflicts with the present state; `kind` names the problem."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind = kind
        super().__init__(detail)


class LimitError(ConflictError):
    """A request would exceed a limit of the key."""

    def __init__(self, limit: str, most: int) -> None:
        detail = f"The limit {limit} of this key is {most}, and would be passed."
        super().__init__("limit-reached", detail)


class UnknownKeyError(Exception):
    """A request has no key, or one that is not known, has expired or was revoked."""


class ForbiddenError(Exception):
    """A key lacks the scope that a request needs."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        who = "Ask whoever has a key with keys:write for one that has it."
        super().__init__(f"The key lacks the scope {scope}. {who}")


class NoPageError(RefusedError):
    """No item has the key after which a page is to begin."""

    def __init__(self) -> None:
        super().__init__([Refusal("after", "must be the `next` of an earlier page")])


class SupersededError(Exception):
    """Another worker has taken a training over; this one must not write to it."""


class BlobGoneError(Exception):
    """The bytes of a dataset are gone."""


class NothingToComeError(Exception):
    """A followed job has ended, and the caller has seen its last event."""


class UnwantedError(Exception):
    """Nobody waits for the answer any more."""


class InProgressError(ConflictError):
    """The request of an idempotency key is still being answered."""

    def __init__(self) -> None:
        detail = "The first request with this Idempotency-Key is still being answered."
        super().__init__("idempotency-in-progress", detail)


class ReplayedError(Exception):
    """A request was answered before; that answer is to be given again."""

    def __init__(self, answer: StoredAnswer) -> None:
        super().__init__()
        self.answer = answer
