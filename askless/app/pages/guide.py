"""Serve the guide, which `make docs` builds of docs/, without any other site."""

import re
from base64 import b64encode
from hashlib import sha256
from mimetypes import guess_type
from zipfile import ZipFile

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from askless.app.errors import NotFoundError
from askless.app.pages.plumbing import assets
from askless.app.pages.plumbing.frame import redirect

router = APIRouter(prefix="/docs/guide", include_in_schema=False)

INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


class NoGuideError(NotFoundError):
    """The server was installed, or is run, without the built guide."""

    def __init__(self) -> None:
        words = "This server has no guide: `make docs` builds it in Askless's source."
        Exception.__init__(self, words)


def allow_scripts(page: bytes) -> str:
    """Return the policy of a page: the site's files, and the scripts that it contains.

    Its one script of its own sets light or dark before anything is shown.
    """
    hashes = "".join(
        f" 'sha256-{b64encode(sha256(script).digest()).decode()}'"
        for script in INLINE_SCRIPT.findall(page)
    )
    return (
        f"default-src 'none'; script-src 'self'{hashes}; style-src 'self' "
        "'unsafe-inline'; img-src 'self' data:; connect-src 'self'; form-action "
        "'self'; base-uri 'none'; frame-ancestors 'none'"
    )


@router.get("")
def lead_to_guide() -> Response:
    return redirect(f"{router.prefix}/")


@router.get("/{name:path}")
def show_guide(name: str) -> Response:
    """Return a file of the archive by its exact name: no other file can be reached."""
    if not assets.has_guide():
        raise NoGuideError
    name = name or "index.html"
    with ZipFile(assets.GUIDE) as archive:
        if name not in archive.namelist():
            raise HTTPException(404)
        content = archive.read(name)
    media_type = guess_type(name)[0] or "application/octet-stream"
    response = Response(content, media_type=media_type)
    response.headers["Content-Security-Policy"] = allow_scripts(content)
    return response
