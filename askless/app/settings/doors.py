"""Settings of doors: the other protocols that the service can speak, and whom it knows.

Addresses are of https, or on this machine.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from askless.app.records import Role

#: where a secret may be sent, or keys fetched from: https, or this machine
TRUSTED = (
    r"^(https://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])|http://(127\.0\.0\.1|localhost))"
    r"(:[0-9]{1,5})?([/?][!-~]*)?$"
)
#: a record system's part of an address
ServerName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=40)]


class Grant(BaseModel):
    """The tenant and the role that the members of a group get."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: str = "default"
    role: Role


class SmartServer(BaseModel):
    """A record system that launches us by SMART on FHIR, as it registered us."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: the address of its FHIR
    fhir: str = Field(pattern=TRUSTED)
    client_id: str = Field(min_length=1)
    #: None: a public client
    client_secret: str | None = Field(default=None, min_length=1)
    #: where and as what its users work here
    tenant: str = "default"
    role: Literal["clinician", "admin"] = "clinician"
    #: of the sessions that a launch prepares
    budget: float | None = Field(default=None, ge=0)


class CdsClient(BaseModel):
    """A client of CDS Hooks, which its tokens name as their issuer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: where its JWK Set is
    jwks: str = Field(pattern=TRUSTED)
    #: the tenant whose models it may ask
    tenant: str = "default"
