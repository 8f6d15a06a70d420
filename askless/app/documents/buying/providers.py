"""A provider: the offer that its call fills, its request, reading and charges."""

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

from askless.app.documents.buying.templates import (
    HEADER,
    Placeholder,
    fill,
    list_texts,
    read_placeholders,
)
from askless.app.documents.fields import STORABLE_RULE, Amount, Key, is_storable
from askless.app.documents.shape import Shape
from askless.core.catalogue.catalogue import Billing
from askless.core.catalogue.prices import MAX_UNITS, from_micros

MAX_PATH = 500
MAX_ITEMS = 200
MAX_URL = 2_000
YEAR_S = 366 * 24 * 3600
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
PROVIDER_NAME = r"^[a-z0-9][a-z0-9_.-]{0,99}$"
# The connection sets these itself.
OUR_HEADERS = (
    *("host", "content-length", "transfer-encoding", "connection"),
    "accept-encoding",
)
NESTED_TOO_DEEP = "must nest less deep"
MAX_DEPTH = 32
VISIBLE = re.compile(r"[!-~]+")

EXAMPLE: dict[str, Any] = {
    "fills": "firmo",
    "request": {
        "method": "POST",
        "url": "https://api.example/v2/company",
        "headers": {"Authorization": "Bearer {secret.FIRMO_KEY}"},
        "json": {"domain": "{key.domain}"},
    },
    "read": {"size": "company.employees", "industry": "company.industry.name"},
    "empty": "company == null",
    "price": 0.05,
    "billing": "per_call",
    "ceilings": {"day": 25.0},
}


def check_path(text: str) -> str:
    """Return a path; raise ValueError where it is no JMESPath expression."""
    try:
        jmespath.compile(text)
    except (JMESPathError, RecursionError):
        raise ValueError("must be a JMESPath expression") from None
    return text


def check_url(url: str) -> str:
    """Return an address; its scheme and host have no placeholders."""
    # `urlsplit` passes over line ends and blanks.
    if not VISIBLE.fullmatch(url):
        raise ValueError("must be visible ASCII; encode the rest by percents")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("must be an address such as https://api.example/v2") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("must be an address such as https://api.example/v2")
    if "{" in parts.netloc or "@" in parts.netloc or parts.fragment:
        rule = "must name a host without placeholders, user or fragment"
        raise ValueError(rule)
    check_texts(url)
    return url


def check_texts(document: Any) -> Any:
    """Return a text or document; raise ValueError for a wrong text, by its place."""
    where = ""
    try:
        for place, text in list_texts(document, ""):
            where = f"{place.lstrip('.')}: " if place else ""
            list(read_placeholders(text))
            if not is_storable(text):
                raise ValueError(STORABLE_RULE)
    except RecursionError:
        raise ValueError(NESTED_TOO_DEEP) from None
    except ValueError as error:
        raise ValueError(f"{where}{error}") from None
    return document


def check_json(document: Any) -> Any:
    """Return the template of a body; raise ValueError for what is no JSON."""
    check_texts(document)
    try:
        n_levels = measure_depth(document)
        json.dumps(document, allow_nan=False)
    except ValueError:
        raise ValueError("must have no NaN or Infinity") from None
    except RecursionError:
        raise ValueError(NESTED_TOO_DEEP) from None
    if n_levels > MAX_DEPTH:
        raise ValueError(NESTED_TOO_DEEP)
    return document


def measure_depth(document: Any) -> int:
    """Return how many objects and lists stand inside one another."""
    if isinstance(document, dict):
        return 1 + max(map(measure_depth, document.values()), default=0)
    if isinstance(document, list):
        return 1 + max(map(measure_depth, document), default=0)
    return 0


def check_headers(headers: dict[str, str]) -> dict[str, str]:
    for name, text in headers.items():
        # A secret or key is checked where it is filled in.
        if text and not HEADER.fullmatch(fill(text, lambda _: "x")):
            raise ValueError(f"{name[:50]!r} must have a value of visible ASCII")
        if not TOKEN.fullmatch(name):
            raise ValueError(f"{name[:50]!r} is no name of a header")
        if name.lower() in OUR_HEADERS:
            raise ValueError(f"{name[:50]} is the connection's own")
    return headers


# The schema of what is put and of what is shown is one.
_UNITS = Annotated[float, Field(ge=0, le=MAX_UNITS)]
#: an amount in micro-units, written in units as it was put
Price = Annotated[Amount, PlainSerializer(from_micros, return_type=_UNITS)]
Path = Annotated[
    str, Field(min_length=1, max_length=MAX_PATH), AfterValidator(check_path)
]
Template = Annotated[str, Field(max_length=MAX_URL), AfterValidator(check_texts)]
Templates = Annotated[dict[str, Template], Field(max_length=MAX_ITEMS)]


class ProviderRequest(Shape):
    """The request of a call: a template."""

    method: Literal["GET", "POST", "PUT"] = Field(default="GET", examples=["POST"])
    url: Annotated[str, Field(max_length=MAX_URL), AfterValidator(check_url)] = Field(
        examples=["https://api.example/v2/company"]
    )
    headers: Annotated[Templates, AfterValidator(check_headers)] = Field(
        default_factory=dict, examples=[{"Authorization": "Bearer {secret.FIRMO_KEY}"}]
    )
    query: Templates = Field(
        default_factory=dict, examples=[{"domain": "{key.domain}"}]
    )
    body: Annotated[Any, BeforeValidator(check_json)] = Field(
        default=None, alias="json", examples=[{"domain": "{key.domain}"}]
    )

    def placeholders(self) -> Iterator[Placeholder]:
        """Yield the placeholders that keys and secrets fill."""
        document = [self.url, self.headers, self.query, self.body]
        for _, text in list_texts(document, ""):
            yield from read_placeholders(text)

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the keys that a case needs."""
        return self._names("key")

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the secrets that the request needs."""
        return self._names("secret")

    def _names(self, kind: str) -> tuple[str, ...]:
        names = (entry.name for entry in self.placeholders() if entry.kind == kind)
        return tuple(dict.fromkeys(names))


class Ceilings(Shape):
    """The most that a provider may cost."""

    day: Price | None = Field(
        default=None, examples=[25.0], description="In a day of UTC, over all cases."
    )


class Provider(Shape):
    """A named source whose call fills one group or feature."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    fills: Key = Field(
        examples=["firmo"],
        description="A group or a feature of the models that use it.",
    )
    request: ProviderRequest
    read: Annotated[dict[Key, Path], Field(min_length=1, max_length=MAX_ITEMS)] = Field(
        examples=[{"size": "company.employees"}],
        description="JMESPath of each feature's value in the answer.",
    )
    empty: Path | None = Field(
        default=None,
        examples=["company == null"],
        description="JMESPath that is true for an answer without values.",
    )
    price: Price | None = Field(
        default=None, examples=[0.05], description="Null: the catalogue's."
    )
    billing: Billing | None = Field(
        default=None, examples=["per_call"], description="Null: the catalogue's."
    )
    charges_failures: bool = Field(
        default=False, description="Whether a call that failed costs the price too."
    )
    timeout_s: float = Field(
        default=10.0, ge=0.05, le=120, description="For the whole of an attempt."
    )
    attempts: int = Field(default=1, ge=1, le=10)
    idempotency_header: str | None = Field(
        default=None,
        pattern=f"^{TOKEN.pattern}$",
        examples=["Idempotency-Key"],
        description="A call is sent again after a timeout or a crash only with one.",
    )
    cache_s: float = Field(
        default=0.0,
        ge=0,
        le=YEAR_S,
        description="How long an answer may be read again, free.",
    )
    at_once: int = Field(default=10, ge=1, le=1_000, description="Calls on their way.")
    per_second: float | None = Field(default=None, gt=0, le=10_000)
    ceilings: Ceilings = Field(default_factory=Ceilings)

    @model_validator(mode="after")
    def _check(self) -> "Provider":
        if self.request.method == "GET" and self.request.body is not None:
            raise ValueError("request.json needs another method than GET")
        named = {name.lower() for name in self.request.headers}
        if self.idempotency_header and self.idempotency_header.lower() in named:
            raise ValueError("idempotency_header stands in request.headers as well")
        return self

    @property
    def host(self) -> str:
        """Host and port of its address, as `ASKLESS_PROVIDER_HOSTS` names them."""
        return host_and_port(self.request.url)


def host_and_port(url: str) -> str:
    """Return the host of an address, with the port where it is not the usual one."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    shown = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return shown if parts.port in (None, usual) else f"{shown}:{parts.port}"


def write_provider(provider: Provider) -> dict[str, Any]:
    """Return a provider as it was put, without what was left out."""
    document: dict[str, Any] = provider.model_dump(
        by_alias=True, exclude_unset=True, mode="json"
    )
    return document
