"""The client's calls about providers, over the application of a test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.client import Client
from askless.client.problems import ProblemError
from tests.app.buying.single_vendor import serve_vendor
from tests.app.clinic import MakeApp

pytest_plugins = ["tests.app.conftest_http"]


@pytest.fixture
def host() -> Iterator[str]:
    with serve_vendor() as vendor:
        yield vendor.host


@pytest.fixture
def app(make_app: MakeApp, tmp_path: Path, host: str) -> FastAPI:
    return make_app(is_local=True, provider_hosts=[host], secrets=tmp_path)


@pytest.fixture
def calls(client: TestClient) -> Client:
    def forward(request: httpx.Request) -> httpx.Response:
        answered = client.request(
            request.method,
            str(request.url),
            headers={"content-type": "application/json"},
            content=request.content,
        )
        return httpx.Response(answered.status_code, content=answered.content)

    transport = httpx.MockTransport(forward)
    return Client("http://127.0.0.1", transport=transport, retries=0)


def provider(host: str) -> dict[str, Any]:
    request = {"method": "POST", "url": f"http://{host}/", "json": {"k": "{key.k}"}}
    return {"fills": "a", "request": request, "read": {"a": "a.b"}, "price": 0.5}


def test_a_provider_is_put_tested_and_deleted(calls: Client, host: str) -> None:
    made = calls.put_provider("vendor", provider(host))
    tested = calls.test_provider("vendor", {"k": "1"})
    shown = calls.provider("vendor")
    (listed,) = calls.providers()
    calls.delete_provider("vendor")

    assert made["warnings"] == ["fills: no model has a bundle or feature 'a' yet"]
    assert tested["values"] == {"a": 3}
    assert (shown["spent"], listed) == (0.5, shown)
    assert [call["id"] for call in calls.calls(provider="vendor")] == [tested["call"]]
    assert calls.calls(state="in_doubt") == calls.providers() == []


def test_a_refusal_names_its_field(calls: Client) -> None:
    with pytest.raises(ProblemError) as caught:
        calls.put_provider("vendor", provider("other.example"))

    assert [error["field"] for error in caught.value.errors] == ["request.url"]
