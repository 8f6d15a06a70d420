"""Names of hosts: which are loopback, and the name in a Host header."""

from ipaddress import ip_address
from urllib.parse import urlsplit


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
