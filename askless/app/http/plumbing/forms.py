"""Read multipart bodies, or refuse them with what is wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.exceptions import HTTPException

FORM = "multipart/form-data"
TOO_LARGE = "A part of the form is larger than the {limit} bytes that it may have."
TABLE = {
    "type": "string",
    # Said twice: generators of clients know the one or the other.
    "format": "binary",
    "contentMediaType": "application/octet-stream",
    "description": "CSV with a header, or Parquet.",
}


def form_schema(**parts: dict[str, str]) -> dict[str, Any]:
    """Return the schema of a form whose parts are all required."""
    return {"type": "object", "required": list(parts), "properties": parts}


def media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


@asynccontextmanager
async def read_form(request: Request) -> AsyncIterator[FormData]:
    """Parse a multipart body, of limited text parts; close its files after."""
    if media_type(request.headers) != FORM:
        detail = f"The body must be {FORM}."
        raise HTTPException(415, detail, headers={"Accept-Post": FORM})
    form = await parse_form(request)
    try:
        yield form
    finally:
        await form.close()


async def parse_form(request: Request) -> FormData:
    """Parse a multipart body, once for each request; the caller closes it."""
    limit = request.app.state.settings.max_body_bytes
    try:
        return await request.form(max_files=2, max_fields=4, max_part_size=limit)
    except HTTPException as error:
        # Starlette has no type of its own for it.
        if error.detail.startswith("Part exceeded"):
            raise HTTPException(413, TOO_LARGE.format(limit=limit)) from None
        raise


async def read_text(request: Request, part: UploadFile | str) -> bytes:
    """Return a text part as bytes, sent as a field or as a file."""
    if isinstance(part, str):
        return part.encode()
    limit = request.app.state.settings.max_body_bytes
    text = await part.read(limit + 1)
    if len(text) > limit:
        raise HTTPException(413, TOO_LARGE.format(limit=limit))
    return text


def required_file(form: FormData, name: str) -> UploadFile:
    part = form.get(name)
    if isinstance(part, UploadFile):
        return part
    raise part_error(name, "must be a file of the form")


def part_error(name: str, rule: str) -> RequestValidationError:
    """Return the exception for a part of a body that breaks a rule."""
    return RequestValidationError(
        [{"type": "value_error", "loc": ("body", name), "ctx": {"error": rule}}]
    )
