"""A record system launches us: the sequence of the specification, and its opposites."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app import logs
from app.doors import auth_servers, flows
from app.main import create_app
from app.service import keys, people
from app.settings.doors import SmartServer
from app.settings.settings import Settings
from app.store.database.engine import transaction
from tests.app.clinic import Make
from tests.app.doors.fhir.hooks import coded
from tests.app.doors.smart.ehr import (
    CLIENT,
    PATIENT,
    SECRET,
    Ehr,
    Json,
    observation,
    running,
)

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]

SITE = "http://askless.test"
LAUNCH = "/ui/smart/ehr/launch/clinic"
NOW = datetime.now(UTC)


def ago(**span: float) -> str:
    return (NOW - timedelta(**span)).isoformat()


@pytest.fixture
def engine_name() -> str:
    return "sqlite"


@pytest.fixture
def ehr() -> Iterator[Ehr]:
    with running(f"{SITE}/ui/smart/ehr/callback") as made:
        yield made


@pytest.fixture
def app(settings: Settings, ehr: Ehr) -> FastAPI:
    """An application that the record system may launch."""
    known = {"client_id": CLIENT, "client_secret": SECRET, "tenant": "clinic"}
    server = SmartServer(fhir=ehr.base, budget=60, **known)
    change = {"address": SITE, "smart_servers": {"ehr": server}}
    return create_app(settings.model_copy(update=change), is_local=False)


@pytest.fixture
def client(app: FastAPI, key: Make) -> Iterator[TestClient]:
    """A browser; the clinic has a model with codes."""
    with TestClient(app, SITE, follow_redirects=False) as made:
        headers = key(tenant="clinic")
        made.post("/models", json=coded(), headers=headers).raise_for_status()
        yield made


def come_back(client: TestClient, ehr: Ehr) -> Any:
    """Launch, go through the record system, and return the response to coming back."""
    sent = client.get(LAUNCH, params=ehr.begin())
    assert sent.status_code == 302, sent.text
    there = httpx.get(sent.headers["location"], trust_env=False)
    assert there.status_code == 302, there.text
    return client.get(there.headers["location"])


def sessions_of(app: FastAPI) -> int:
    with transaction(app.state.engine, None, is_read=True) as db:
        return int(db.execute(sa.text("SELECT count(*) FROM sessions")).scalar() or 0)


def known_of(client: TestClient, done: Any, key: Make) -> Json:
    """What the session that a launch opened knows."""
    assert done.status_code == 303, done.text
    session = done.headers["location"].rpartition("/")[2]
    told = client.get(f"/predict/{session}", headers=key(tenant="clinic")).json()
    assert {one["outcome"] for one in told["answers"]} <= {"known"}
    assert told["client_ref"] == f"Patient/{PATIENT}"
    assert (told["budget"]["limit"], told["budget"]["spent"]) == (60, 0)
    return {one["feature"]: one["value"] for one in told["answers"]}


def test_a_launch_opens_a_session_with_what_the_last_day_found(
    app: FastAPI, client: TestClient, ehr: Ehr, key: Make
) -> None:
    ehr.observations = [observation("2093-3", 250, "mg/dL", ago(hours=3))]

    done = come_back(client, ehr)

    known = known_of(client, done, key)
    years = NOW.year - 1963 - ((NOW.month, NOW.day) < (2, 1))
    assert known == {"chol": 250, "age": years, "sex": "male"}
    page = client.get(done.headers["location"])
    assert page.status_code == 200
    # The person has a key, and the session is theirs.
    with transaction(app.state.engine, None, is_read=True) as db:
        query = (
            "SELECT k.name, k.subject FROM keys k JOIN sessions s ON s.key_id = k.id"
        )
        assert db.execute(sa.text(query)).one() == ("Dr. Seven", "smart:ehr dr-7")
    # A clinician of the record system sees no keys.
    assert client.get("/ui/keys").status_code == 403
    assert ehr.asked[0] == f"Patient/{PATIENT}?"
    asked = httpx.QueryParams(ehr.asked[1].partition("?")[2])
    assert asked["patient"] == PATIENT
    assert "http://loinc.org|2093-3" in asked["code"].split(",")
    since = datetime.fromisoformat(asked["date"].removeprefix("ge"))
    assert timedelta(hours=23.9) < datetime.now(UTC) - since < timedelta(hours=24.1)


def test_what_is_older_wrong_or_anothers_is_not_known(
    client: TestClient, ehr: Ehr, key: Make
) -> None:
    other = {"subject": {"reference": "Patient/p-2"}}
    ehr.observations = [
        observation("2093-3", 251, "mg/dL", ago(hours=25)),
        observation("2093-3", 252, "mg/dL", ago(hours=2), status="entered-in-error"),
        observation("2093-3", 253, "mg/dL", ago(hours=2), **other),
        observation("2093-3", 254, "mmol/L", ago(hours=2)),
        observation("2093-3", 255, "mg/dL", "yesterday"),
        observation("2093-3", 256, "mg/dL", "9999-12-31"),
        observation("2093-3", 257, "mg/dL", "2990-01-01"),
        observation("2093-3", 258, "mg/dL", f"{NOW:%Y-%m-%d}"),
    ]
    ehr.lies[f"Patient/{PATIENT}"] = ({"resourceType": "Patient", "id": "p-2"},)

    # The one of today is left.
    assert known_of(client, come_back(client, ehr), key) == {"chol": 258}


def test_what_was_not_granted_is_not_asked_for(
    client: TestClient, ehr: Ehr, key: Make
) -> None:
    ehr.lies["token"] = {"scope": "launch openid fhirUser patient/Patient.r"}

    known = known_of(client, come_back(client, ehr), key)

    assert set(known) == {"age", "sex"}
    assert ehr.asked == [f"Patient/{PATIENT}?"]


def test_results_come_in_pages_of_the_same_record_system(
    client: TestClient, ehr: Ehr, key: Make
) -> None:
    result = observation("2093-3", 250, "mg/dL", ago(hours=3))
    bundle = {"resourceType": "Bundle", "entry": [], "link": []}
    following = {"relation": "next", "url": f"{ehr.base}/more?page=2"}
    foreign = {"relation": "next", "url": "http://127.0.0.1:9/fhir/more"}
    ehr.lies["Observation"] = (bundle | {"link": [following]},)
    ehr.lies["more"] = (bundle | {"entry": [{"resource": result}], "link": [foreign]},)

    assert known_of(client, come_back(client, ehr), key)["chol"] == 250


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"iss": "https://evil.example/fhir", "launch": "x"},
        {"launch": "x"},
        {"iss": "{base}"},
    ],
)
def test_only_a_record_system_of_the_settings_launches(
    client: TestClient, ehr: Ehr, query: dict[str, str]
) -> None:
    asked = {name: value.format(base=ehr.base) for name, value in query.items()}

    refused = client.get(LAUNCH, params=asked)

    assert refused.status_code == 403
    assert "Only a record system that this service knows can launch it." in refused.text


DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())


@pytest.mark.parametrize(
    ("lies", "status", "words"),
    [
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
        ({"configuration": {"token_endpoint": "http://127.0.0.1:9/"}}, 503, "reached"),
        ({"configuration": {"jwks_uri": "http://127.0.0.1:9/"}}, 503, "reached"),
        ({"jwks": [[]]}, 502, "failed."),
        ({"jwks": {"keys": []}}, 502, "failed."),
        ({"token": {"access_token": "\u4e2d"}}, 502, "did not give the patient"),
        ({"Observation": (DEEP,)}, 502, "did not give the patient"),
        ({f"Patient/{PATIENT}": ({}, 403)}, 502, "did not give the patient"),
        ({"Observation": ([], 200)}, 502, "did not give the patient"),
    ],
)
def test_what_a_record_system_says_is_checked(
    app: FastAPI, client: TestClient, ehr: Ehr, lies: Json, status: int, words: str
) -> None:
    ehr.lies = lies

    refused = come_back(client, ehr)

    assert refused.status_code == status, refused.text
    assert words in refused.text
    assert sessions_of(app) == 0
    assert client.get("/ui").status_code == 303


def test_an_unknown_model_is_named(client: TestClient, ehr: Ehr) -> None:
    sent = client.get("/ui/smart/ehr/launch/nope", params=ehr.begin())
    there = httpx.get(sent.headers["location"], trust_env=False)

    refused = client.get(there.headers["location"])

    assert refused.status_code == 404
    assert "There is no model nope here." in refused.text


def test_a_launch_comes_back_once_and_to_its_browser(
    app: FastAPI, client: TestClient, ehr: Ehr
) -> None:
    sent = client.get(LAUNCH, params=ehr.begin())
    back = httpx.get(sent.headers["location"], trust_env=False).headers["location"]
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


@pytest.mark.parametrize(
    "said",
    [
        {"issuer": None},
        {"token_endpoint": "http://evil.example/token"},
        {"authorization_endpoint": ["x"]},
        {"authorization_endpoint": "https://ehr@evil.example/"},
        {"authorization_endpoint": "https://[bad/x"},
        {"authorization_endpoint": "https://[:::]/x"},
        {"jwks_uri": "https://a:port/x"},
        {"id_token_signing_alg_values_supported": 5},
    ],
)
def test_metadata_that_can_t_be_used_send_nobody(
    client: TestClient, ehr: Ehr, said: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    ehr.lies["configuration"] = said
    refused = client.get(LAUNCH, params=ehr.begin())
    ehr.lies = {}
    again = client.get(LAUNCH, params=ehr.begin())
    # As if half a minute had passed.
    monkeypatch.setattr(auth_servers, "AWAY_S", 0)
    server = client.app.state.ehrs["ehr"].flow.server  # type: ignore[attr-defined]
    server.away_until = 0.0

    assert (refused.status_code, again.status_code) == (502, 502)
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
        admin = people.let_in(db, grace, NOW)
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
            back = httpx.get(sent.headers["location"], trust_env=False)
            moved = back.headers["location"].replace("/ehr/", "/other/")

            assert browser.get(moved).status_code == 400


def test_two_launches_at_once_both_come_back(client: TestClient, ehr: Ehr) -> None:
    sent = [client.get(LAUNCH, params=ehr.begin()) for _ in range(2)]
    there = [httpx.get(one.headers["location"], trust_env=False) for one in sent]
    # Nor does a link of somebody else end one under way.
    assert client.get("/ui/smart/ehr/callback?error=x&state=y").status_code == 400

    done = [client.get(one.headers["location"]) for one in there]

    assert [one.status_code for one in done] == [303, 303]


def test_no_patient_and_no_code_is_logged(
    client: TestClient, ehr: Ehr, capfd: pytest.CaptureFixture[str]
) -> None:
    levels = {name: logging.getLogger(name).level for name in ("", "httpx2")}
    handlers = logging.getLogger().handlers[:]
    logs.configure()
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


def test_the_session_is_as_over_predict(
    client: TestClient, ehr: Ehr, key: Make
) -> None:
    """The same questions, answers and charges, until it ends."""
    ehr.observations = [observation("2093-3", 250, "mg/dL", ago(hours=3))]
    done, headers = come_back(client, ehr), key(tenant="clinic")
    ours = done.headers["location"].rpartition("/")[2]
    order = {"model": "clinic", "budget": 60, "known": known_of(client, done, key)}
    twin = client.post("/predict", json=order, headers=headers).json()["id"]

    def answer(session: str, feature: str) -> None:
        said = {"answers": [{"feature": feature, "outcome": "refused"}]}
        url = f"/predict/{session}/answers"
        client.post(url, json=said, headers=headers).raise_for_status()

    n_asked = 0
    while True:
        views = [
            client.get(f"/predict/{one}", headers=headers).json()
            for one in (ours, twin)
        ]
        for name in ("question", "prediction", "budget", "answers", "should_stop"):
            assert views[0][name] == views[1][name], name
        if views[0]["question"] is None:
            break
        for session in (ours, twin):
            answer(session, views[0]["question"]["feature"])
        n_asked += 1
    assert n_asked > 1


def test_what_says_who_answers_must_say_so(client: TestClient, ehr: Ehr) -> None:
    """RFC 9207: where its metadata promise `iss`, an answer without it is another's."""
    ehr.lies["configuration"] = {"authorization_response_iss_parameter_supported": True}
    sent = client.get(LAUNCH, params=ehr.begin())
    back = httpx.get(sent.headers["location"], trust_env=False).headers["location"]

    assert client.get(f"{back}&iss=https://evil.example").status_code == 502
    again = client.get(LAUNCH, params=ehr.begin())
    back = httpx.get(again.headers["location"], trust_env=False).headers["location"]
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
    back = httpx.get(sent.headers["location"], trust_env=False).headers["location"]
    ehr.lies["configuration"] = {"token_endpoint": "http://127.0.0.1:9/"}
    assert client.get(back).status_code == 503
    ehr.lies = {}

    assert client.get(back).status_code == 303
