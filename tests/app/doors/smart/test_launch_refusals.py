"""Launches that go wrong, that others have begun, or that come two at once."""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app import logs
from askless.app.doors.sign_in import auth_servers, flows
from askless.app.main import create_app
from askless.app.service import keys, people
from askless.app.settings.doors import SmartServer
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from tests.app.doors.smart.ehr import (
    CLIENT,
    PATIENT,
    SECRET,
    Ehr,
    Json,
    running,
)
from tests.app.doors.smart.launches import (
    LAUNCH,
    NOW,
    SITE,
    come_back,
    follow,
    meet_anew,
    sessions_of,
)

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]


def test_only_a_record_system_of_the_settings_launches(
    client: TestClient, ehr: Ehr
) -> None:
    for query in [
        {},
        {"iss": "https://evil.example/fhir", "launch": "x"},
        {"launch": "x"},
        {"iss": "{base}"},
    ]:
        asked = {name: value.format(base=ehr.base) for name, value in query.items()}

        refused = client.get(LAUNCH, params=asked)

        assert refused.status_code == 403
        assert (
            "Only a record system that this service knows can launch it."
            in refused.text
        )


DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())


LIES: list[tuple[Json, int, str]] = [
    ({"error": "access_denied"}, 403, "did not let you in."),
    ({"claims": {"nonce": "other"}}, 502, "failed."),
    ({"claims": {"iss": "https://evil.example"}}, 502, "failed."),
    ({"claims": {"aud": "somebody"}}, 502, "failed."),
    ({"claims": {"aud": ["somebody"]}}, 502, "failed."),
    ({"claims": {"exp": 1_000_000_000}}, 502, "failed."),
    ({"claims": {"sub": "a\nb"}}, 502, "sub"),
    ({"claims": {"sub": "\ud800"}}, 502, "sub"),
    ({"claims": {"sub": "a\0"}}, 502, "sub"),
    ({"signing": (OTHER_KEY, "ES256")}, 502, "failed."),
    ({"signing": (None, "none")}, 502, "failed."),
    ({"token": {"id_token": "x"}}, 502, "failed."),
    ({"token": {"id_token": None}}, 502, "failed."),
    ({"token": {"patient": None}}, 422, "named no patient"),
    ({"token": {"patient": "../Patient?x"}}, 422, "named no patient"),
    ({"token": {"patient": "."}}, 422, "named no patient"),
    ({"token": {"patient": ".."}}, 422, "named no patient"),
    ({"token": {"patient": "..."}}, 422, "named no patient"),
    ({"configuration": {"token_endpoint": "http://127.0.0.1:9/"}}, 503, "reached"),
    ({"configuration": {"jwks_uri": "http://127.0.0.1:9/"}}, 503, "reached"),
    ({"jwks": [[]]}, 502, "failed."),
    ({"jwks": {"keys": []}}, 502, "failed."),
    ({"token": {"access_token": "\u4e2d"}}, 502, "did not give the patient"),
    ({"Observation": (DEEP,)}, 502, "did not give the patient"),
    ({f"Patient/{PATIENT}": ({}, 403)}, 502, "did not give the patient"),
    ({"Observation": ([], 200)}, 502, "did not give the patient"),
]


def test_what_a_record_system_says_is_checked(
    app: FastAPI, client: TestClient, ehr: Ehr
) -> None:
    for lies, status, words in LIES:
        meet_anew(app, client, ehr)
        ehr.lies = lies

        refused = come_back(client, ehr)

        assert refused.status_code == status, (lies, refused.text)
        assert words in refused.text
        assert sessions_of(app) == 0
        assert client.get("/ui").status_code == 303


def test_an_unknown_model_is_named(client: TestClient, ehr: Ehr) -> None:
    sent = client.get("/ui/smart/ehr/launch/nope", params=ehr.begin())
    there = follow(sent)

    refused = client.get(there.headers["location"])

    assert refused.status_code == 404
    assert "There is no model nope here." in refused.text


def test_a_launch_comes_back_once_and_to_its_browser(
    app: FastAPI, client: TestClient, ehr: Ehr
) -> None:
    sent = client.get(LAUNCH, params=ehr.begin())
    back = follow(sent).headers["location"]
    kept = dict(client.cookies)
    client.cookies.clear()

    assert client.get(back).status_code == 400
    client.cookies.update(kept)
    assert client.get(back).status_code == 303
    client.cookies.update(kept)
    # The code is used up.
    assert client.get(back).status_code == 502
    assert sessions_of(app) == 1


def test_who_was_revoked_opens_no_session(
    app: FastAPI, client: TestClient, ehr: Ehr
) -> None:
    come_back(client, ehr)
    with transaction(app.state.engine, None, is_read=True) as db:
        query = "SELECT id, tenant_id FROM keys WHERE subject IS NOT NULL"
        row = db.execute(sa.text(query)).one()
    with transaction(app.state.engine, row.tenant_id) as db:
        keys.revoke(db, row.id, datetime.now(UTC))

    refused = come_back(client, ehr)

    assert refused.status_code == 403
    assert "Your access was revoked." in refused.text
    assert sessions_of(app) == 1


METADATA: list[Json] = [
    {"issuer": None},
    {"token_endpoint": "http://evil.example/token"},
    {"authorization_endpoint": ["x"]},
    {"authorization_endpoint": "https://ehr@evil.example/"},
    {"authorization_endpoint": "https://[bad/x"},
    {"authorization_endpoint": "https://[:::]/x"},
    {"jwks_uri": "https://a:port/x"},
    {"id_token_signing_alg_values_supported": 5},
]


def test_metadata_that_can_t_be_used_send_nobody(
    app: FastAPI, client: TestClient, ehr: Ehr, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if half a minute had passed, where it is said so.
    monkeypatch.setattr(auth_servers, "AWAY_S", 1_000)
    for metadata in METADATA:
        meet_anew(app, client, ehr)
        ehr.lies["configuration"] = metadata
        refused = client.get(LAUNCH, params=ehr.begin())
        ehr.lies = {}
        again = client.get(LAUNCH, params=ehr.begin())
        app.state.ehrs["ehr"].flow.server.away_until = 0.0

        assert (refused.status_code, again.status_code) == (502, 502), metadata
        assert come_back(client, ehr).status_code == 303


def test_metadata_change_nothing_of_ours(client: TestClient, ehr: Ehr) -> None:
    """The protection that the record system would have us leave out stays."""
    ehr.lies["configuration"] = {
        "code_challenge_method": None,
        "client_id": "other",
        "scope": "launch",
        "verify": False,
        "userinfo_endpoint": None,
        "authorization_response_iss_parameter_supported": None,
    }

    assert come_back(client, ehr).status_code == 303


def test_nobody_at_a_record_system_is_anybody_elsewhere(
    app: FastAPI, client: TestClient, ehr: Ehr
) -> None:
    issuer = "https://login.example.org"
    with transaction(app.state.engine, None) as db:
        tenant = keys.get_or_create_tenant(db, "clinic", NOW)
    with transaction(app.state.engine, tenant) as db:
        grace = people.Person(issuer, "grace", "Grace", keys.SCOPES)
        admin = people.renew_key_of(db, grace, NOW)
    ehr.lies = {"configuration": {"issuer": issuer}}
    ehr.lies["claims"] = {"iss": issuer, "sub": "grace"}

    assert come_back(client, ehr).status_code == 303

    with transaction(app.state.engine, tenant) as db:
        assert people.find_key(db, grace) == admin
    assert client.get("/ui/keys").status_code == 403


def test_two_record_systems_don_t_meet(settings: Settings, ehr: Ehr) -> None:
    """What one has begun can't be ended at the address of another."""
    with running(f"{SITE}/ui/smart/other/callback") as other:
        known = {"client_id": CLIENT, "client_secret": SECRET}
        both = {
            name: SmartServer(fhir=one.base, **known)
            for name, one in (("ehr", ehr), ("other", other))
        }
        change = {"address": SITE, "smart_servers": both}
        app = create_app(settings.model_copy(update=change), is_local=False)
        with TestClient(app, SITE, follow_redirects=False) as browser:
            launch = LAUNCH.replace("/ehr/", "/other/")
            assert browser.get(launch, params=ehr.begin()).status_code == 403
            sent = browser.get(LAUNCH, params=ehr.begin())
            back = follow(sent)
            moved = back.headers["location"].replace("/ehr/", "/other/")

            assert browser.get(moved).status_code == 400


def test_two_launches_at_once_both_come_back(client: TestClient, ehr: Ehr) -> None:
    sent = [client.get(LAUNCH, params=ehr.begin()) for _ in range(2)]
    there = [follow(response) for response in sent]
    # Nor does a link of somebody else end one under way.
    assert client.get("/ui/smart/ehr/callback?error=x&state=y").status_code == 400

    done = [client.get(response.headers["location"]) for response in there]

    assert [response.status_code for response in done] == [303, 303]


def test_no_patient_and_no_code_is_logged(
    client: TestClient, ehr: Ehr, capfd: pytest.CaptureFixture[str]
) -> None:
    levels = {name: logging.getLogger(name).level for name in ("", "httpx2")}
    handlers = logging.getLogger().handlers[:]
    logs.configure_logging()
    try:
        done = come_back(client, ehr)
    finally:
        logging.getLogger().handlers[:] = handlers
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)

    assert done.status_code == 303
    logged = capfd.readouterr().err
    assert "/ui/smart/{server}/callback" in logged
    assert PATIENT not in logged
    assert "code=" not in logged


def test_what_says_who_answers_must_say_so(client: TestClient, ehr: Ehr) -> None:
    """RFC 9207: where its metadata promise `iss`, an answer without it is another's."""
    ehr.lies["configuration"] = {"authorization_response_iss_parameter_supported": True}
    sent = client.get(LAUNCH, params=ehr.begin())
    back = follow(sent).headers["location"]

    assert client.get(f"{back}&iss=https://evil.example").status_code == 502
    again = client.get(LAUNCH, params=ehr.begin())
    back = follow(again).headers["location"]
    assert client.get(f"{back}&iss={ehr.url}").status_code == 303
    # The first one's words did not have the metadata fetched again.
    assert client.get(LAUNCH, params=ehr.begin()).status_code == 302


def test_few_launches_are_under_way_at_once(client: TestClient, ehr: Ehr) -> None:
    for _ in range(9):
        client.get(LAUNCH, params=ehr.begin())

    under_way = [name for name in client.cookies if name.startswith("askless_flow_")]
    assert len(under_way) == flows.MOST_AT_ONCE
    long = LAUNCH.replace("clinic", "x" * 9_000)
    assert client.get(long, params=ehr.begin()).status_code == 404


def test_who_is_revoked_while_results_are_fetched_opens_nothing(
    app: FastAPI, client: TestClient, ehr: Ehr
) -> None:
    def revoke() -> Json:
        with transaction(app.state.engine, None, is_read=True) as db:
            query = "SELECT id, tenant_id FROM keys WHERE subject IS NOT NULL"
            row = db.execute(sa.text(query)).one()
        with transaction(app.state.engine, row.tenant_id) as db:
            keys.revoke(db, row.id, datetime.now(UTC))
        return {"resourceType": "Patient", "id": PATIENT}

    ehr.during_patient = revoke

    refused = come_back(client, ehr)

    assert refused.status_code == 403
    assert "Your access was revoked." in refused.text
    assert sessions_of(app) == 0


def test_an_outage_ends_no_launch(
    client: TestClient, ehr: Ehr, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that says 503 may be loaded again."""
    monkeypatch.setattr(auth_servers, "FRESH_S", 0)
    sent = client.get(LAUNCH, params=ehr.begin())
    back = follow(sent).headers["location"]
    ehr.lies["configuration"] = {"token_endpoint": "http://127.0.0.1:9/"}
    assert client.get(back).status_code == 503
    ehr.lies = {}

    assert client.get(back).status_code == 303
