"""Keys, scopes and tenants at the door of FHIR: as over /predict."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from askless.app.settings.settings import Settings
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


def test_key_without_the_scope_is_forbidden(
    client: TestClient, key: Make, put_for: Make
) -> None:
    put_for(key())
    reader = key("predict:read")

    assert client.get("/fhir/metadata").status_code == 200
    assert kind_of(post(client, first("clinic"), headers=reader)) == (403, "forbidden")
    shown = client.get("/fhir/Questionnaire/clinic", headers=reader)
    assert shown.status_code == 200


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
