"""Hostile names in charts and files, and what logs hold: no browser is needed."""

import logging
import re
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from tests.pages.hostile import MARKUP, hostile_model
from tests.pages.site import heart, post
from tests.pages.test_cases import answer, state_of

ODD = {"script", "img", "b", "a", "foreignObject", "option"}


def test_names_in_charts_are_text_and_fit(client: TestClient) -> None:
    model = client.post("/models", json=hostile_model()).json()["id"]
    page = client.get(f"/ui/models/{model}").text
    thumbnail = client.get(f"/ui/models/{model}/curve.svg")

    charts = [*re.findall(r"<svg.*?</svg>", page, re.S), thumbnail.text]
    assert len(charts) == 6
    for chart in charts:
        parts = list(ElementTree.fromstring(chart).iter())
        assert not {part.tag.rpartition("}")[2] for part in parts} & ODD
        assert not [key for part in parts for key in part.attrib if key[:2] == "on"]
        texts = [part.text or "" for part in parts if part.tag.endswith("}text")]
        assert max(map(len, texts)) <= 48
    assert "default-src 'none'" in thumbnail.headers["content-security-policy"]
    assert thumbnail.headers["x-content-type-options"] == "nosniff"


def test_names_break_out_of_no_file_and_no_header(client: TestClient) -> None:
    model = client.post("/models", json=hostile_model()).json()["id"]
    wish = {"model": model, "budget": 60, "client_ref": MARKUP}
    session = client.post("/predict", json=wish).json()["id"]

    for address in (
        f"/ui/models/{model}/model.json",
        f"/ui/sessions/{session}/session.json",
    ):
        got = client.get(address)
        assert got.headers["content-type"] == "application/json"
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["cache-control"] == "no-store"
        named = got.headers["content-disposition"]
        assert re.fullmatch(r'attachment; filename="[\w.-]+\.json"', named, re.A)


def test_no_log_holds_what_was_typed(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    client.headers["Accept"] = "text/html"
    model = client.post("/models", json=heart()).json()["id"]
    session = client.post("/predict", json={"model": model, "budget": 60}).json()
    here, secret = f"/ui/sessions/{session['id']}", "canary"
    caplog.set_level(logging.DEBUG)
    shown = {
        answer(client, session, **fields).status_code
        for fields in (
            {"feature": "cp", "value.cp": secret},
            {"feature": "chol", "value.chol": secret},
            {"feature": secret, "outcome": secret},
        )
    }
    version = state_of(client, session)["version"]
    pages = [
        post(client, f"{here}/terms", version=version, budget=secret),
        post(client, f"{here}/stop", version=secret),
        post(client, f"{here}/outcome", label=secret),
        post(client, "/ui/sessions/new", model=model, limit=secret, budget=secret),
        post(client, "/ui/sign-in", key=secret, next=secret),
        client.get("/ui/sessions", params={"client_ref": secret}),
    ]

    assert shown == {404, 422}
    assert [page.status_code for page in pages] == [422, 409, 422, 422, 401, 200]
    records = [record for record in caplog.records if record.name == "askless"]
    assert len(records) > 8
    assert secret not in str([record.__dict__ for record in records])
