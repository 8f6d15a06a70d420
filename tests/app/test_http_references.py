"""Datasets that stay where they are: named, trained on, and never touched."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.main import create_app
from askless.app.service import datasets
from askless.app.settings.settings import Settings
from askless.app.uploads.parsing import make_reader, record_linked_table
from askless.app.worker.computing import utc_now
from tests.app.jobs import Jobs, noisy_spec, noisy_table, undisturbed
from tests.app.object_store import ObjectStore, serve_objects
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

Json = dict[str, Any]
SPEC = noisy_spec(5)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    rows = pyarrow.csv.read_csv(io.BytesIO(noisy_table()))
    pyarrow.parquet.write_table(rows.slice(0, 70), folder / "1.parquet")
    pyarrow.parquet.write_table(rows.slice(70), folder / "2.parquet")
    return folder


@pytest.fixture
def settings(database_url: str, tmp_path: Path, place: Path) -> Settings:
    return Settings(
        home=tmp_path,
        database_url=database_url,
        dataset_places=[f"file://{place}", "s3://clinic/visits"],
    )


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    return create_app(settings, is_local=True)


def refer(client: TestClient, place: Path, **more: Any) -> Json:
    response = client.post("/datasets", json={"url": f"file://{place}", **more})
    assert response.status_code == 201, response.text
    made: Json = response.json()
    return made


def start(client: TestClient, dataset_id: str, **more: Any) -> Json:
    response = client.post("/train", json={"dataset_id": dataset_id, **SPEC, **more})
    assert response.status_code == 202, response.text
    made: Json = response.json()
    return made


def test_a_folder_is_named_and_shown(client: TestClient, place: Path) -> None:
    made = refer(client, place)

    assert made["url"] == f"file://{place}"
    assert (made["name"], made["n_rows"]) == ("tables", 120)
    assert made["columns"] == ["a", "b", "c", "y"]
    assert made["n_bytes"] == sum(path.stat().st_size for path in place.iterdir())
    assert client.get(f"/datasets/{made['id']}").json() == made
    assert client.get("/datasets").json()["items"] == [made]
    assert refer(client, place, name="visits")["name"] == "visits"


def test_the_model_is_the_one_of_an_upload(
    client: TestClient, jobs: Jobs, place: Path
) -> None:
    started = start(client, refer(client, place)["id"])

    jobs.worker().work()

    assert client.get(f"/train/{started['id']}").json()["state"] == "succeeded"
    assert jobs.document(started["id"]) == undisturbed(noisy_table(), SPEC)


def test_deleting_one_leaves_its_files(client: TestClient, place: Path) -> None:
    made = refer(client, place)

    deleted = client.delete(f"/datasets/{made['id']}")

    assert deleted.status_code == 204
    assert client.get(f"/datasets/{made['id']}").status_code == 404
    assert len(list(place.iterdir())) == 2


def test_files_that_have_changed_fail_the_training_by_their_name(
    client: TestClient, jobs: Jobs, place: Path
) -> None:
    started = start(client, refer(client, place)["id"])
    pyarrow.parquet.write_table(pa.table({"a": [1]}), place / "2.parquet")

    jobs.worker().work()

    error = client.get(f"/train/{started['id']}").json()["error"]
    assert error["type"] == "/problems/invalid-request"
    assert [problem["field"] for problem in error["errors"]] == ["table 2.parquet"]
    assert "must be what it was when the dataset was stored" in str(error["errors"])


def test_a_place_that_is_allowed_no_more_fails_the_training(
    client: TestClient, jobs: Jobs, place: Path
) -> None:
    started = start(client, refer(client, place)["id"])

    jobs.worker(dataset_places=[]).work()

    error = client.get(f"/train/{started['id']}").json()["error"]
    assert "ASKLESS_DATASET_PLACES" in str(error["errors"])


def test_cells_are_judged_by_the_worker(
    client: TestClient, jobs: Jobs, place: Path
) -> None:
    made = refer(client, place)
    typed = {"features": [{"name": "a", "cost": 1, "type": "boolean"}]}
    started = start(client, made["id"], **typed)

    jobs.worker().work()

    error = client.get(f"/train/{started['id']}").json()["error"]
    assert [problem["field"] for problem in error["errors"]] == ["column a"]


def test_a_spec_is_judged_by_names_at_once(client: TestClient, place: Path) -> None:
    made = refer(client, place)
    wrong = {"features": [{"name": "nobody", "cost": 1}], "target": "z", "params": {}}

    refused = client.post("/train", json={"dataset_id": made["id"], **SPEC, **wrong})
    judged = client.post(
        "/train?validate_only=true", json={"dataset_id": made["id"], **SPEC}
    )

    assert refused.status_code == 422
    fields = {error["field"] for error in refused.json()["errors"]}
    assert fields == {"target", "features"}
    assert judged.json() == {
        **{"valid": True, "errors": [], "warnings": [], "rows": 120},
        **{"features": ["a", "b", "c"], "classes": []},
    }


def test_what_is_no_table_of_an_allowed_place_is_refused(
    client: TestClient, place: Path
) -> None:
    for body, words in [
        ({"url": "file:///etc/passwd"}, "ASKLESS_DATASET_PLACES"),
        ({"url": "s3://clinic/visits?endpoint_override=evil"}, "of names alone"),
        ({"url": "file://{place}/../x"}, "of names alone"),
        ({"url": "file://{place}/none.parquet"}, "must be a place that can be read"),
        ({"url": "file://{place}/*.csv"}, "must hold a Parquet file"),
        ({"url": 3}, "must be a string"),
        ({}, "is required"),
        ({"url": "file://{place}", "more": 1}, "more"),
        ([], "must be an object"),
    ]:
        if isinstance(body, dict) and isinstance(body.get("url"), str):
            body = {**body, "url": body["url"].format(place=place)}

        response = client.post("/datasets", json=body)

        assert response.status_code == 422, response.text
        assert words in response.text
        assert client.get("/datasets").json()["items"] == []


def test_a_truncated_footer_is_refused_by_the_files_name(
    client: TestClient, place: Path
) -> None:
    file = place / "2.parquet"
    file.write_bytes(file.read_bytes()[:-9])

    response = client.post("/datasets", json={"url": f"file://{place}"})

    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == [
        "table 2.parquet"
    ]


def test_a_model_is_applied_as_to_an_upload_by_orders_that_fit(
    client: TestClient, jobs: Jobs, place: Path
) -> None:
    made = refer(client, place)
    started = start(client, made["id"])
    jobs.worker().work()
    model_id = client.get(f"/train/{started['id']}").json()["model_id"]
    files = {"dataset": ("t.csv", noisy_table())}
    upload = client.post("/datasets", files=files).json()["id"]

    for kind, order in [("predict", {"budgets": [1]}), ("evaluate", {"budgets": [2]})]:
        results = []
        for dataset_id in (made["id"], upload):
            body = {"dataset_id": dataset_id, **order}
            job = client.post(f"/models/{model_id}/{kind}", json=body).json()["id"]
            assert jobs.worker().work() == "succeeded"
            results.append(client.get(f"/jobs/{job}/result?format=csv").content)

        assert results[0] == results[1]

    # Names of an order are judged at once.
    for kind, order, field in [
        ("predict", {"budgets": [1], "keep": ["nobody"]}, "keep"),
        ("evaluate", {"group_by": "nobody"}, "group_by"),
    ]:
        body = {"dataset_id": made["id"], **order}
        response = client.post(f"/models/{model_id}/{kind}", json=body)

        assert response.status_code == 422, response.text
        assert [error["field"] for error in response.json()["errors"]] == [field]


def test_pages_show_where_it_lies_and_draft_from_a_sample(
    client: TestClient, place: Path
) -> None:
    made = refer(client, place)
    page = f"/ui/datasets/{made['id']}"

    assert f"file://{place}" in client.get(page).text
    assert "stays where it is" in client.get(page).text
    assert f"file://{place}" in client.get("/ui/datasets").text
    assert "Its files stay where they are" in client.get(f"{page}/delete").text
    drafted = client.get(f"/ui/train/new?dataset={made['id']}&target=y")
    assert drafted.status_code == 200, drafted.text


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with serve_objects() as store:
        yield store


def test_a_table_in_a_bucket_is_trained_on(
    server: ObjectStore,
    monkeypatch: pytest.MonkeyPatch,
    client: TestClient,
    jobs: Jobs,
    settings: Settings,
) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    rows = pyarrow.csv.read_csv(io.BytesIO(noisy_table()))
    server.write("visits/1.parquet", rows, group=50)
    reader = make_reader(settings)
    url = "s3://clinic/visits/*.parquet"
    # Not by a child, whose variables are those of before this test.
    found = record_linked_table(io.BytesIO(), url, reader.places, reader.bounds)
    with transaction(jobs.engine) as db:
        made = datasets.store_link(db, datasets.Link("visits", found), utc_now())
    started = start(client, made.id)

    jobs.worker().work()

    assert jobs.document(started["id"]) == undisturbed(noisy_table(), SPEC)
