"""Our style sheet and script, each under an address that changes with its content."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from app.words.charts import COLOURS

router = APIRouter(include_in_schema=False)
ROOT = "/ui/static"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Asset(NamedTuple):
    """A file of ours as it is served."""

    address: str
    content: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """Return our files by name; the style sheet begins with the colours of charts."""
    found = {}
    for file in files("app.pages").joinpath("static").iterdir():
        stem, dot, ending = file.name.rpartition(".")
        content = file.read_bytes()
        if ending == "css":
            content = COLOURS.encode() + content
        address = f"{ROOT}/{stem}.{sha256(content).hexdigest()[:12]}{dot}{ending}"
        found[file.name] = Asset(address, content, KINDS[dot + ending])
    return found


def address_of(name: str) -> str:
    return assets()[name].address


@router.get(ROOT + "/{name}")
def serve(name: str) -> Response:
    """Return a file for good: what changes gets another address."""
    for one in assets().values():
        if one.address == f"{ROOT}/{name}":
            kept = {"Cache-Control": "public, max-age=31536000, immutable"}
            return Response(one.content, headers=kept, media_type=one.media_type)
    raise HTTPException(404)
