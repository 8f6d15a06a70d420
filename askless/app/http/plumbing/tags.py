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
    # Other tags name no version.
    return frozenset(int(tag) for tag in tags if re.fullmatch("[1-9][0-9]{0,8}", tag))


def entity_tag(content: bytes) -> str:
    """Return the entity tag of a content: its digest, cut."""
    return sha256(content).hexdigest()[:32]


def tagged_response(
    content: bytes, if_none_match: str | None, headers: dict[str, str] | None = None
) -> Response:
    """Return JSON with its `ETag`, or 304 to a caller who has it."""
    tag = entity_tag(content)
    headers = (headers or {}) | {"ETag": f'"{tag}"'}
    if has_version(tag, if_none_match):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=JSON)


def has_version(tag: str, if_none_match: str | None) -> bool:
    """Return whether `If-None-Match` names a tag, so the caller has that version."""
    if if_none_match is None:
        return False
    tags = read_tags(if_none_match)
    return tags is None or tag in tags
