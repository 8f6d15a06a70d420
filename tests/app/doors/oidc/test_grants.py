"""What groups grant, from claims as providers write them."""

from typing import Any

import pytest

from askless.app.doors.oidc.door import NoGrantError, make_entitled
from askless.app.service.keys import ROLES
from askless.app.settings.doors import Grant

GRANTS = {
    "heart": Grant(tenant="cardiology", role="clinician"),
    "audit": Grant(tenant="cardiology", role="auditor"),
    "it": Grant(role="admin"),
}
WHO = {"iss": "https://id.example.org", "sub": "7"}


@pytest.mark.parametrize(
    ("claims", "claim"),
    [
        ({"groups": ["heart"]}, "groups"),
        ({"groups": "heart"}, "groups"),
        ({"realm_access": {"roles": ["x", "heart"]}}, "realm_access.roles"),
        (
            {"https://askless.example/groups": ["heart"]},
            "https://askless.example/groups",
        ),
        ({"groups": ["heart", 3, None, ["it"], {"it": 1}]}, "groups"),
    ],
)
def test_a_claim_names_groups(claims: dict[str, Any], claim: str) -> None:
    found = make_entitled(WHO | claims, claim, GRANTS)

    assert found.tenant == "cardiology"
    assert found.person.scopes == ROLES["clinician"]
    assert found.person.subject == "https://id.example.org 7"


def test_all_groups_of_one_tenant_count() -> None:
    found = make_entitled(WHO | {"groups": ["audit", "heart"]}, "groups", GRANTS)

    assert set(found.person.scopes) == {*ROLES["clinician"], *ROLES["auditor"]}


def test_of_two_tenants_the_one_named_first_counts() -> None:
    found = make_entitled(WHO | {"groups": ["it", "heart"]}, "groups", GRANTS)

    assert found.tenant == "cardiology"
    assert found.person.scopes == ROLES["clinician"]


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"groups": []},
        {"groups": ["Heart"]},
        {"groups": "hear"},
        {"groups": {"heart": 1}},
    ],
)
def test_no_group_grants_nothing(claims: dict[str, Any]) -> None:
    with pytest.raises(NoGrantError):
        make_entitled(WHO | claims, "groups", GRANTS)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"name": "Ada", "email": "a@b"}, "Ada"),
        ({"name": 3, "preferred_username": "ada"}, "ada"),
        ({}, ""),
    ],
)
def test_people_are_called_what_claims_call_them(
    claims: dict[str, Any], name: str
) -> None:
    found = make_entitled(WHO | claims | {"groups": "it"}, "groups", GRANTS)

    assert found.person.name == name
