"""Style sheet, script and icon, under addresses that change with their content."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from askless.app.words.charts.svg import COLOURS

ROOT = "/ui/static"
#: The guide as `make docs` builds it; a server may be without it.
GUIDE = Path(str(files("askless.app.pages") / "guide.zip"))
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Asset(NamedTuple):
    """A static file as it is served."""

    address: str
    content: bytes
    media_type: str


@cache
def load_assets() -> dict[str, Asset]:
    """Return all static files by name; the style sheet begins with chart colours."""
    assets_by_name = {}
    for file in files("askless.app.pages").joinpath("static").iterdir():
        stem, dot, ending = file.name.rpartition(".")
        content = file.read_bytes()
        if ending == "css":
            content = COLOURS.encode() + content
        address = f"{ROOT}/{stem}.{sha256(content).hexdigest()[:12]}{dot}{ending}"
        assets_by_name[file.name] = Asset(address, content, KINDS[dot + ending])
    return assets_by_name


def has_guide() -> bool:
    return GUIDE.is_file()


def asset_address(name: str) -> str:
    return load_assets()[name].address
