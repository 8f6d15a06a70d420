"""The server that pages are tried on: what it holds, and how it is called."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx

# What a browser sends, which gets pages where a program gets documents.
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
VALUES = {"number": 60, "boolean": True}
HEART = Path(__file__).parent / "heart.json"


class Site(NamedTuple):
    """A server with a model, which has a curve and a group."""

    url: str
    model_id: str
    #: calls an application of this process in place of the server
    client: Any = None

    def send(self, method: str, path: str, **more: Any) -> Any:
        if self.client is not None:
            headers = {"Accept": "application/json"}
            response = self.client.request(method, path, headers=headers, **more)
        else:
            more |= {"trust_env": False, "timeout": 60}
            response = httpx.request(method, self.url + path, **more)
        response.raise_for_status()
        return response.json() if response.content else None

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API, which is the short way to a state that a page shows."""
        return self.send(method, path, json=body)

    def upload(self, name: str, table: str) -> Any:
        """Upload a table and return it."""
        return self.send("POST", "/datasets", files={"dataset": (name, table)})

    def bring(self, document: dict[str, Any]) -> "Site":
        """Import a model as a version; return the site as that of this model."""
        made = self.call("POST", "/models?as_version=true", document)
        return self._replace(model_id=made["id"])

    def answer(self, session: Any, outcome: str = "value") -> Any:
        """Answer what is asked; return the session then."""
        asked = session["question"]
        given = {"feature": asked["feature"], "outcome": outcome}
        if outcome == "value":
            known = asked["categories"]
            given["value"] = known[0] if known else VALUES[asked["type"]]
        path = f"/predict/{session['id']}/answers"
        return self.call("POST", path, {"answers": [given]})

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
    return Site(url, "").bring(heart())


@contextmanager
def working(home: Path) -> Iterator[None]:
    """Have a worker, which ends with the block."""
    command = [sys.executable, "-m", "askless.app.cli", "worker", "--with-parent"]
    environment = os.environ | {"ASKLESS_HOME": str(home)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment):
        yield


def post(client: Any, path: str, **fields: Any) -> Any:
    """Send a form as a browser does, with the token of a page."""
    token = token_of(client.get("/ui/sign-in").text)
    return client.post(path, data={"form_token": token, **fields})


def token_of(page: str) -> str:
    """Return the token that each form of a page sends back."""
    found = re.search(r'name="form_token" value="([0-9a-f]+)"', page)
    assert found, page
    return found[1]
