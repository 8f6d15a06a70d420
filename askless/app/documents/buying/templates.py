"""Templates of requests: `{key.…}` and `{secret.…}`, encoded for their place."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

KINDS = ("key", "secret")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
# A doubled brace stands for itself.
PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
PLACEHOLDER_RULE = (
    "has a placeholder that is neither {key.…} nor {secret.…}; a brace that stands for "
    "itself is doubled"
)
DOTS = (".", "..")
# What may stand in a header: visible ASCII, and spaces inside.
HEADER = re.compile(r"[!-~]+(?:[ \t]+[!-~]+)*")


class Placeholder(NamedTuple):
    """A place that a key of the case, or a secret, fills."""

    kind: str
    name: str


class UnfitError(Exception):
    """A key or secret can't stand where a template has it."""

    def __init__(self, placeholder: Placeholder) -> None:
        self.placeholder = placeholder
        super().__init__(f"{placeholder.kind}.{placeholder.name}")


def read_placeholders(text: str) -> Iterator[Placeholder]:
    """Yield the placeholders of a text; raise ValueError for what is none."""
    for piece in PIECE.finditer(text):
        if piece.group() in ("{{", "}}"):
            continue
        kind, _, name = (piece.group(1) or "").partition(".")
        if kind not in KINDS or not NAME.fullmatch(name):
            raise ValueError(PLACEHOLDER_RULE)
        yield Placeholder(kind, name)


def fill(text: str, values: Callable[[Placeholder], str]) -> str:
    """Return a text with the value of each placeholder in its place."""

    def put(piece: re.Match[str]) -> str:
        if piece.group() in ("{{", "}}"):
            return piece.group()[0]
        kind, _, name = (piece.group(1) or "").partition(".")
        return values(Placeholder(kind, name))

    return PIECE.sub(put, text)


def list_texts(document: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield each text of a JSON document with its place; the names of fields too."""
    if isinstance(document, str):
        yield place, document
    elif isinstance(document, Mapping):
        for name, value in document.items():
            yield place, name
            yield from list_texts(value, f"{place}.{name}")
    elif isinstance(document, list):
        for position, item in enumerate(document):
            yield from list_texts(item, f"{place}[{position}]")


class Filler:
    """Fills the places of a request, each encoded as its place needs."""

    def __init__(self, values: Callable[[Placeholder], str]) -> None:
        self.values = values

    def fill_url(self, url: str) -> str:
        """Return an address; a value is percent-encoded, and never a dot segment."""

        def encode(placeholder: Placeholder) -> str:
            value = self.values(placeholder)
            if value in DOTS:
                raise UnfitError(placeholder)
            return quote(value, safe="")

        return fill(url, encode)

    def fill_header(self, text: str) -> str:
        """Return a header; a value must be visible ASCII."""

        def check(placeholder: Placeholder) -> str:
            value = self.values(placeholder)
            if not HEADER.fullmatch(value):
                raise UnfitError(placeholder)
            return value

        return fill(text, check)

    def fill_text(self, text: str) -> str:
        """Return a value of the query, which is encoded as a whole later."""
        return fill(text, self.values)

    def fill_json(self, document: Any) -> Any:
        """Return a JSON document with its texts filled."""
        if isinstance(document, str):
            return fill(document, self.values)
        if isinstance(document, Mapping):
            return {
                fill(name, self.values): self.fill_json(value)
                for name, value in document.items()
            }
        if isinstance(document, list):
            return [self.fill_json(item) for item in document]
        return document


def write_json(document: Any) -> bytes:
    """Return the body of a request."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
