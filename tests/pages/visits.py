"""One way to go through pages, for a browser and for a client of HTTP alone.

What must hold of every page is checked by the client at each step, and by axe-core in
the browser where a visit says so and at its end.
"""

import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from typing import Any, NamedTuple, Protocol
from urllib.parse import urljoin

from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect

from askless.app.pages.plumbing import filters
from tests.pages.audit import audit
from tests.pages.site import BROWSER

FIELDS = ("input", "select", "textarea")
OPEN_ALL = "document.querySelectorAll('main details').forEach((it) => it.open = true)"
# How many pictures can't be seen, once each has come or failed.
UNSEEN = """Promise.all([...document.images].map((it) => {
    it.loading = "eager"
    return it.complete || new Promise((end) => { it.onload = it.onerror = end })
})).then(() => [...document.images].filter((it) => !it.naturalWidth).length)"""


class Visit(Protocol):
    """Somebody who goes through pages."""

    def open(self, path: str) -> None: ...

    def follow(self, link: str) -> None:
        """Follow the first link of these words."""

    def press(self, button: str, **fields: str) -> None:
        """Fill in fields of a form by their names, and press its button.

        It is the first whose words begin so.
        """

    def shows(self, *words: str) -> None: ...

    def lacks(self, *words: str) -> None: ...

    def is_refused(self, *fields: str) -> None:
        """Check that the form came back with an error, at each of these fields."""

    def check(self) -> None:
        """Check that the page keeps nobody out."""


class Form(NamedTuple):
    """A form of a page, with what it holds; `method` in small letters."""

    method: str
    action: str
    fields: dict[str, str]
    #: words of its buttons, with their names and values
    buttons: dict[str, tuple[str, str]]


class Html(HTMLParser):
    """Reads forms, links and ids of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[tuple[str, str]] = []
        self.ids: Counter[str] = Counter()
        self.named: set[str] = set()
        self.is_within = self.has_no_option = False
        #: attributes that would run or look as nothing of ours
        self.odd: list[str] = []
        self.selecting = self.collected = ""
        self.open_tag: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {key: value or "" for key, value in attrs}
        self.odd += [key for key in held if key == "style" or key.startswith("on")]
        self.ids.update([held["id"]] if "id" in held else [])
        self.named.update(held.get("aria-describedby", "").split())
        self.named.update([held["for"]] if "for" in held else [])
        if tag in ("a", "button"):
            self.open_tag, self.collected = held, ""
        if tag == "form":
            self.is_within = True
            action = held.get("action", "")
            self.forms.append(Form(held.get("method", "get"), action, {}, {}))
        elif self.is_within and tag == "option":
            fields = self.forms[-1].fields
            if "selected" in held or self.has_no_option:
                fields[self.selecting] = held.get("value", "")
            self.has_no_option = False
        elif self.is_within and tag in FIELDS and held.get("name"):
            fields, name = self.forms[-1].fields, held["name"]
            is_box = held.get("type") in ("radio", "checkbox")
            if is_box and "checked" in held:
                fields[name] = held.get("value", "on")
            # Of several fields of a name the first counts.
            fields.setdefault(name, "" if is_box else held.get("value", ""))
            self.selecting, self.has_no_option = name, tag == "select"

    def handle_data(self, data: str) -> None:
        self.collected += data
        if self.is_within and self.lasttag == "textarea" and self.selecting:
            self.forms[-1].fields[self.selecting] += data

    def handle_endtag(self, tag: str) -> None:
        words = " ".join(self.collected.split())
        if tag == "a":
            self.links.append((words, self.open_tag.get("href", "")))
        elif tag == "button" and self.is_within:
            pair = self.open_tag.get("name", ""), self.open_tag.get("value", "")
            self.forms[-1].buttons[words] = pair
        self.is_within = self.is_within and tag != "form"


def words_of(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", html)).split())


def id_of(field: str) -> str:
    return f"f-{filters.to_html_id(field)}-error"


class ClientVisit:
    """A visit without a browser, and so without JavaScript."""

    def __init__(self, client: TestClient) -> None:
        self.client, self.path, self.text, self.status = client, "", "", 0

    def send(self, method: str, path: str, **more: Any) -> None:
        self.path = urljoin(self.path, path or self.path.partition("?")[0])
        response = self.client.request(
            method, self.path, headers=BROWSER, follow_redirects=True, **more
        )
        self.path = response.url.raw_path.decode()
        self.text, self.status = response.text, response.status_code
        assert self.status < 500, (self.path, self.text)
        assert response.headers["cache-control"] == "no-store"
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none';")
        assert "unsafe" not in policy
        self.check()

    def open(self, path: str) -> None:
        self.send("GET", path)

    def follow(self, link: str) -> None:
        links = [href for words, href in Html(self.text).links if link in words]
        assert links, (link, self.path, Html(self.text).links)
        self.open(links[0])

    def press(self, button: str, **fields: str) -> None:
        pressed = [
            (form, pair)
            for form in Html(self.text).forms
            for words, pair in form.buttons.items()
            if words.startswith(button) and fields.keys() <= form.fields.keys()
        ]
        assert pressed, (button, self.path, self.text)
        form, (name, value) = pressed[0]
        sent = form.fields | fields | ({name: value} if name else {})
        key = "data" if form.method == "post" else "params"
        self.send(form.method.upper(), form.action, **{key: sent})

    def shows(self, *words: str) -> None:
        text = words_of(self.text)
        for each in words:
            assert each in text, (each, text)

    def lacks(self, *words: str) -> None:
        text = words_of(self.text)
        for each in words:
            assert each not in text, (each, text)

    def is_refused(self, *fields: str) -> None:
        assert self.status in range(400, 500), self.text
        assert 'role="alert"' in self.text
        assert not fields or "<title>Error" in self.text
        for field in fields:
            assert f'id="{id_of(field)}"' in self.text, field
            assert f'href="#{id_of(field).removesuffix("-error")}"' in self.text, field

    def check(self) -> None:
        text, html = self.text, Html(self.text)
        assert text.count("<h1") == 1, self.path
        assert "<script>alert" not in text, self.path
        twice = [name for name, count in html.ids.items() if count > 1]
        unknown = html.named - html.ids.keys()
        assert (html.odd, twice, unknown) == ([], [], set()), self.path


class BrowserVisit:
    """A visit in Chromium."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, path: str) -> None:
        self.page.goto(path)

    def follow(self, link: str) -> None:
        self.page.evaluate(OPEN_ALL)
        self.page.get_by_role("link", name=link).first.click()
        self.page.wait_for_load_state()

    def press(self, button: str, **fields: str) -> None:
        self.page.evaluate(OPEN_ALL)
        words = re.compile(f"^{re.escape(button)}")
        pressed = self.page.get_by_role("button", name=words)
        form = self.page.locator("form").filter(has=pressed)
        for name in fields:
            form = form.filter(has=self.page.locator(f'[name="{name}"]'))
        form = form.first
        for name, text in fields.items():
            field = form.locator(f'[name="{name}"]')
            kind = field.first.evaluate("it => it.type")
            if kind in ("radio", "checkbox"):
                form.locator(f'[name="{name}"][value="{text}"]').check()
            elif kind.startswith("select"):
                field.select_option(text)
            else:
                field.fill(text)
        form.get_by_role("button", name=words).first.click()
        self.page.wait_for_load_state()

    def shows(self, *words: str) -> None:
        self.page.evaluate(OPEN_ALL)
        for each in words:
            expect(self.page.locator("body")).to_contain_text(each)

    def lacks(self, *words: str) -> None:
        for each in words:
            expect(self.page.locator("body")).not_to_contain_text(each)

    def is_refused(self, *fields: str) -> None:
        alert = self.page.get_by_role("alert").first
        expect(alert).to_be_visible()
        if fields:
            expect(alert).to_be_focused()
        for field in fields:
            expect(self.page.locator(f"[id='{id_of(field)}']")).to_be_visible()

    def check(self) -> None:
        self.page.evaluate(OPEN_ALL)
        audit(self.page)
        assert not self.page.evaluate(UNSEEN)
        assert self.page.locator("h1").count() == 1
        hostile = "main :is(script, img[onerror], [style])"
        assert self.page.locator(hostile).count() == 0
