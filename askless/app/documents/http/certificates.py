"""Schemas of certificates: when a session stops early, and the evidence for it."""

from pydantic import Field

from askless.app.documents.shape import Answer, Units


class CertificateStratum(Answer):
    """Held-out sessions that stopped between this spend and the next stratum's."""

    least_spend: Units = Field(examples=[20.0])
    open: bool = Field(
        validation_alias="is_open",
        examples=[True],
        description="Whether a session may stop early here.",
    )
    rows: int = Field(validation_alias="n_samples", examples=[154])
    differing: int = Field(
        validation_alias="n_differing",
        examples=[2],
        description="Of these rows those with another label than at the end.",
    )


class Certificate(Answer):
    """When a session stops early (`certified`), or why it never does."""

    disagreement: float = Field(examples=[0.05])
    delta: float = Field(examples=[0.1])
    in_force: bool = Field(examples=[True])
    why: str = Field(
        examples=["Shown on rows set aside."],
        description="What it rests on, or why there is none: also since an answer was "
        "refused or unknown.",
    )
    budget: Units | None = Field(
        examples=[60.0], description="Under which they were played; null: unlimited."
    )
    threshold: float | None = Field(
        examples=[0.95], description="How probable the label must be."
    )
    rows: int = Field(validation_alias="n_samples", examples=[250])
    strata: list[CertificateStratum]
    mean_spend: Units | None = Field(examples=[31.5])
    mean_spend_whole: Units | None = Field(
        examples=[58.0], description="Without early stops."
    )
