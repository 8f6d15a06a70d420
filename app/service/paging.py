"""Pages as a user asks for them."""

from typing import TypeVar

from app.records import Page
from core.errors import Refusal, RefusedError

T = TypeVar("T")


def require_page(found: Page[T] | None) -> Page[T]:
    """Return a page, which there is after the `next` of another one only."""
    if found is None:
        rule = "must be the `next` of an earlier page"
        raise RefusedError([Refusal("after", rule)])
    return found
