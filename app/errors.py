"""What the application refuses; `app.http.errors` gives each its status."""

from core.errors import Refusal, RefusedError


class AppError(Exception):
    """Whatever the application refuses to do."""


class NotFoundError(AppError):
    """There is no such thing, or none any more."""

    def __init__(self, noun: str, key: str) -> None:
        self.noun = noun
        self.key = key
        super().__init__(f"there is no such {noun}")


class ConflictError(AppError):
    """What the present state of a thing forbids. `kind` names the rule."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind = kind
        super().__init__(detail)


class NoPageError(RefusedError):
    """No item has the key after which a page is to begin."""

    def __init__(self) -> None:
        super().__init__([Refusal("after", "must be the `next` of an earlier page")])


class SupersededError(AppError):
    """Another worker has taken a training over; this one must not write to it."""


class BlobGoneError(AppError):
    """The bytes of a dataset are gone."""
