"""Settings of doors, the other protocols that the service can speak."""

from pydantic import BaseModel, ConfigDict, Field


class CdsClient(BaseModel):
    """A client of CDS Hooks, which its tokens name as their issuer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: where its JWK Set is
    jwks: str = Field(pattern=r"^https?://[^\s]+$")
    #: the tenant whose models it may ask
    tenant: str = "default"
