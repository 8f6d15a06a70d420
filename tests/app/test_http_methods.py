"""Every address: the methods that it has, HEAD, and bodies that say a thing twice."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.app.clinic import Start
from tests.applications import openapi_document

pytest_plugins = ["tests.app.conftest_http"]
pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


def routes() -> dict[str, Any]:
    paths: dict[str, Any] = openapi_document()["paths"]
    return paths


def test_each_address_says_which_methods_it_has(client: TestClient) -> None:
    for path, methods in routes().items():
        address = path.replace("{id}", "x")
        has = {method.upper() for method in methods}
        has |= {"OPTIONS"} | ({"HEAD"} if "GET" in has else set())

        asked = client.options(address)
        wrong = client.request("BREW", address)

        assert (asked.status_code, asked.content) == (204, b""), path
        assert set(asked.headers["allow"].split(", ")) == has, path
        assert wrong.json()["type"] == "/problems/method-not-allowed"
        assert wrong.status_code == 405
        assert wrong.headers["allow"] == asked.headers["allow"]


def test_files_of_the_documentation_are_only_read(client: TestClient) -> None:
    wrong = client.delete("/docs-assets/swagger-ui.css")

    assert wrong.status_code == 405
    assert wrong.headers["allow"] == "GET, HEAD, OPTIONS"


def test_head_answers_as_get_without_a_body(
    client: TestClient, start: Start, table: bytes, spec: Any
) -> None:
    session = start(60.0)
    training = client.post(
        "/train", files={"dataset": ("t.csv", table)}, data={"spec": json.dumps(spec)}
    ).json()["id"]
    ids = {"predict": session["id"], "models": session["model"]["id"]}
    ids["train"] = training
    for path, methods in routes().items():
        if "get" not in methods or path == "/metrics":
            continue
        address = path.replace("{id}", ids.get(path.split("/")[1], "x"))

        head = client.head(address)

        assert head.content == b"", path
        if not path.endswith("/events"):  # It has no end.
            got = client.get(address)
            assert head.status_code == got.status_code, path
            for name in ("content-type", "etag"):
                assert head.headers.get(name) == got.headers.get(name), path


def test_a_field_that_stands_twice_is_refused_in_every_body(client: TestClient) -> None:
    for path, methods in routes().items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" not in content:
                continue
            for body in (b'{"a": 1, "a": 2}', b'{"b": [{"c": {"a": 1, "a": 1}}]}'):
                refused = client.request(
                    method,
                    path.replace("{id}", "x"),
                    content=body,
                    headers={"Content-Type": "application/json"},
                )
                assert refused.status_code == 422, (method, path, refused.text)
                fields = [error["field"] for error in refused.json()["errors"]]
                assert fields == ["a"], (method, path, fields)
