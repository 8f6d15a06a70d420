"""Jobs over HTTP: whole tables predicted and measured, as the command line does."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient

from askless.app.service.jobs import queue
from askless.app.worker.errands import Errands
from tests.app.clinic import Json, Train
from tests.app.jobs import Jobs, now
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

LATER = datetime.max.replace(tzinfo=UTC)
Order = Callable[..., Json]


@pytest.fixture
def model(train: Train, table: bytes, spec: Json) -> str:
    return train(table, spec)


@pytest.fixture
def order(client: TestClient, model: str, table: bytes) -> Order:
    """Order a job with an upload, and return it as it was stored."""

    def send(kind: str, **raw: Any) -> Json:
        data = {"order": json.dumps(raw)}
        made = client.post(
            f"/models/{model}/{kind}", files={"dataset": ("t.csv", table)}, data=data
        )
        assert made.status_code == 202, made.text
        assert made.headers["Location"] == f"/jobs/{made.json()['id']}"
        job: Json = made.json()
        return job

    return send


@pytest.fixture
def files(client: TestClient, model: str, table: bytes, tmp_path: Path) -> Path:
    """The same model and table for the command line."""
    (tmp_path / "MODEL.json").write_text(client.get(f"/models/{model}/export").text)
    (tmp_path / "t.csv").write_bytes(table)
    return tmp_path


def test_predictions_are_those_of_the_command_line(
    client: TestClient, jobs: Jobs, order: Order, files: Path, run: Any
) -> None:
    job = order("predict", budgets=[1, None], keep=["chol"])
    assert (job["kind"], job["state"], job["result"]) == ("predict", "queued", None)

    assert jobs.worker().work() == "succeeded"

    ended = client.get(f"/jobs/{job['id']}").json()
    assert ended["result"] == {
        "rows": 80,
        "formats": ["csv", "parquet"],
        # Jobs that learn make a model.
        "model_id": None,
    }
    assert (ended["state"], ended["progress"]) == ("succeeded", 1.0)
    options = ("--budget", "1,inf", "--keep", "chol", "-o", "-")
    done = run("predict", files / "MODEL.json", files / "t.csv", *options)
    told = client.get(f"/jobs/{job['id']}/result")
    assert told.text == done.out
    assert told.headers["content-type"].startswith("text/csv")
    held = client.get(f"/jobs/{job['id']}/result?format=parquet").content
    assert pyarrow.parquet.read_table(BytesIO(held)).num_rows == 80
    assert client.get("/ledger").json()["items"] == []


def test_kept_text_is_no_formula_unless_it_is_asked_for_raw(
    client: TestClient, jobs: Jobs, model: str, table: bytes
) -> None:
    head, *rows = table.decode().splitlines()
    lines = [f"{head},note", *(f"{row},=1+{at}" for at, row in enumerate(rows))]
    sent = {"dataset": ("t.csv", "\n".join(lines).encode())}
    data = {"order": json.dumps({"budgets": [1], "keep": ["note"]})}
    job = client.post(f"/models/{model}/predict", files=sent, data=data).json()
    assert jobs.worker().work() == "succeeded"
    quoted = client.get(f"/jobs/{job['id']}/result").text.splitlines()
    raw = client.get(f"/jobs/{job['id']}/result?raw=true").text.splitlines()

    assert (quoted[1][:5], raw[1][:4]) == ("'=1+0", "=1+0")
    assert len(quoted) == len(raw)


def test_figures_are_those_of_the_command_line(
    client: TestClient, jobs: Jobs, order: Order, files: Path, run: Any
) -> None:
    job = order("evaluate", budgets=[0, 1, None], disagreement=0.1)

    assert jobs.worker().work() == "succeeded"

    options = ("--budgets", "0,1,inf", "--disagreement", "0.1", "--json")
    done = run("evaluate", files / "MODEL.json", files / "t.csv", *options)
    address = f"/jobs/{job['id']}/result"
    assert client.get(address).json() == json.loads(done.out)
    lines = client.get(f"{address}?format=csv").text.splitlines()
    assert lines[0].startswith("budget,error,error_calibrated,mean_spend,max_spend")
    assert len(lines) == 4


def test_stored_table_is_predicted_under_its_own_budgets(
    client: TestClient, jobs: Jobs, model: str
) -> None:
    table = b"age,chol,most\n30,5,0\n40,6,1\n50,7,inf\n"
    made = client.post("/datasets", files={"dataset": ("t.csv", table)}).json()
    body = {"dataset_id": made["id"], "budget_from": "most"}

    job = client.post(f"/models/{model}/predict", json=body).json()
    jobs.worker().work()

    lines = client.get(f"/jobs/{job['id']}/result").text.splitlines()
    assert [line.split(",")[0] for line in lines] == ["budget", "0", "1", "inf"]
    assert job["order"] == {"budget_from": "most"}


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", ["predict", "evaluate"])
def test_row_groups_of_an_upload_change_no_byte(
    client: TestClient, jobs: Jobs, order: Order, model: str, table: bytes, kind: str
) -> None:
    whole = order(kind, budgets=[1, None])
    jobs.worker().work()
    upload = BytesIO()
    read = pyarrow.csv.read_csv(BytesIO(table))
    pyarrow.parquet.write_table(read, upload, row_group_size=7)
    body = client.post("/datasets", files={"dataset": ("t", upload.getvalue())}).json()

    raw = {"dataset_id": body["id"], "budgets": [1, None]}
    parted = client.post(f"/models/{model}/{kind}", json=raw).json()
    jobs.worker().work()

    expected, found = (
        client.get(f"/jobs/{job['id']}/result").content for job in (whole, parted)
    )
    assert found == expected
    assert found


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_wrong_order_is_refused_by_field(
    client: TestClient, model: str, table: bytes
) -> None:
    for kind, raw, field in [
        ("predict", {}, "budgets"),
        ("predict", {"budgets": [1], "budget_from": "age"}, "budgets"),
        ("predict", {"budgets": []}, "budgets"),
        ("predict", {"budgets": [-1]}, "budgets[0]"),
        ("predict", {"budgets": [True]}, "budgets[0]"),
        ("predict", {"budgets": [1], "keep": ["chl"]}, "keep"),
        ("predict", {"budget_from": "none"}, "budget_from"),
        ("predict", {"budgets": [1], "aim": {"mean_budget": 1}}, "aim"),
        ("predict", {"budgets": [1], "policy": "panels"}, "policy"),
        ("predict", {"budgets": [1], "bugdet": 1}, "bugdet"),
        ("evaluate", {"threshold": 2}, "threshold"),
        ("evaluate", {"weight": "none"}, "weight"),
        ("evaluate", {"aims": [{"wanted_error": 0.1}]}, "aims[0]"),
        ("evaluate", [], "order"),
    ]:
        parts = {
            "files": {"dataset": ("t.csv", table)},
            "data": {"order": json.dumps(raw)},
        }

        answer = client.post(f"/models/{model}/{kind}", **parts)  # type: ignore[arg-type]

        assert answer.status_code == 422, answer.text
        assert [error["field"] for error in answer.json()["errors"]] == [field]
        assert client.get("/jobs").json()["items"] == []


def test_job_is_no_training_and_has_a_life_of_its_own(
    client: TestClient, jobs: Jobs, order: Order, model: str
) -> None:
    first, second = (order("predict", budgets=[1])["id"] for _ in range(2))

    assert client.get(f"/train/{first}").status_code == 404
    assert client.post(f"/train/{first}/cancel").status_code == 404
    assert first not in client.get("/train").text
    listed = [item["id"] for item in client.get("/jobs").json()["items"]]
    assert listed == [second, first]
    assert client.get(f"/jobs/{first}/result").status_code == 409
    assert client.delete(f"/jobs/{first}").status_code == 409
    assert client.post(f"/jobs/{first}/cancel").json()["state"] == "cancelled"
    assert client.post(f"/jobs/{first}/cancel").status_code == 409
    assert client.delete(f"/models/{model}").status_code == 204
    # The other one's model is gone by now.
    assert jobs.worker().work() == "failed"
    error = client.get(f"/jobs/{second}").json()["error"]
    assert error["errors"][0]["field"] == "model"
    text = client.get(f"/jobs/{second}/events").text
    assert text.index("event: running") < text.index("event: failed")


def test_result_goes_with_its_job_and_not_before(
    client: TestClient, jobs: Jobs, order: Order
) -> None:
    job = order("predict", budgets=[1])
    jobs.worker().work()
    names = {f"{job['id']}.{format_name}" for format_name in ("csv", "parquet")}
    for name in names:
        os.utime(f"{jobs.blobs.root}/{name}", (1, 1))
    Errands(jobs.engine, jobs.blobs, jobs.settings).remove_orphans()
    assert names < set(jobs.blobs.names(before=LATER))
    unknown = client.get(f"/jobs/{job['id']}/result?format=xml").json()
    assert unknown["errors"][0]["field"] == "format"

    assert client.delete(f"/jobs/{job['id']}").status_code == 204

    assert client.get(f"/jobs/{job['id']}").status_code == 404
    assert not names & set(jobs.blobs.names(before=LATER))
    assert client.get(f"/datasets/{job['dataset_id']}").status_code == 200


def test_lost_job_is_computed_again(
    client: TestClient, jobs: Jobs, order: Order
) -> None:
    job = order("predict", budgets=[1])
    with transaction(jobs.engine) as db:
        assert queue.claim(db, "wrk_dead", now()) is not None
    assert jobs.sweep() == [(job["id"], "queued")]

    assert jobs.worker().work() == "succeeded"

    assert client.get(f"/jobs/{job['id']}").json()["result"]["rows"] == 40
