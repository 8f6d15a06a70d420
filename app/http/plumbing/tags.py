"""Entity tags: compare the version that a caller has with the present one."""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Annotated

from fastapi import Header, Response

# Weak ones too: a proxy that compresses weakens the tags of what it passes on.
TAG = r'(?:W/)?"[!#-~]*"'
TAGS = rf"^(?:\*|{TAG}(?:[ \t]*,[ \t]*{TAG})*)$"
MAX_LENGTH = 1000
JSON = "application/json"

IfMatch = Annotated[
    str | None,
    Header(
        pattern=TAGS,
        max_length=MAX_LENGTH,
        description="Refuse (412) unless one of these is the `ETag`; `*` is any.",
        examples=['"5"'],
    ),
]
IfNoneMatch = Annotated[
    str | None,
    Header(
        pattern=TAGS,
        max_length=MAX_LENGTH,
        description="Answer 304 without a body if one of these is the `ETag`.",
        examples=['"5"'],
    ),
]


def read_tags(text: str) -> frozenset[str] | None:
    """Return the tags that a header names, without quotes; None: any."""
    return None if text == "*" else frozenset(re.findall(r'"([^"]*)"', text))


def read_versions(text: str) -> frozenset[int] | None:
    """Return the versions that tags name; None: any."""
    tags: Iterable[str] | None = read_tags(text)
    if tags is None:
        return None
    return frozenset(int(one) for one in tags if re.fullmatch("[1-9][0-9]{0,8}", one))


def tag_of(content: bytes) -> str:
    """Return the tag of a content: its digest."""
    return sha256(content).hexdigest()[:32]


def answer(
    content: bytes, seen: str | None, headers: dict[str, str] | None = None
) -> Response:
    """Return JSON with its tag, or 304 to a caller who has it."""
    tag = tag_of(content)
    headers = (headers or {}) | {"ETag": f'"{tag}"'}
    if is_seen(tag, seen):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=JSON)


def is_seen(tag: str, seen: str | None) -> bool:
    """Whether `If-None-Match` names a tag: the caller has that version."""
    if seen is None:
        return False
    tags = read_tags(seen)
    return tags is None or tag in tags
