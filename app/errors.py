"""What the application refuses; `app.http.errors` gives each its status."""

from core.errors import Refusal, RefusedError


class NotFoundError(Exception):
    """There is no such thing, or none any more."""

    def __init__(self, noun: str) -> None:
        super().__init__(f"There is no such {noun}.")


class ConflictError(Exception):
    """What the present state of a thing forbids. `kind` names the rule."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind = kind
        super().__init__(detail)


class NoPageError(RefusedError):
    """No item has the key after which a page is to begin."""

    def __init__(self) -> None:
        super().__init__([Refusal("after", "must be the `next` of an earlier page")])


class SupersededError(Exception):
    """Another worker has taken a training over; this one must not write to it."""


class BlobGoneError(Exception):
    """The bytes of a dataset are gone."""


class NothingToComeError(Exception):
    """What a caller follows has ended, and the caller has seen the end."""
