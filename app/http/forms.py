"""Multipart bodies: their parts, or what is wrong with them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import FormData, Headers, UploadFile

FORM = "multipart/form-data"
MAX_PART = 1_000_000
TABLE = {
    "type": "string",
    "contentMediaType": "application/octet-stream",
    "description": "CSV with a header, or Parquet.",
}


def schema_of(**parts: dict[str, str]) -> dict[str, Any]:
    """Return the schema of a form with these parts, which are all required."""
    return {"type": "object", "required": list(parts), "properties": parts}


def media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


@asynccontextmanager
async def read_form(request: Request) -> AsyncIterator[FormData]:
    """Parse a multipart body; its files are closed at the end."""
    if media_type(request.headers) != FORM:
        detail = f"The body must be {FORM}."
        raise HTTPException(415, detail, headers={"Accept-Post": FORM})
    form = await request.form(max_files=2, max_fields=4, max_part_size=MAX_PART)
    try:
        yield form
    finally:
        await form.close()


def required_file(form: FormData, name: str) -> UploadFile:
    part = form.get(name)
    if isinstance(part, UploadFile):
        return part
    raise missing(name, "must be a file of the form")


def missing(name: str, rule: str) -> RequestValidationError:
    return RequestValidationError(
        [{"type": "value_error", "loc": ("body", name), "ctx": {"error": rule}}]
    )
