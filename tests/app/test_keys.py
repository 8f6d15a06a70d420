"""Keys: who may call, what for and how often."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.http.plumbing import auth
from askless.app.main import OPEN
from askless.app.service import keys
from askless.app.settings.settings import Settings
from tests.app.clinic import Make, MakeApp, clinic, model_json
from tests.applications import openapi_document

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    """Served beyond loopback: keys are asked for."""
    return make_app(is_local=False)


@pytest.fixture(scope="module")
def routes() -> list[tuple[str, str]]:
    """Every method and address of the API."""
    paths = openapi_document()["paths"]
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
    with_scope = {scope: key(scope) for scope in keys.SCOPES}
    with_others = {scope: key(*{*keys.SCOPES} - {scope}) for scope in keys.SCOPES}
    paths = openapi_document()["paths"]
    for method, path in scoped(routes):
        address = path.replace("{id}", "mdl_1")
        ((scope,),) = (need["key"] for need in paths[path][method.lower()]["security"])
        is_open, is_closed = (
            client.request(method, address, headers=headers[scope]).status_code
            for headers in (with_scope, with_others)
        )

        assert scope.endswith("read" if method == "GET" else "write")
        assert is_open != 403, (method, path, scope)
        assert is_closed == 403, (method, path, scope)


def test_what_is_no_key_is_refused(client: TestClient, key: Make) -> None:
    token = key()["Authorization"].removeprefix("Bearer ")
    other_end = "a" if token[-1] != "a" else "b"
    for spoilt in (
        f"Bearer {token[:-1]}{other_end}",
        f"Bearer {token.replace('askl_', 'askl_0', 1)}",
        f"Bearer {token.replace('askl', 'test', 1)}",
        "Bearer askl__",
        "Bearer askl_' OR 1=1 --_x",
        f"Bearer askl_{'9' * 10_000}_x",
        "Bearer ",
        "Basic YTpi",
    ):
        asked = client.get("/models", headers={"Authorization": spoilt})

        assert asked.status_code == 401, spoilt
        assert asked.json()["type"] == "/problems/unauthorized"


def test_a_key_that_has_expired_is_refused(client: TestClient, key: Make) -> None:
    soon = datetime.now(UTC) + timedelta(milliseconds=30)
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
    names = [feature["name"] for feature in document["features"]]
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

    assert made.json()["limits"] == {"rounds": Settings().limits.rounds}


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

    assert [response.status_code for response in asked] == [200, 200, 200, 429, 429]
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
