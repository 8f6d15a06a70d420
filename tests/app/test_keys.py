"""Keys: who may call, what for and how often; where keys are not asked for, who may."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.documents.http.sessions import PredictRequest
from app.http.plumbing import auth
from app.main import OPEN, create_app
from app.records import DEFAULT_TENANT, Caller, Limits, Moment
from app.service import keys, sessions
from app.service.loaded import LoadedModels
from app.settings.settings import Settings
from app.store.database.engine import transaction
from tests.app.clinic import clinic, form, local_client, model_json

pytest_plugins = ["tests.app.conftest_http"]

Make = Callable[..., dict[str, str]]
NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """Served beyond loopback: keys are asked for."""
    return create_app(settings)


@pytest.fixture
def key(engine: sa.Engine) -> Make:
    """Make a key and give the header that carries it."""

    def make(*scopes: str, tenant: str = "default", **more: Any) -> dict[str, str]:
        now = datetime.now(UTC)
        wish = keys.Wish("a key", scopes or keys.SCOPES, **more)
        with transaction(engine, None) as db:
            tenant_id = keys.get_or_create_tenant(db, tenant, now)
        with transaction(engine, tenant_id) as db:
            made = keys.create(db, wish, now)
        return {"Authorization": f"Bearer {made.token}", "X-Key": made.key.id}

    return make


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Every method and address of the API."""
    home = tmp_path_factory.mktemp("routes")
    paths = create_app(Settings(home=home)).openapi()["paths"]
    return [
        (method.upper(), path)
        for path, operations in paths.items()
        for method in operations
    ]


def scoped(routes: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Those that tell or change something of a tenant."""
    free = {route.path for router in OPEN for route in router.router.routes}
    return ((method, path) for method, path in routes if path not in free)


def test_every_route_asks_for_a_key(
    client: TestClient, routes: list[tuple[str, str]]
) -> None:
    wanted = list(scoped(routes))
    assert len(wanted) > 20

    for method, path in wanted:
        response = client.request(method, path.replace("{id}", "mdl_1"))

        assert response.status_code == 401, (method, path)
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["type"] == "/problems/unauthorized"


def test_no_scope_opens_what_another_is_for(
    client: TestClient, key: Make, routes: list[tuple[str, str]]
) -> None:
    """Each route is opened by the one scope that the document names for it."""
    headers = {scope: key(scope) for scope in keys.SCOPES}
    paths = client.get("/openapi.json").json()["paths"]
    for method, path in scoped(routes):
        address = path.replace("{id}", "mdl_1")
        opening = [
            scope
            for scope, header in headers.items()
            if client.request(method, address, headers=header).status_code != 403
        ]
        right = "read" if method == "GET" else "write"

        assert len(opening) == 1, (method, path, opening)
        assert opening[0].endswith(right)
        assert paths[path][method.lower()]["security"] == [{"key": opening}]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: token[:-1] + ("a" if token[-1] != "a" else "b"),
        lambda token: token.replace("askl_", "askl_0", 1),
        lambda token: token.replace("askl", "test", 1),
        lambda _: "askl__",
        lambda _: "askl_' OR 1=1 --_x",
        lambda _: "askl_" + "9" * 10_000 + "_x",
        lambda _: "",
    ],
)
def test_a_token_that_is_no_key_is_refused(
    client: TestClient, key: Make, spoil: Callable[[str], str]
) -> None:
    token = key()["Authorization"].removeprefix("Bearer ")

    asked = client.get("/models", headers={"Authorization": f"Bearer {spoil(token)}"})

    assert asked.status_code == 401
    assert asked.json()["type"] == "/problems/unauthorized"


def test_other_ways_to_authorize_are_refused(client: TestClient) -> None:
    asked = client.get("/models", headers={"Authorization": "Basic YTpi"})

    assert asked.status_code == 401


def test_a_key_that_has_expired_is_refused(client: TestClient, key: Make) -> None:
    soon = datetime.now(UTC) + timedelta(milliseconds=300)
    headers = key(expires_at=soon)

    while datetime.now(UTC) < soon:
        pass

    assert client.get("/models", headers=headers).status_code == 401


def test_a_revoked_key_is_refused_once_it_is_looked_up_again(
    client: TestClient, key: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "RECHECK_S", 0.0)
    operator, other = key(), key()
    assert client.get("/models", headers=other).status_code == 200

    gone = client.delete(f"/keys/{other['X-Key']}", headers=operator)

    assert gone.status_code == 204
    assert client.get("/models", headers=other).status_code == 401
    found = client.get(f"/keys/{other['X-Key']}", headers=operator).json()
    assert found["revoked_at"] is not None
    again = client.delete(f"/keys/{other['X-Key']}", headers=operator)
    assert again.status_code == 204


def test_a_secret_is_shown_once_and_stored_nowhere(
    client: TestClient, key: Make, engine: sa.Engine
) -> None:
    body = {"name": "clinic", "scopes": ["models:read"], "days": 30}

    made = client.post("/keys", headers=key(), json=body)

    token = made.json()["token"]
    # A secret may have a "_" itself, and the part after it be one letter.
    secret = token[-43:]
    assert len(token) > 43
    assert made.headers["cache-control"] == "no-store"
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT * FROM keys")).all()
    assert secret not in str(rows)
    listed = client.get("/keys", headers=key()).text
    assert secret not in listed
    assert "digest" not in listed
    header = {"Authorization": f"Bearer {token}"}
    assert client.get("/models", headers=header).status_code == 200


def test_a_key_makes_none_that_can_do_more_than_it(
    client: TestClient, key: Make
) -> None:
    maker = key("keys:write", "models:read", limits={"rows": 100})
    more = {"name": "more", "scopes": ["models:write"]}
    same = {"name": "same", "scopes": ["models:read"], "limits": {"rows": 10**9}}

    refused = client.post("/keys", headers=maker, json=more)
    made = client.post("/keys", headers=maker, json=same)

    assert refused.status_code == 403
    assert "models:write" in refused.json()["detail"]
    assert made.json()["limits"] == {"rows": 100}


def test_a_key_revokes_only_what_it_could_have_made(
    client: TestClient, key: Make
) -> None:
    maker, admin = key("keys:write", "models:read"), key()
    lesser = key("models:read")

    refused = client.delete(f"/keys/{admin['X-Key']}", headers=maker)
    revoked = client.delete(f"/keys/{lesser['X-Key']}", headers=maker)

    assert (refused.status_code, revoked.status_code) == (403, 204)
    assert client.get("/models", headers=admin).status_code == 200


def test_columns_of_a_stored_table_are_kept_only_for_who_may_read_it(
    client: TestClient, key: Make
) -> None:
    admin, blind = key(), key("predict:read", "predict:write")
    document = model_json(clinic(), "clinic")
    model = client.post("/models", headers=admin, json=document).json()["id"]
    names = [one["name"] for one in document["features"]]
    table = "\n".join((",".join(names), ",".join("1" for _ in names)))
    sent = {"dataset": ("t.csv", table.encode())}
    dataset = client.post("/datasets", headers=admin, files=sent).json()["id"]
    told = {}
    for who, headers in (("admin", admin), ("blind", blind)):
        for keep in ([], [names[0]]):
            order = {"dataset_id": dataset, "budgets": [1], "keep": keep}
            address = f"/models/{model}/predict"
            answer = client.post(address, headers=headers, json=order)
            told[who, bool(keep)] = answer.status_code

    assert told["blind", True] == 403
    assert told["admin", True] == told["admin", False] == told["blind", False]


def test_a_key_makes_none_beyond_what_the_settings_leave_it(
    client: TestClient, key: Make
) -> None:
    maker = key("keys:write")
    more = {"name": "more", "scopes": ["keys:write"], "limits": {"rounds": 10**9}}

    made = client.post("/keys", headers=maker, json=more)

    assert made.json()["limits"] == {"rounds": Settings().limit_rounds}


@pytest.mark.parametrize("days", [None, 1, 2, 9])
def test_a_key_makes_none_that_outlives_it(
    client: TestClient, key: Make, days: int | None
) -> None:
    ends = datetime.now(UTC) + timedelta(days=2, hours=1)
    maker = key("keys:write", expires_at=ends)
    wish = {"name": "heir", "scopes": ["keys:write"], "days": days}

    made = client.post("/keys", headers=maker, json=wish).json()

    lasts = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
    assert round(lasts / timedelta(hours=1)) == {1: 24, 2: 48}.get(days or 0, 49)


def test_a_limit_beyond_all_numbers_is_refused(client: TestClient, key: Make) -> None:
    wish = {"name": "x", "scopes": ["keys:write"], "limits": {"sessions": 10**19}}

    refused = client.post("/keys", headers=key(), json=wish)

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"].startswith("limits")


def test_its_use_is_noted(client: TestClient, key: Make) -> None:
    headers = key()
    client.get("/models", headers=headers)

    found = client.get(f"/keys/{headers['X-Key']}", headers=key()).json()

    assert found["last_used_at"] is not None


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_a_key_is_good_while_the_database_takes_no_changes(
    app: FastAPI, client: TestClient, key: Make
) -> None:
    headers = key()
    engine = app.state.engine
    app.state.engine = engine.execution_options(postgresql_readonly=True)

    assert client.get("/models", headers=headers).status_code == 200


def test_too_many_requests_wait(client: TestClient, key: Make) -> None:
    headers = key(limits={"requests_per_minute": 3})

    asked = [client.get("/models", headers=headers) for _ in range(5)]

    assert [one.status_code for one in asked] == [200, 200, 200, 429, 429]
    assert 1 <= int(asked[-1].headers["retry-after"]) <= 20
    assert asked[-1].json()["type"] == "/problems/too-many-requests"
    assert client.get("/models", headers=key()).status_code == 200


def test_a_bucket_fills_with_time() -> None:
    bucket = auth.Bucket(2.0, at=0.0)

    assert bucket.take(60, 0.0) == 0
    assert bucket.take(60, 0.0) == 0
    assert bucket.take(60, 0.0) == pytest.approx(1.0)
    assert bucket.take(60, 0.5) == pytest.approx(0.5)
    assert bucket.take(60, 1.0) == 0
    assert bucket.take(60, 1000.0) == 0
    assert bucket.left == 59


# Without keys: on loopback.


@pytest.fixture
def local(settings: Settings) -> Iterator[TestClient]:
    named = settings.model_copy(update={"hosts": ["localhost"]})
    app = create_app(named, is_local=True)
    with local_client(app, raise_server_exceptions=False) as made:
        yield made


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_on_loopback_a_host_is_a_loopback_name(local: TestClient) -> None:
    ours = ("127.0.0.1:8000", "localhost", "[::1]:8000", "127.8.9.1")
    foreign = (
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8000",
        "user@evil.example",
        "",
    )
    expected = dict.fromkeys(ours, 200) | dict.fromkeys(foreign, 421)

    asked = {one: local.get("/models", headers={"Host": one}) for one in expected}

    assert {host: one.status_code for host, one in asked.items()} == expected


def test_probes_know_a_process_by_its_address(local: TestClient) -> None:
    asked = local.get("/livez", headers={"Host": "10.1.2.3:8000"})

    assert asked.status_code == 200


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_page_of_another_origin_changes_nothing(
    local: TestClient, method: str
) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9999", "http://"):
        asked = local.request(method, "/models/mdl_1", headers={"Origin": origin})

        assert asked.status_code == 403, origin
        assert asked.json()["type"] == "/problems/foreign-origin"


def test_a_page_of_ours_may(local: TestClient) -> None:
    raw = json.dumps(model_json(clinic(), "clinic"))
    ours = {"Origin": "http://127.0.0.1", "Content-Type": "application/json"}

    assert local.post("/models", content=raw, headers=ours).status_code == 201


def test_pages_of_named_origins_may_by_cors(settings: Settings) -> None:
    named = settings.model_copy(update={"origins": ["https://clinic.example"]})
    wanted = {
        "Origin": "https://clinic.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    with local_client(create_app(named, is_local=True)) as client:
        allowed = client.options("/predict", headers=wanted)
        refused = client.options(
            "/predict", headers=wanted | {"Origin": "https://evil.example"}
        )
        posted = client.post(
            "/predict", json={}, headers={"Origin": "https://clinic.example"}
        )

    allowed_origin = "access-control-allow-origin"
    assert allowed.headers[allowed_origin] == "https://clinic.example"
    assert allowed_origin not in refused.headers
    assert posted.status_code == 422


def test_cors_is_off(local: TestClient) -> None:
    asked = local.get("/models", headers={"Origin": "https://evil.example"})

    assert "access-control-allow-origin" not in asked.headers


def test_keys_are_not_asked_for_on_loopback_alone(tmp_path: Any) -> None:
    plain = Settings(home=tmp_path)
    named = Settings(home=tmp_path, hosts=["askless.example"])

    assert not plain.must_ask(is_local=True)
    assert plain.must_ask(is_local=False)
    assert Settings(home=tmp_path, authentication=True).must_ask(is_local=True)
    # Behind a proxy that passes on its own name it is served to others.
    assert named.must_ask(is_local=True)


def test_a_key_on_loopback_is_its_tenants(local: TestClient, engine: sa.Engine) -> None:
    with transaction(engine, None) as db:
        tenant_id = keys.get_or_create_tenant(db, "other", NOW)
    with transaction(engine, tenant_id) as db:
        token = keys.create(db, keys.Wish("k"), NOW).token
    local.post("/models", json=model_json(clinic(), "clinic"))

    ours = local.get("/models").json()["items"]
    theirs = local.get("/models", headers={"Authorization": f"Bearer {token}"}).json()

    assert len(ours) == 1
    assert theirs["items"] == []


def test_the_first_key_is_made_once(engine: sa.Engine) -> None:
    made = []
    for _ in range(2):
        with transaction(engine, DEFAULT_TENANT) as db:
            made.append(keys.bootstrap(db, NOW))

    assert made[0] is not None
    assert made[0].key.scopes == keys.SCOPES
    assert made[1] is None


# Limits of keys.


def test_a_table_has_at_most_a_keys_rows_and_columns(
    client: TestClient, key: Make, table: bytes
) -> None:
    headers = key(limits={"rows": 39, "columns": 2})

    asked = client.post("/datasets", headers=headers, **form(table))

    assert asked.status_code == 422
    assert [one["field"] for one in asked.json()["errors"]] == ["table", "table"]
    assert client.get("/datasets", headers=headers).json()["items"] == []


def test_datasets_together_have_at_most_a_keys_bytes(
    client: TestClient, key: Make, table: bytes
) -> None:
    headers = key(limits={"dataset_bytes": 2 * len(table)})

    asked = [client.post("/datasets", headers=headers, **form(table)) for _ in "abc"]

    assert [one.status_code for one in asked] == [201, 201, 409]
    assert asked[-1].json()["type"] == "/problems/limit-reached"
    assert "dataset_bytes" in asked[-1].json()["detail"]
    assert client.post("/datasets", headers=key(), **form(table)).status_code == 201


@pytest.mark.parametrize("params", [{"rounds": 10}, {"rounds": "auto"}, {}])
def test_a_spec_asks_for_at_most_a_keys_rounds(
    client: TestClient, key: Make, table: bytes, params: dict[str, Any]
) -> None:
    headers = key(limits={"rounds": 9})
    spec = {"target": "disease", "algorithm": "adaboost_bt_smoothed", "params": params}

    asked = client.post("/train", headers=headers, **form(table, spec))

    assert asked.status_code == 422
    assert asked.json()["errors"][0]["field"] == "params.rounds"
    assert client.get("/datasets", headers=headers).json()["items"] == []


def test_at_most_a_keys_trainings_are_in_progress(
    client: TestClient, key: Make, table: bytes, spec: dict[str, Any]
) -> None:
    headers = key(limits={"trainings": 1})

    first = client.post("/train", headers=headers, **form(table, spec))
    second = client.post("/train", headers=headers, **form(table, spec))
    client.post(f"/train/{first.json()['id']}/cancel", headers=headers)
    third = client.post("/train", headers=headers, **form(table, spec))

    assert [one.status_code for one in (first, second, third)] == [202, 409, 202]


def test_at_most_a_keys_sessions_are_open(client: TestClient, key: Make) -> None:
    headers = key(limits={"sessions": 2})
    model = model_json(clinic(), "clinic")
    client.post("/models", headers=headers, json=model)

    def start() -> Any:
        body = {"model": "clinic", "budget": 9}
        return client.post("/predict", headers=headers, json=body)

    first, second, third = start(), start(), start()
    client.post(f"/predict/{first.json()['id']}/stop", headers=headers)
    fourth = start()

    found = [one.status_code for one in (first, second, third, fourth)]
    assert found == [201, 201, 409, 201]


def test_sessions_that_expired_are_not_open(
    app: FastAPI, client: TestClient, key: Make
) -> None:
    headers = key(limits={"sessions": 2})
    client.post("/models", headers=headers, json=model_json(clinic(), "clinic"))
    now = datetime.now(UTC)

    def start(days: float, *answers: dict[str, Any]) -> int:
        app.state.clock = lambda: now + timedelta(days=days)
        body = {"model": "clinic", "budget": 9}
        made = client.post("/predict", headers=headers, json=body)
        path = f"/predict/{made.json().get('id')}/answers"
        for one in answers:
            given = client.post(path, headers=headers, json={"answers": [one]})
            assert given.status_code == 200
        return made.status_code

    # The first one waits, once it has expired, for 90 days.
    found = [start(0, {"feature": "age", "outcome": "ordered"})]
    found += [start(days) for days in (0, 1, 8, 8, 98, 98, 98)]

    assert found == [201, 201, 409, 201, 409, 201, 201, 409]


def test_sessions_started_at_once_pass_no_limit_together(
    client: TestClient, engine: sa.Engine, key: Make
) -> None:
    key_id = key()["X-Key"]
    caller = Caller(DEFAULT_TENANT, key_id, frozenset(), Limits(sessions=1))
    client.post("/models", headers=key(), json=model_json(clinic(), "clinic"))
    wanted = PredictRequest(model="clinic", budget=None)
    at, loaded = Moment(datetime.now(UTC), *[timedelta(1)] * 2), LoadedModels()
    is_over = Event()

    def start(wait_s: float) -> None:
        with transaction(engine, DEFAULT_TENANT, caller=caller) as db:
            sessions.start(db, loaded, wanted, 0, at)
            is_over.wait(wait_s)
        is_over.set()

    with ThreadPoolExecutor(2) as pool:
        started = [pool.submit(start, 0.3) for _ in "ab"]

    assert sorted(type(one.exception()).__name__ for one in started) == [
        "LimitError",
        "NoneType",
    ]
