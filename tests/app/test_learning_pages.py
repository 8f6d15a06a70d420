"""Pages by which a model goes on learning: the form, its refusals, what came of it."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.app.clinic import Train
from tests.app.jobs import Jobs
from tests.app.learners import SPEC, as_csv, make_rows
from tests.pages.site import token_of

pytest_plugins = ["tests.app.conftest_http"]
pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


@pytest.fixture
def model(train: Train) -> str:
    return train(as_csv(make_rows(60)), SPEC)


def send(client: TestClient, model: str, content: bytes | None) -> Any:
    address = f"/ui/models/{model}/learn"
    files = {} if content is None else {"dataset": ("more.csv", content)}
    data = {"form_token": token_of(client.get(address).text)}
    return client.post(address, data=data, files=files, follow_redirects=False)


def test_rows_are_learnt_by_a_form_and_the_result_is_shown(
    client: TestClient, jobs: Jobs, model: str
) -> None:
    page = client.get(f"/ui/models/{model}").text
    assert f"/ui/models/{model}/learn" in page

    sent = send(client, model, as_csv(make_rows(20)))

    assert sent.status_code == 303, sent.text
    waiting = client.get(sent.headers["location"]).text
    assert "wait for a worker" in waiting
    assert jobs.worker().work() == "succeeded"
    shown = client.get(sent.headers["location"]).text
    assert "The rows are learnt." in shown
    assert re.search(r"20 rows, .* predicted wrongly before they were", shown)
    made = client.get("/models/signs@2").json()["id"]
    assert f"/ui/models/{made}" in shown
    new = client.get(f"/ui/models/{made}").text
    assert "Learnt since" in new
    assert re.search(r"; sessions of late .* under no limit", new)
    assert "by learning from more rows" in new
    assert "It has no curve" in new
    client.delete(f"/models/{made}")
    assert "deleted since" in client.get(sent.headers["location"]).text


def test_wrong_rows_are_refused_at_the_field(client: TestClient, model: str) -> None:
    unknown = send(client, model, b"a,hue,y\n1,red,no\n")
    missing = send(client, model, None)

    assert (unknown.status_code, missing.status_code) == (422, 422)
    assert "column hue: must be a feature" in unknown.text
    assert "must be chosen, or dropped here" in missing.text
    assert client.get("/jobs").json()["items"] == []


def test_second_form_waits_for_the_first(client: TestClient, model: str) -> None:
    assert send(client, model, as_csv(make_rows(3))).status_code == 303

    second = send(client, model, as_csv(make_rows(3)))

    assert second.status_code == 409
    assert "Another job is learning" in second.text


def test_model_that_cannot_learn_has_no_form(client: TestClient, train: Train) -> None:
    fixed = train(as_csv(make_rows(60)), SPEC | {"algorithm": "adaboost"})

    page = client.get(f"/ui/models/{fixed}/learn").text

    assert "algorithm &#34;online&#34;" in page
    assert "<input id=" not in page
    assert f"/ui/models/{fixed}/learn" not in client.get(f"/ui/models/{fixed}").text


def test_job_of_another_kind_is_not_shown(
    client: TestClient, jobs: Jobs, model: str
) -> None:
    del jobs
    order = {"order": '{"budgets": [1]}'}
    files = {"dataset": ("t.csv", as_csv(make_rows(3)))}
    job = client.post(f"/models/{model}/predict", data=order, files=files).json()

    assert client.get(f"/ui/models/{model}/learn/{job['id']}").status_code == 404
