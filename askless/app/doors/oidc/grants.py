"""Read from claims who a person is, and what the settings grant their groups."""

from typing import Any

from askless.app.doors.sign_in.entering import Entitled, name_of
from askless.app.service.keys import ROLES
from askless.app.service.people import Person
from askless.app.settings.doors import Grant

Json = dict[str, Any]


class NoGrantError(Exception):
    """None of a person's groups may do anything here."""


def find_claim(claims: Json, name: str) -> Any:
    """Return a claim; dots lead into nested ones unless one has the whole name."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def list_groups(claims: Json, claim: str) -> list[str]:
    """Return the groups that a claim names: a list of texts, or one."""
    claimed = find_claim(claims, claim)
    names = claimed if isinstance(claimed, list) else [claimed]
    return [name for name in names if isinstance(name, str)]


def entitle(claims: Json, claim: str, grants: dict[str, Grant]) -> Entitled:
    """Return a person with all rights of their groups within one tenant.

    The tenant is that of the group which the settings name first. Raises NoGrantError.
    """
    groups = set(list_groups(claims, claim))
    granted = [grant for group, grant in grants.items() if group in groups]
    if not granted:
        raise NoGrantError
    tenant = granted[0].tenant
    roles = [ROLES[grant.role] for grant in granted if grant.tenant == tenant]
    scopes = tuple(dict.fromkeys(scope for role in roles for scope in role))
    name = name_of(claims)
    person = Person(str(claims.get("iss")), str(claims.get("sub")), name, scopes)
    return Entitled(tenant, person)
