"""A browser that signs in with a key, over the client of a test."""

from datetime import UTC, datetime
from typing import Any

from fastapi.testclient import TestClient
from httpx import Response

from askless.app.service import keys
from askless.app.store.database.engine import transaction
from tests.pages.site import BROWSER, token_of


class Visitor:
    """A browser, signed in with a key of a tenant, or of nobody."""

    def __init__(self, client: TestClient, *scopes: str, tenant: str = "") -> None:
        self.client, self.cookies = client, dict[str, str]()
        self.token = self.bearer = ""
        if tenant:
            now = datetime.now(UTC)
            engine = client.app.state.engine
            with transaction(engine, None) as db:
                tenant_id = keys.get_or_create_tenant(db, tenant, now)
            with transaction(engine, tenant_id) as db:
                made = keys.create(db, keys.Wish("k", scopes or keys.SCOPES), now)
            self.bearer = made.token
            page = self.send("GET", "/ui/sign-in").text
            form = {"form_token": token_of(page), "key": made.token}
            assert self.send("POST", "/ui/sign-in", form).status_code == 303
        self.token = token_of(self.send("GET", "/ui/sign-in").text)

    def send(
        self, method: str, path: str, form: dict[str, str] | None = None
    ) -> Response:
        """Send what a browser sends; all browsers of a test share the client's loop."""
        self.client.cookies.clear()
        self.client.cookies.update(self.cookies)
        got = self.client.request(method, path, headers=BROWSER, data=form)
        self.cookies |= dict(got.cookies)
        return got

    def ask(self, method: str, path: str, token: str | None = None) -> tuple[int, str]:
        form = {"form_token": self.token if token is None else token}
        got = self.send(method, path, None if method == "GET" else form)
        if "image/svg" not in got.headers.get("content-type", ""):
            assert got.headers["cache-control"] == "no-store", (method, path)
        else:
            assert "public" not in got.headers["cache-control"], (method, path)
        if got.headers.get("content-type", "").startswith("text/html"):
            policy = got.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in policy, (method, path)
            assert "unsafe" not in policy, (method, path)
            assert "<script>alert" not in got.text, (method, path)
        return got.status_code, got.text

    def call(self, path: str, body: object = None, **more: Any) -> str:
        head = {"Authorization": f"Bearer {self.bearer}"}
        made = self.client.post(path, headers=head, json=body, **more)
        assert made.status_code < 300, made.text
        return str(made.json()["id"])
