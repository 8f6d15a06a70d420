"""Who may come in by each door: refused once per entrance, in the door's own form."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.settings.settings import Settings
from askless.app.store import keys
from askless.app.store.database.engine import transaction
from tests.app.clinic import Json, Make, clinic, model_json
from tests.app.doors.agents import Agent
from tests.app.doors.fhir.filler import (
    MEDIA_TYPE,
    first,
    said,
    validated,
    with_answer,
)
from tests.app.doors.openings import INFER, inputs
from tests.kept import Applications

pytest_plugins = ["tests.app.conftest_keys"]
DOORS = ["inference", "mcp", "fhir", "cds"]
NEXT = "/fhir/Questionnaire/$next-question"
AGE = {"linkId": "age", "type": "decimal"}


class Entrance(NamedTuple):
    """How a door is called, and the form of its refusals."""

    method: str
    path: str
    #: where bodies go
    posts_to: str
    check: Callable[[Any], None]
    message: Any = None
    headers: dict[str, str] = {}  # noqa: RUF012  # not changed

    def call(self, client: TestClient, **headers: str) -> Any:
        headers = self.headers | headers
        return client.request(
            self.method, self.path, json=self.message, headers=headers
        )


def check_mcp(response: Any) -> None:
    is_unknown = response.status_code == 401
    assert (response.json().get("error") == "invalid_token") == is_unknown


def check_inference(response: Any) -> None:
    assert response.headers["content-type"] == "application/json"
    assert list(response.json()) == ["error"]


def check_fhir(response: Any) -> None:
    assert validated(response)["resourceType"] == "OperationOutcome"


def check_cds(response: Any) -> None:
    assert response.headers["content-type"] == "application/problem+json"


AGENT_HEADERS, AGENT_MESSAGE = Agent(print).message("tools/list", {})
ENTRANCES = {
    "mcp": Entrance("POST", "/mcp", "/mcp", check_mcp, AGENT_MESSAGE, AGENT_HEADERS),
    "inference": Entrance("GET", "/v2/models/clinic", INFER, check_inference),
    "fhir": Entrance(
        "GET",
        "/fhir/Questionnaire/clinic",
        NEXT,
        check_fhir,
        headers={"content-type": MEDIA_TYPE},
    ),
    "cds": Entrance(
        "GET", "/cds-services", "/cds-services/clinic.patient-view", check_cds
    ),
}
each_door = pytest.mark.parametrize("door", ENTRANCES.values(), ids=ENTRANCES)
pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"])


@pytest.fixture
def client(settings: Settings, applications: Applications) -> Any:
    """A caller of a service that asks for keys."""
    guarded = settings.model_copy(update={"authentication": True})
    app = applications.find(guarded, is_local=True)
    with applications.client(app, "http://127.0.0.1") as made:
        yield made


@each_door
def test_call_without_a_valid_key_is_refused(
    client: TestClient, door: Entrance, key: Make, engine: sa.Engine
) -> None:
    expired = key()
    with transaction(engine, None) as db:
        change = sa.update(keys.keys).where(keys.keys.c.id == expired["X-Key"])
        past = datetime.now(UTC) - timedelta(hours=1)
        db.execute(change.values(expires_at=past))
    for headers in (
        {},
        {"Authorization": "Bearer askl_1_x"},
        {"Authorization": "Basic eA=="},
        expired,
    ):
        response = door.call(client, **headers)

        assert response.status_code == 401, headers
        door.check(response)
        assert response.headers["www-authenticate"].startswith("Bearer")


@each_door
def test_too_many_requests_wait(client: TestClient, door: Entrance, key: Make) -> None:
    headers = key(limits={"requests_per_minute": 1})
    client.post("/models", json=model_json(clinic(), "clinic"), headers=key())

    first, second = door.call(client, **headers), door.call(client, **headers)

    assert (first.status_code, second.status_code) == (200, 429)
    door.check(second)
    assert int(second.headers["retry-after"]) > 0


@each_door
def test_what_outer_layers_refuse_has_the_doors_form(
    client: TestClient, door: Entrance, key: Make
) -> None:
    headers = door.headers | key()
    content = json.dumps({"x": "x" * 2_000_001}).encode()
    large = client.post(door.posts_to, content=content, headers=headers)
    foreign = door.call(client, Host="elsewhere.example", **key())
    wrong = client.delete(door.path, headers=headers)

    statuses = [response.status_code for response in (large, foreign, wrong)]
    assert statuses == [413, 421, 405]
    for response in (large, foreign, wrong):
        door.check(response)


class Call(NamedTuple):
    """A call that needs a scope, and its path and body; `form` is of a session."""

    door: str
    scope: str
    path: str
    body: Callable[[Json], Json | None]


CALLS = [
    Call("inference", "models:read", "/v2/models/clinic", lambda _: None),
    Call(
        *("inference", "predict:write", INFER),
        lambda _: {"parameters": {"budget": 20}, "inputs": inputs()},
    ),
    Call("fhir", "predict:read", "/fhir/Questionnaire/clinic", lambda _: None),
    Call("fhir", "predict:write", NEXT, lambda _: first("clinic")),
    Call("fhir", "predict:write", NEXT, lambda form: form),
    Call("fhir", "predict:write", NEXT, lambda form: with_answer(form, AGE, 63)),
]


@pytest.mark.parametrize("call", CALLS)
def test_call_needs_its_scope_and_finds_what_is_its_tenants(
    client: TestClient, key: Make, call: Call
) -> None:
    """Agents are refused by results of their calls: see test_mcp_callers."""
    door, ours = ENTRANCES[call.door], key()
    client.post("/models", json=model_json(clinic(), "clinic"), headers=ours)
    headers = {"content-type": MEDIA_TYPE}
    form = client.post(NEXT, json=first("clinic", 60), headers=headers | ours).json()
    body = call.body(form)
    method = "GET" if body is None else "POST"

    def send(caller: dict[str, str]) -> Any:
        more = door.headers | caller
        return client.request(method, call.path, json=body, headers=more)

    poor, foreign = send(key("ledger:read")), send(key(tenant="other"))
    untouched = client.get(f"/predict/{said(form, 'session')}", headers=ours).json()
    allowed = send(key(call.scope))

    statuses = poor.status_code, foreign.status_code, allowed.status_code
    assert statuses == (403, 404, 200)
    for refused in (poor, foreign):
        door.check(refused)
    assert (untouched["version"], untouched["budget"]["spent"]) == (1, 0)
    assert client.get("/fhir/metadata").status_code == 200
    assert client.get("/v2/health/live").status_code == 200
