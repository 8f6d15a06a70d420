"""Schemas of operations."""

from typing import Literal

from pydantic import Field

from app.documents.shape import Answer


class Alive(Answer):
    status: Literal["alive"] = Field(examples=["alive"])


class Ready(Answer):
    status: Literal["ready"] = Field(examples=["ready"])
    checks: dict[str, Literal["ok", "failing"]] = Field(
        examples=[{"database": "ok", "migrations": "ok", "kernels": "ok"}]
    )
