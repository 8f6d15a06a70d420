"""Read the settings from the environment; refuse wrong ones by name."""

import os
import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import get_args

import fsspec
import sqlalchemy as sa
from pydantic import ValidationError
from pydantic_settings.exceptions import SettingsError
from sqlalchemy.exc import ArgumentError

from askless.app.documents.shape import rule_text
from askless.app.settings.hosts import host_of, is_listed_form
from askless.app.settings.places import cluster_of_settings
from askless.app.settings.settings import DoorName, Settings
from askless.core.errors import Refusal, RefusedError, nearest_hint, shorten

PREFIX = "ASKLESS_"
#: Variables that our own tests read.
OF_TESTS = frozenset(("ASKLESS_DATA", "ASKLESS_TEST_POSTGRES_URL"))
# Variables that Kubernetes sets beside a service called askless.
OF_KUBERNETES = re.compile(r"ASKLESS_(\w+_)?(SERVICE_(HOST|PORT)\w*|PORT(_\d+_\w+)?)")
# Their values are or hold secrets.
SECRET = frozenset(
    (
        *("blobs", "database_url", "mcp_key", "oidc_client_secret", "scrape_token"),
        "smart_servers",
    )
)
TELEMETRY_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
DATABASE = "must be a URL of postgresql:// or sqlite:///"
HOSTS = "must be names or addresses without a port, such as api.example.org"
TENANTS = "must name tenants by 1 to 200 characters that can be printed"
# Packages of doors, which their extras bring.
PACKAGES_OF_DOORS: dict[DoorName, str] = {"mcp": "mcp", "fhir": "fhir", "cds": "jwt"}
# Extras that are not called as their door.
EXTRAS_OF_DOORS: dict[DoorName, str] = {"cds": "fhir"}
# Never * or null: any page may send these.
ORIGINS = "must be as a browser sends them, such as https://app.example.org"
PROVIDER_HOSTS = (
    "must be hosts such as api.example or 127.0.0.1:9000, without a scheme and the "
    "usual ports 80 and 443"
)
DATASET_PLACES = "must be addresses such as s3://bucket/folder or file:///folder"
# A bucket, or a folder that is not the root.
DATASET_PLACE = re.compile(
    r"((s3|gs|gcs)://|file:///)(?!(.*/)?\.\.?(/|$))[^/*?#@%\\\s]+(/[^/*?#@%\\\s]+)*/?"
)
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#@\s*]+)")


def read_settings() -> Settings:
    """Read and check the settings; RefusedError names all that are wrong at once."""
    refusals = [*list_unknown_names()]
    try:
        settings = Settings()
    except ValidationError as error:
        refusals += (to_refusal(dict(detail)) for detail in error.errors())
    except SettingsError as error:
        named = re.search(r'field "(\w+)"', str(error))
        field = PREFIX + (named[1].upper() if named else "")
        refusals.append(Refusal(field, 'must be JSON, such as ["one", "other"]'))
    else:
        refusals += [*check_places(settings), *check_callers(settings)]
        refusals += [*check_telemetry(settings), *check_cluster(settings)]
        refusals += [*check_doors(settings), *check_sign_ins(settings)]
        refusals += [*check_tenants(settings), *check_providers(settings)]
    if refusals:
        raise RefusedError(refusals)
    return settings


def list_unknown_names() -> Iterator[Refusal]:
    """Yield refusals of misspelt settings: variables with our prefix and no setting."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    for name in sorted(os.environ):
        word = name.upper()
        is_ours = word.startswith(PREFIX) and word not in OF_TESTS
        if not is_ours or word in known or OF_KUBERNETES.fullmatch(word):
            continue
        yield Refusal(name, f"must be a setting{nearest_hint(word, known)}")


def to_refusal(error: dict[str, object]) -> Refusal:
    """Return the refusal of a variable for an error of pydantic."""
    place, kind, context = error["loc"], str(error["type"]), error.get("ctx", {})
    assert isinstance(place, tuple)
    assert isinstance(context, dict)
    name = str(place[0])
    # A field of a setting in JSON is named, too.
    within = [part for part in place[1:] if isinstance(part, str)]
    field = ".".join([PREFIX + name.upper(), *within])
    given = "" if name in SECRET else shorten(error["input"])
    rule = rule_text(kind, context).removesuffix(" of this request")
    return Refusal(field, rule, given)


def check_places(settings: Settings) -> Iterator[Refusal]:
    """Yield refusals of URLs and places that can't be used."""
    try:
        dialect = sa.make_url(settings.url).get_backend_name()
    except ArgumentError:
        dialect = ""
    if dialect not in ("sqlite", "postgresql"):
        yield Refusal("ASKLESS_DATABASE_URL", DATABASE)
    try:
        fsspec.get_filesystem_class(fsspec.utils.get_protocol(settings.blobs_url))
    except ValueError:
        yield Refusal("ASKLESS_BLOBS", "must be a URL of a kind that fsspec knows")
    except ImportError as error:
        yield Refusal("ASKLESS_BLOBS", f"needs a package: {error}")
    for place in settings.dataset_places:
        if not DATASET_PLACE.fullmatch(place):
            yield Refusal("ASKLESS_DATASET_PLACES", DATASET_PLACES, repr(place))
            break


def check_callers(settings: Settings) -> Iterator[Refusal]:
    """Yield refusals of hosts and origins that are none, and of unnamed audiences."""
    for host in settings.hosts:
        # A Host header has an IPv6 address in brackets.
        name = f"[{host}]" if ":" in host else host
        if "*" in host or host_of(name) != host.lower():
            yield Refusal("ASKLESS_HOSTS", HOSTS, repr(host))
            break
    for origin in settings.origins:
        match = ORIGIN.fullmatch(origin)
        if match is None or match[1] != match[1].lower() or not host_of(match[1]):
            yield Refusal("ASKLESS_ORIGINS", ORIGINS, repr(origin))
            break
    # Else the Host header would say it, which whoever has a token for others chooses.
    if settings.cds_clients and settings.address is None:
        rule = "needs ASKLESS_ADDRESS: tokens must be meant for it"
        yield Refusal("ASKLESS_CDS_CLIENTS", rule)


def check_providers(settings: Settings) -> Iterator[Refusal]:
    """Yield refusals of hosts that are none, and of secrets without their folder."""
    for host in settings.provider_hosts:
        if not is_listed_form(host):
            yield Refusal("ASKLESS_PROVIDER_HOSTS", PROVIDER_HOSTS, repr(host))
            break
    if settings.secrets is not None and not settings.secrets.expanduser().is_dir():
        yield Refusal(
            "ASKLESS_SECRETS", "must be a folder", repr(str(settings.secrets))
        )


def check_cluster(settings: Settings) -> Iterator[Refusal]:
    place = cluster_of_settings(settings)
    if place is not None:
        try:
            place.check()
        except RefusedError as error:
            yield from error.refusals


def check_telemetry(settings: Settings) -> Iterator[Refusal]:
    """Yield refusals of telemetry without an endpoint or its package."""
    if not settings.telemetry:
        return
    if find_spec("opentelemetry.exporter") is None:
        rule = "needs the extra telemetry: pip install 'askless[server,telemetry]'"
        yield Refusal("ASKLESS_TELEMETRY", rule)
    if not any(os.environ.get(name) for name in TELEMETRY_ENDPOINTS):
        rule = f"needs {TELEMETRY_ENDPOINTS[0]}, such as http://collector:4318"
        yield Refusal("ASKLESS_TELEMETRY", rule)


def list_installed_doors() -> list[DoorName]:
    """Return the doors whose packages are installed."""
    return [door for door in get_args(DoorName) if is_installed(door)]


def is_installed(door: DoorName) -> bool:
    package = PACKAGES_OF_DOORS.get(door)
    return package is None or find_spec(package) is not None


def check_doors(settings: Settings) -> Iterator[Refusal]:
    """Yield refusals of doors whose packages are not installed."""
    for door in settings.doors:
        if not is_installed(door):
            extra = EXTRAS_OF_DOORS.get(door, door)
            rule = f"{door} needs its extra: pip install 'askless[server,{extra}]'"
            yield Refusal("ASKLESS_DOORS", rule)


def check_sign_ins(settings: Settings) -> Iterator[Refusal]:
    """Yield refusals of settings by which nobody could sign in elsewhere."""
    needing = {
        "ASKLESS_OIDC_ISSUER": settings.oidc_issuer is not None,
        "ASKLESS_SMART_SERVERS": bool(settings.smart_servers),
    }
    for name in (setting for setting, is_set in needing.items() if is_set):
        if find_spec("authlib") is None:
            rule = "needs its extra: pip install 'askless[server,oidc]'"
            yield Refusal(name, rule)
        if settings.address is None:
            rule = "needs ASKLESS_ADDRESS: where browsers come back to, as registered"
            yield Refusal(name, rule)
    if settings.oidc_issuer is not None:
        if settings.oidc_client_id is None:
            rule = "must be set where ASKLESS_OIDC_ISSUER is"
            yield Refusal("ASKLESS_OIDC_CLIENT_ID", rule)
        audience = settings.oidc_audience or f"{settings.address}/mcp"
        if audience == settings.oidc_client_id:
            rule = "must not be the client's id: that is whom ID tokens are meant for"
            yield Refusal("ASKLESS_OIDC_AUDIENCE", rule)
        if not settings.oidc_groups:
            rule = 'must let somebody in, such as {"staff": {"role": "clinician"}}'
            yield Refusal("ASKLESS_OIDC_GROUPS", rule)


def check_tenants(settings: Settings) -> Iterator[Refusal]:
    """Yield refusals of settings that name a tenant as none can be called."""
    named: dict[str, Iterable[str]] = {
        "ASKLESS_CDS_CLIENTS": (
            cds_client.tenant for cds_client in settings.cds_clients.values()
        ),
        "ASKLESS_OIDC_GROUPS": (
            oidc_group.tenant for oidc_group in settings.oidc_groups.values()
        ),
        "ASKLESS_SMART_SERVERS": (
            smart_server.tenant for smart_server in settings.smart_servers.values()
        ),
    }
    for field, tenants in named.items():
        if not all(
            0 < len(tenant) <= 200 and tenant.isprintable() for tenant in tenants
        ):
            yield Refusal(field, TENANTS)
