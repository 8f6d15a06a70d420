"""Launches by the record system of the tests, as a browser goes through them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.doors.smart.door import make_ehr
from askless.app.store.database.engine import transaction
from tests.app.clinic import Make
from tests.app.doors.smart.ehr import (
    PATIENT,
    Ehr,
    Json,
)

SITE = "http://askless.test"
LAUNCH = "/ui/smart/ehr/launch/clinic"
NOW = datetime.now(UTC)


def ago(**span: float) -> str:
    return (NOW - timedelta(**span)).isoformat()


def follow(sent: Any) -> httpx.Response:
    """Go where a response leads, by http: reading certificates takes longer than it."""
    return httpx.get(sent.headers["location"], trust_env=False, verify=False)


def come_back(client: TestClient, ehr: Ehr) -> Any:
    """Launch, go through the record system, and return the response to coming back."""
    sent = client.get(LAUNCH, params=ehr.begin())
    assert sent.status_code == 302, sent.text
    there = follow(sent)
    assert there.status_code == 302, there.text
    return client.get(there.headers["location"])


def meet_anew(app: FastAPI, client: TestClient, ehr: Ehr) -> None:
    """Forget what a record system has said, and what the browser keeps of it."""
    ehr.forget()
    client.cookies.clear()
    app.state.ehrs = {
        name: make_ehr(name, server, SITE)
        for name, server in app.state.settings.smart_servers.items()
    }


def sessions_of(app: FastAPI) -> int:
    with transaction(app.state.engine, None, is_read=True) as db:
        return int(db.execute(sa.text("SELECT count(*) FROM sessions")).scalar() or 0)


def known_of(client: TestClient, done: Any, key: Make) -> Json:
    """What the session that a launch opened knows."""
    assert done.status_code == 303, done.text
    session = done.headers["location"].partition("?")[0].rpartition("/")[2]
    told = client.get(f"/predict/{session}", headers=key(tenant="clinic")).json()
    assert {answer["outcome"] for answer in told["answers"]} <= {"known"}
    assert told["client_ref"] == f"Patient/{PATIENT}"
    assert (told["budget"]["limit"], told["budget"]["spent"]) == (60, 0)
    return {answer["feature"]: answer["value"] for answer in told["answers"]}
