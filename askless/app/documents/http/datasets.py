"""Schemas of datasets."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator, Field

from askless.app.documents.fields import MAX_NAME, WITHOUT_NUL
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape

EXAMPLE_URL = "s3://clinic/visits/*.parquet"
# A day such as 2026-11-20 has so many letters.
DAY_LENGTH = 10
DATASET_ID = "dat_3f0a1b2c4d5e6f7081920a1b"


class Dataset(Answer):
    id: str = Field(examples=[DATASET_ID])
    name: str = Field(examples=["heart.csv"], description="The file's name.")
    n_bytes: int = Field(examples=[11328])
    n_rows: int = Field(examples=[303])
    columns: list[str] = Field(examples=[["age", "sex", "chol", "disease"]])
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    url: str | None = Field(
        default=None,
        examples=[None],
        description="Where the table lies, unless it was uploaded.",
    )


class DatasetReference(Shape):
    """A table in Parquet files that stay where they are."""

    url: str = Field(
        min_length=1,
        max_length=1000,
        pattern=WITHOUT_NUL,
        examples=[EXAMPLE_URL],
        description="Of a file, a folder, or files by * in the last part.",
    )
    name: str | None = Field(
        default=None,
        max_length=MAX_NAME,
        examples=["visits"],
        description="By default the last part of the address.",
    )


def read_time(raw: object) -> datetime:
    """Return the moment that a text names, in UTC; a day is its first moment there."""
    try:
        moment = datetime.fromisoformat(raw) if isinstance(raw, str) else None
    except ValueError:
        moment = None
    if moment is not None and len(str(raw)) == DAY_LENGTH:
        moment = moment.replace(tzinfo=UTC)
    if moment is None or moment.tzinfo is None:
        raise ValueError(f"must be a time such as {EXAMPLE_TIME}, or a day")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be in the years 1 to 9999 of UTC") from None


Time = Annotated[datetime, BeforeValidator(read_time, json_schema_input_type=datetime)]


class CasesRequest(Shape):
    """Closed cases with their outcomes, to be made a table of."""

    cases_of: str = Field(
        min_length=1,
        max_length=MAX_NAME + 20,
        pattern=WITHOUT_NUL,
        examples=["heart-cleveland"],
        description="A model: its name for all versions, `name@2` or its id for one.",
    )
    since: Time | None = Field(
        default=None,
        examples=[EXAMPLE_TIME],
        description="First moment that counts of when a case became known: closed, and "
        "its outcome recorded. A day is its first moment, in UTC.",
    )
    until: Time | None = Field(
        default=None, examples=[None], description="First moment that no longer counts."
    )
    name: str | None = Field(default=None, max_length=MAX_NAME, examples=["november"])


class DatasetPage(Answer):
    items: list[Dataset]
    next: str | None = Field(examples=[None], description="For `?after=`.")
