"""The address of a cluster, and the certificates of both sides."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from askless.app.settings.hosts import is_loopback
from askless.core.errors import CoreError, Refusal, RefusedError

ADDRESS = "ASKLESS_CLUSTER"
FILES = {
    "ca": "ASKLESS_CLUSTER_CA",
    "cert": "ASKLESS_CLUSTER_CERT",
    "key": "ASKLESS_CLUSTER_KEY",
}
ENGINE = "needs the engine: pip install 'askless[server,cluster]'"
# How long to wait for a worker that can take a shard.
PATIENCE_S = 60.0


class ClusterError(CoreError):
    """The cluster can't take a shard, or can't be reached."""


@dataclass(frozen=True)
class ClusterPlace:
    """A cluster's scheduler, and our files: authority, certificate, key."""

    address: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    patience_s: float = PATIENCE_S

    @property
    def is_encrypted(self) -> bool:
        return self.address.startswith("tls://")

    @property
    def host(self) -> str:
        return urlsplit(self.address).hostname or ""

    def check(self) -> None:
        """Refuse an unsafe address, wrong certificate files, a missing package."""
        refusals = [*self._check_address()]
        if find_spec("distributed") is None:
            refusals.append(Refusal(ADDRESS, ENGINE))
        elif self.is_encrypted and not refusals:
            refusals += self._check_files()
        if refusals:
            raise RefusedError(refusals)

    def _check_address(self) -> Iterator[Refusal]:
        """Yield a refusal of an incomplete address, or of a remote one without TLS."""
        try:
            parts = urlsplit(self.address)
            is_whole = parts.scheme in ("tls", "tcp") and parts.port is not None
        except ValueError:
            is_whole = False
        if not is_whole or not self.host:
            rule = "must be an address such as tls://scheduler:8786"
            yield Refusal(ADDRESS, rule, repr(self.address))
        elif not self.is_encrypted and not is_loopback(self.host):
            rule = "must be tls:// beyond this machine: rows and programs go there"
            yield Refusal(ADDRESS, rule, repr(self.address))

    def _check_files(self) -> Iterator[Refusal]:
        """Refuse files that are not there, or that make no certificate."""
        absent = []
        for part, name in FILES.items():
            path: Path | None = getattr(self, part)
            if path is None:
                absent.append(Refusal(name, "must name a file for a cluster by tls://"))
            elif not path.is_file():
                absent.append(Refusal(name, "must be a file", repr(str(path))))
        if absent:
            yield from absent
            return
        assert self.ca is not None and self.cert is not None  # noqa: PT018  # for types
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(self.ca)
        except (ssl.SSLError, OSError) as error:
            rule = "must hold certificates of authorities, as PEM"
            yield Refusal(FILES["ca"], rule, to_line(error))
        try:
            context.load_cert_chain(self.cert, self.key)
        except (ssl.SSLError, OSError) as error:
            rule = f"must be a certificate as PEM, {FILES['key']} its key"
            yield Refusal(FILES["cert"], rule, to_line(error))


def cluster_of_settings(settings: Any) -> ClusterPlace | None:
    """Return the cluster that the settings name, if they name one."""
    if settings.cluster is None:
        return None
    files = settings.cluster_ca, settings.cluster_cert, settings.cluster_key
    return ClusterPlace(settings.cluster, *files)


def to_line(error: Exception) -> str:
    """Return an error in a line."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
