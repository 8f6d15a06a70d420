"""Keys, scopes and tenants at the door of FHIR: as over /predict."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.settings.settings import Settings
from askless.app.store import keys
from askless.app.store.database.engine import transaction
from tests.app.clinic import Make, clinic, model_json
from tests.app.doors.fhir.filler import asked, first, post, said, validated, with_answer
from tests.kept import Applications

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]
DOORS = ["fhir"]


@pytest.fixture
def client(settings: Settings, applications: Applications) -> Iterator[TestClient]:
    app = applications.find(settings, is_local=False)
    with applications.client(app, "http://askless.test") as made:
        yield made


@pytest.fixture
def put_for(client: TestClient) -> Make:
    def put(headers: dict[str, str]) -> str:
        raw = model_json(clinic(), "clinic")
        response = client.post("/models?as_version=true", json=raw, headers=headers)
        return str(response.json()["id"])

    return put


def kind_of(response: object) -> tuple[int, str]:
    outcome = validated(response)
    return response.status_code, outcome["issue"][0]["code"]  # type: ignore[attr-defined]


def test_call_without_a_valid_key_is_told_to_log_in(client: TestClient) -> None:
    sent = first("clinic")

    assert kind_of(post(client, sent)) == (401, "login")
    wrong = {"Authorization": "Bearer askl_000000000000_wrong"}
    assert kind_of(post(client, sent, headers=wrong)) == (401, "login")
    assert kind_of(client.get("/fhir/Questionnaire/clinic")) == (401, "login")
    assert client.get("/fhir/metadata").status_code == 200


def test_key_without_the_scope_is_forbidden(
    client: TestClient, key: Make, put_for: Make
) -> None:
    put_for(key())
    reader = key("predict:read")

    assert kind_of(post(client, first("clinic"), headers=reader)) == (403, "forbidden")
    shown = client.get("/fhir/Questionnaire/clinic", headers=reader)
    assert shown.status_code == 200


def test_expired_key_is_told_to_log_in_and_charges_nothing(
    client: TestClient, key: Make, put_for: Make, engine: sa.Engine
) -> None:
    ours = key()
    put_for(ours)
    soon = key(expires_at=datetime.now(UTC) + timedelta(hours=1))
    form = post(client, first("clinic", 60), headers=soon).json()
    past = datetime.now(UTC) - timedelta(hours=1)
    with transaction(engine, None) as db:
        change = sa.update(keys.keys).where(keys.keys.c.id == soon["X-Key"])
        db.execute(change.values(expires_at=past))
    client.app.state.guard.cached_keys.clear()  # type: ignore[attr-defined]

    sent = with_answer(form, asked(form) or {}, 63)
    assert kind_of(post(client, sent, headers=soon)) == (401, "login")

    path = f"/predict/{said(form, 'session')}"
    assert client.get(path, headers=ours).json()["budget"]["spent"] == 0


def test_other_tenants_case_is_not_found_and_not_charged(
    client: TestClient, key: Make, put_for: Make
) -> None:
    ours, theirs = key(), key(tenant="theirs")
    put_for(ours)
    put_for(theirs)
    form = post(client, first("clinic", 60), headers=ours).json()
    sent = with_answer(form, asked(form) or {}, 63)

    assert kind_of(post(client, sent, headers=theirs)) == (404, "not-found")
    assert kind_of(post(client, form, headers=theirs)) == (404, "not-found")

    session = client.get(f"/predict/{said(form, 'session')}", headers=ours).json()
    assert (session["budget"]["spent"], session["version"]) == (0, 1)
    assert client.get("/predict", headers=theirs).json()["items"] == []


def test_other_tenants_model_is_not_found(
    client: TestClient, key: Make, put_for: Make
) -> None:
    model = put_for(key())
    theirs = key(tenant="theirs")

    for name in (model, "clinic"):
        assert kind_of(post(client, first(name), headers=theirs)) == (404, "not-found")
        shown = client.get(f"/fhir/Questionnaire/{name}", headers=theirs)
        assert kind_of(shown) == (404, "not-found")
