"""The service below a proxy's path: pages, redirects, cookies, streams, docs."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import httpx
import pytest

from askless.client import Client
from tests.app.clinic import clinic, form, model_json
from tests.app.proxies import COMMANDS, free_port, proxy, told_by_the_manual
from tests.app.serving import serving

PATH = "/below/askless"
HTML = {"Accept": "text/html"}
# Ours, and those that are installed of which the manual tells.
KINDS = [
    *("taken off", "left on"),
    *(kind for kind, command in COMMANDS.items() if shutil.which(command[0])),
]
ADDRESS = re.compile(r'\s(?:href|src|action|data-follow)="([^"]*)"')


class Site(NamedTuple):
    """A service that asks for keys, its address by each proxy, and a key."""

    addresses: dict[str, str]
    token: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("home")
    create = [sys.executable, "-m", "askless.app.cli", "keys", "create", "mine"]
    own_home = os.environ | {"ASKLESS_HOME": str(home)}
    token = subprocess.check_output(create, env=own_home, text=True).split()[-1]
    ports = {kind: free_port() for kind in KINDS}
    address = f"http://127.0.0.1:{ports['taken off']}{PATH}"
    with ExitStack() as stack:
        settings = {"ASKLESS_ADDRESS": address, "ASKLESS_AUTHENTICATION": "true"}
        server_port = free_port()
        stack.enter_context(serving(home, server_port, **settings))
        for kind, port in ports.items():
            taken_off = kind == "taken off"
            running = (
                told_by_the_manual(
                    kind, tmp_path_factory.mktemp(kind), port, server_port, PATH
                )
                if kind in COMMANDS
                else proxy(port, server_port, PATH, taken_off=taken_off)
            )
            stack.enter_context(running)
        by = {kind: f"http://127.0.0.1:{port}{PATH}" for kind, port in ports.items()}
        yield Site(by, token)


@pytest.fixture(params=KINDS)
def address(site: Site, request: pytest.FixtureRequest) -> str:
    return site.addresses[request.param]


@pytest.fixture
def browser(address: str) -> Iterator[httpx.Client]:
    """A browser, which keeps cookies by their paths and follows redirects."""
    more = {"headers": HTML, "follow_redirects": True, "trust_env": False}
    with httpx.Client(base_url=address, timeout=60, **more) as client:  # type: ignore[arg-type]  # as httpx has them
        yield client


@pytest.fixture
def signed_in(browser: httpx.Client, site: Site) -> httpx.Client:
    page = browser.get("/ui/sign-in").text
    fields = {"form_token": token_of(page), "key": site.token, "next": "/ui/models"}
    (action,) = re.findall(r'<form method="post" action="([^"]*sign-in)"', page)
    entered = browser.post(action.removeprefix(PATH), data=fields)
    assert entered.url.path == f"{PATH}/ui/models", entered.text
    return browser


def token_of(page: str) -> str:
    match = re.search(r'name="form_token" value="(\w+)"', page)
    assert match, page
    return match[1]


def test_each_link_of_a_page_is_below_the_path(
    signed_in: httpx.Client, site: Site, address: str
) -> None:
    with Client(address, key=site.token) as client:
        document = json.dumps(model_json(clinic(), "clinic"))
        client.import_model(document.encode(), as_version=True)
    seen, waiting = set[str](), {f"{PATH}/"}

    while waiting:
        path = waiting.pop()
        seen.add(path)
        response = signed_in.get(path.removeprefix(PATH))
        assert (path, response.status_code) == (path, 200)
        assert response.url.path.startswith(f"{PATH}/")
        is_page = response.headers["content-type"].startswith("text/html")
        for link in ADDRESS.findall(response.text) if is_page else ():
            target = link.partition("#")[0].partition("?")[0]
            is_form = f'action="{link}"' in response.text
            if link.startswith("/"):
                assert link.startswith(f"{PATH}/"), (path, link)
                waiting |= set() if is_form or target in seen else {target}

    assert {f"{PATH}/ui/keys", f"{PATH}/docs", f"{PATH}/problems"} <= seen
    assert any(path.startswith(f"{PATH}/ui/static/") for path in seen)
    assert any(path.startswith(f"{PATH}/docs-assets/") for path in seen)


def test_cookies_and_redirects_are_below_the_path(
    browser: httpx.Client, signed_in: httpx.Client
) -> None:
    assert {cookie.path for cookie in signed_in.cookies.jar} == {f"{PATH}/ui"}
    asked = {"follow_redirects": False}
    root = browser.get("/", **asked)  # type: ignore[arg-type]  # as httpx has it
    signed_in.cookies.clear()
    closed = browser.get("/ui/models", **asked)  # type: ignore[arg-type]  # as httpx has it
    slash = browser.get("/models/", **asked)  # type: ignore[arg-type]  # as httpx has it

    assert root.headers["location"] == f"{PATH}/ui"
    assert slash.headers["location"] == f"{PATH}/models"
    assert closed.headers["location"].startswith(f"{PATH}/ui/sign-in?next=")


def test_what_a_browser_says_of_itself_passes(
    browser: httpx.Client, address: str
) -> None:
    own, other = address.removesuffix(PATH), "https://other.example"
    statuses = [
        browser.post("/train", headers={"Origin": origin}).status_code
        for origin in (own, other)
    ]

    # 401: it was let in, and has no key.
    assert statuses == [401, 403]
    assert browser.get("").url.path == f"{PATH}/ui/sign-in"


def test_uploads_of_more_than_a_megabyte_pass(site: Site, address: str) -> None:
    headers = {"Authorization": f"Bearer {site.token}"}
    table = b"a,y\n" + b"0.25,0\n0.75,1\n" * 100_000

    sent = httpx.post(f"{address}/datasets", headers=headers, **form(table), timeout=60)

    assert (sent.status_code, sent.json()["n_rows"]) == (201, 200_000)


def test_a_session_is_played_by_the_pages_forms(
    signed_in: httpx.Client, site: Site, address: str
) -> None:
    with Client(address, key=site.token) as client:
        document = json.dumps(model_json(clinic(), "clinic"))
        model = client.import_model(document.encode(), as_version=True)
    page = signed_in.get(f"/ui/sessions/new?model={model.id}").text
    fields = {"form_token": token_of(page), "model": model.id, "budget": "60"}

    begun = signed_in.post("/ui/sessions/new", data=fields)

    assert re.fullmatch(rf"{PATH}/ui/sessions/ses_\w+", begun.url.path), begun.text
    assert f'action="{begun.url.path}/answers"' in begun.text


def test_clients_and_event_streams_pass(
    site: Site, address: str, table: bytes, spec: dict[str, object]
) -> None:
    headers = {"Authorization": f"Bearer {site.token}"}
    with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
        started = client.post("/train", **form(table, spec))
        assert started.headers["location"] == f"{PATH}/train/{started.json()['id']}"
        path = started.headers["location"].removeprefix(PATH)
        with client.stream("GET", f"{path}/events") as stream:
            kinds = [line for line in stream.iter_lines() if line.startswith("event:")]
        docs, document = client.get("/docs").text, client.get("/openapi.json").json()

    assert kinds[-1] == "event: succeeded"
    assert f"{PATH}/openapi.json" in docs
    assert document["servers"] == [{"url": PATH}]
    with Client(address, key=site.token) as client:
        session = client.predict("heart", budget=60)
        session.play({"age": 30, "chol": 3})
        assert [charge["feature"] for charge in session.ledger()]
