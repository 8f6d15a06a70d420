"""The server that pages are tried on: what it holds, and how it is called."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx

# What a browser sends, which gets pages where a program gets documents.
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
HEART = Path(__file__).parent / "heart.json"


class Site(NamedTuple):
    """A server with a model, which has a curve and a group."""

    url: str
    model_id: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API, which is the short way to a state that a page shows."""
        url = self.url + path
        response = httpx.request(method, url, json=body, trust_env=False, timeout=60)
        response.raise_for_status()
        return response.json() if response.content else None

    def upload(self, name: str, table: str) -> dict[str, Any]:
        """Upload a table and return it."""
        files = {"dataset": (name, table)}
        url = f"{self.url}/datasets"
        response = httpx.post(url, files=files, trust_env=False, timeout=60)
        response.raise_for_status()
        made: dict[str, Any] = response.json()
        return made

    def start(self, budget: float | None = 60.0, **more: Any) -> dict[str, Any]:
        """Start a session and return it."""
        body = {"model": self.model_id, "budget": budget, **more}
        made: dict[str, Any] = self.call("POST", "/predict", body)
        return made


@cache
def heart() -> dict[str, Any]:
    """Return a model of 40 rounds on the heart data, as `askless train` wrote it."""
    kept: dict[str, Any] = json.loads(HEART.read_text(encoding="utf-8"))
    return kept


def fill(url: str) -> Site:
    made = Site(url, "").call("POST", "/models?as_version=true", heart())
    return Site(url, made["id"])


def token_of(page: str) -> str:
    """Return the token that each form of a page sends back."""
    found = re.search(r'name="form_token" value="([0-9a-f]+)"', page)
    assert found, page
    return found[1]
