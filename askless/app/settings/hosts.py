"""Names of hosts: which are loopback, which are listed, the name in a Host header."""

import re
from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

# A name or an address, with a port where it is not the usual one of its scheme.
LISTED_HOST = re.compile(
    r"([a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?!:(80|443)$)(:[1-9][0-9]{0,4})?",
    re.IGNORECASE,
)


def is_loopback(host: str) -> bool:
    """Return whether a host name, without its port, is a loopback name."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_of(text: str) -> str | None:
    """Return the host name in a Host header, without the port, or None."""
    try:
        return urlsplit(f"//{text}").hostname
    except ValueError:
        return None


def is_listed_form(text: str) -> bool:
    """Return whether a text can stand in a list of hosts that may be called.

    A network allows its private addresses for the names that are listed beside it.
    """
    if "/" not in text:
        return LISTED_HOST.fullmatch(text) is not None
    try:
        return bool(ip_network(text))
    except ValueError:
        return False


def is_listed(host_and_port: str, hosts: Iterable[str]) -> bool:
    """Return whether a list names a host, without a port where it is the usual one.

    A name allows its usual port only, and `127.0.0.1:9000` that port.
    """
    return host_and_port.lower() in {host.lower() for host in hosts}
