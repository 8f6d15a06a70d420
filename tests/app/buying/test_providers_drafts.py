"""`askless providers init`: providers drafted from OpenAPI files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from askless.app.documents.buying.openapi import draft_providers
from askless.app.documents.buying.providers import Provider
from askless.app.documents.shape import read_shape
from askless.core.errors import RefusedError
from tests.app.conftest import Finished

Run = Callable[..., Finished]
DATA = Path(__file__).parent / "data"
PLAIN, UGLY = DATA / "plain.json", DATA / "ugly.json"


def drafts(path: Path) -> tuple[dict[str, Any], str]:
    drafted = draft_providers(json.loads(path.read_text()))
    return drafted.providers, "\n".join(drafted.notes)


def test_a_request_has_keys_and_secrets_in_their_places() -> None:
    made, notes = drafts(PLAIN)

    assert made["get-company"]["request"] == {
        "method": "GET",
        "url": "https://api.example/v2/company/{key.domain}",
        "headers": {"Authorization": "Bearer {secret.FIRMO_BEARER_AUTH}"},
        "query": {"vat-id": "{key.vat_id}", "format": "short"},
    }
    assert made["score"]["request"] == {
        "method": "POST",
        "url": "https://api.example/v2/score",
        "headers": {"X-Api-Key": "{secret.FIRMO_KEY}"},
        "json": {"email": "{key.email}", "options": {"depth": 2}},
    }
    assert "get-company: parameters left out: page" in notes
    assert "DELETE /company/{domain} is left out" in notes


def test_it_reads_each_single_value_of_the_answer() -> None:
    made, _ = drafts(PLAIN)

    assert made["get-company"]["read"] == {
        "employees": "company.employees",
        "company_industry_name": "company.industry.name",
        "is-public": 'company."is-public"',
        "people_name": "people[0].name",
    }
    assert made["score"]["read"] == {"score": "score"}


def test_what_refers_joins_and_turns_in_circles_is_read_four_fields_deep() -> None:
    made, _ = drafts(UGLY)

    assert made["get-lookup-a-b-c"]["read"] == {
        "id": "id",
        "name": "name",
        "owner_id": "owner.id",
        "near": "deep.a.b.near",
        "weird key": '"weird key"',
    }
    loop = made["post-loop"]["read"]
    assert loop["next_next_next_label"] == "next.next.next.label"
    assert max(path.count(".") for path in loop.values()) == 3
    assert made["post-loop"]["request"]["json"] == {"label": "{key.label}"}
    assert made["loop"]["read"] == {"value": "[0]"}


def test_an_ugly_file_says_what_is_missing_and_what_is_left_out() -> None:
    made, notes = drafts(UGLY)

    assert made["get-lookup-a-b-c"]["request"] == {
        "method": "GET",
        "url": "https://api.example/Lookup/{key.a_b}/{key.c}",
        "headers": {"X-Team": "{secret.X_TEAM}"},
    }
    assert notes.count("the file names no server") == 3
    for place in ("/self", "/csv", "/elsewhere", "/form", "/also-broken"):
        assert f"{place} is left out" in notes


@pytest.mark.parametrize("path", [PLAIN, UGLY])
def test_each_draft_is_a_provider(path: Path) -> None:
    made, _ = drafts(path)

    for name, document in made.items():
        provider = read_shape(Provider, document, name)
        assert (provider.fills, provider.price) == (name, None)


def test_schemas_that_branch_for_ever_come_to_an_end() -> None:
    names = [f"f{number}" for number in range(60)]
    node = {"properties": {name: {"$ref": "#/components/schemas/N"} for name in names}}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/N"}}}
    document = {
        "openapi": "3.1.0",
        "paths": {"/n": {"get": {"responses": {"200": {"content": content}}}}},
        "components": {"schemas": {"N": node}},
    }

    with pytest.raises(RefusedError, match="names no text"):
        draft_providers(document)


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"swagger": "2.0"},
        {"openapi": 3.0},
        {"openapi": "3.1.0"},
        {"openapi": "3.1.0", "paths": []},
        {"openapi": "3.1.0", "paths": {"/": {"get": {"responses": {"200": 1}}}}},
    ],
)
def test_what_has_nothing_to_draft_is_refused(document: object) -> None:
    with pytest.raises(RefusedError):
        draft_providers(document)


def test_the_command_writes_one_file_of_all(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "providers.json"

    done = run("providers", "init", PLAIN, "-o", out)
    again = run("providers", "init", PLAIN, "-o", out)
    printed = run("providers", "init", PLAIN)

    assert done.code == 0, done.err
    assert json.loads(out.read_text()) == json.loads(printed.out) == drafts(PLAIN)[0]
    assert "Fill in `price` and `fills`" in done.err
    assert (again.code, "--force overwrites it" in again.err) == (2, True)


def test_yaml_is_refused_with_a_sentence(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "api.yaml"
    file.write_text("openapi: 3.1.0\npaths: {}\n")

    refused = run("providers", "init", file)

    assert (refused.code, refused.out) == (2, "")
    assert "convert YAML first" in " ".join(refused.err.split())
