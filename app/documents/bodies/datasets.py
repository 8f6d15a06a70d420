"""Schemas of datasets."""

from datetime import datetime

from pydantic import Field

from app.documents.shape import EXAMPLE_TIME, Answer

DATASET_ID = "dat_3f0a1b2c4d5e6f7081920a1b"


class Dataset(Answer):
    id: str = Field(examples=[DATASET_ID])
    name: str = Field(examples=["heart.csv"], description="The file's name.")
    n_bytes: int = Field(examples=[11328])
    n_rows: int = Field(examples=[303])
    columns: list[str] = Field(examples=[["age", "sex", "chol", "disease"]])
    created_at: datetime = Field(examples=[EXAMPLE_TIME])


class DatasetPage(Answer):
    items: list[Dataset]
    next: str | None = Field(examples=[None], description="For `?after=`.")
