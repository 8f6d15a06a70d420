"""Schemas of datasets."""

from datetime import datetime

from pydantic import Field

from app.documents.fields import MAX_NAME
from app.documents.shape import EXAMPLE_TIME, Answer, Shape

EXAMPLE_URL = "s3://clinic/visits/*.parquet"
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
        examples=[EXAMPLE_URL],
        description="Of a file, a folder, or files by * in the last part.",
    )
    name: str | None = Field(
        default=None,
        max_length=MAX_NAME,
        examples=["visits"],
        description="By default the last part of the address.",
    )


class DatasetPage(Answer):
    items: list[Dataset]
    next: str | None = Field(examples=[None], description="For `?after=`.")
