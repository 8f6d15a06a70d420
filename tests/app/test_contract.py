"""The OpenAPI document: valid, complete, stable, and its examples work."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pyarrow.csv
import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient

from askless.app.documents.http.datasets import DATASET_ID, EXAMPLE_URL
from askless.app.documents.words import MEANINGS
from askless.app.http.plumbing.contract import METHODS
from askless.app.problems import KINDS
from askless.app.records import StoredCall
from askless.app.settings.settings import Settings
from askless.app.store.buying import calls
from tests.app.clinic import Json
from tests.app.jobs import Jobs
from tests.app.tenants import transaction
from tests.applications import openapi_document

pytest_plugins = ["tests.app.conftest_http"]

DEMO = Path(__file__).resolve().parents[2] / "app" / "demo" / "heart.csv"
# Clients are generated from these names: none may go or change.
OPERATIONS = """
answer_session cancel_training change_session check_alive check_answers check_ready
create_key delete_dataset delete_model erase_session export_model follow_training
get_dataset get_key get_model get_model_curve get_model_monitor get_model_plan
get_outcome get_session get_training import_model list_charges list_datasets
list_keys list_models list_session_charges list_sessions list_trainings put_outcome
put_provider get_provider list_providers delete_provider test_provider list_calls
get_call read_metrics reverse_charge revoke_key start_session start_training
settle_call stop_session upload_dataset
"""


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    places = [f"file://{tmp_path}/tables"]
    (tmp_path / "FIRMO_KEY").write_text("s3cret")
    return Settings(
        home=tmp_path,
        database_url=database_url,
        dataset_places=places,
        secrets=tmp_path,
        provider_hosts=["api.example", "127.0.0.1:9"],
    )


@pytest.fixture
def document() -> Json:
    return openapi_document()


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method in METHODS:
                yield method, path, operation


def test_document_is_valid(document: Json) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator

    errors = OpenAPIV31SpecValidator(document).iter_errors()

    assert [str(error) for error in errors] == []


def test_operations_are_called_by_a_verb_and_what_it_concerns(document: Json) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]

    odd = [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+)+", name)]
    made = [name for name in names if re.search(r"_(get|post|put|patch|delete)$", name)]
    assert odd == made == []
    assert len(set(names)) == len(names)
    assert set(OPERATIONS.split()) - set(names) == set()


def test_each_status_has_its_schema_and_its_types_of_problems(document: Json) -> None:
    for method, path, operation in operations(document):
        for status, response in operation["responses"].items():
            place = (method, path, status)
            if status == "304":
                assert "content" not in response, place
                continue
            if status < "300":
                assert bool(response.get("content")) == (status != "204"), place
                continue
            name = response["$ref"].rpartition("/")[2]
            content = document["components"]["responses"][name]["content"]
            (told,) = content.values()
            assert set(content) == {"application/problem+json"}
            assert told["schema"] == {"$ref": "#/components/schemas/Problem"}
            statuses = {str(KINDS[kind].status) for kind in told["examples"]}
            assert statuses == {status}, place


def test_refusals_follow_from_what_a_call_takes(document: Json) -> None:
    found = {
        operation["operationId"]: set(operation["responses"])
        for *_, operation in operations(document)
    }

    always = {"500", "503"}
    assert found["check_alive"] >= {"200"} | always
    assert found["start_session"] >= {"201", "404", "413", "415", "422"} | always
    assert found["answer_session"] >= {"200", "404", "409", "412"} | always
    assert "412" in found["erase_session"] & found["delete_model"]
    assert "304" in found["get_session"] & found["get_model"] & found["export_model"]
    assert "404" not in found["list_models"]
    assert {"401", "403", "429"} <= found["list_models"]
    assert "401" not in found["check_ready"]
    limited = document["components"]["responses"]["TooManyRequests"]
    assert list(limited["headers"]) == ["Retry-After"]


def test_each_word_of_an_enumeration_is_told(document: Json) -> None:
    schemas = document["components"]["schemas"].values()

    for kind, meanings in MEANINGS.items():
        assert set(meanings) == set(get_args(kind))
        (schema,) = [
            schema for schema in schemas if schema.get("enum") == list(get_args(kind))
        ]
        assert all(f"`{word}`: " in schema["description"] for word in meanings)


def test_answers_may_come_to_say_more(document: Json) -> None:
    schemas = document["components"]["schemas"]

    assert "additionalProperties" not in schemas["Session"]
    assert schemas["PredictRequest"]["additionalProperties"] is False


def bodies_of(document: Json, operation: Json) -> Iterator[tuple[str, Any]]:
    """Yield the media type and each example of what an operation takes."""
    content = operation.get("requestBody", {}).get("content", {})
    for kind, part in content.items():
        schema = part["schema"]
        if kind == "multipart/form-data":
            parts = dict.fromkeys(schema["required"])
            for name in parts.keys() - {"dataset"}:
                schema = schema["properties"][name]
                (parts[name],) = resolved(document, schema)["examples"]
            yield kind, parts
            continue
        told = [example["value"] for example in part.get("examples", {}).values()]
        whole = resolved(document, schema)
        for example in told or whole.get("examples") or [smallest(whole)]:
            yield kind, example


def smallest(schema: Json) -> Json:
    """The example of an object that has none as a whole: of what it must have."""
    return {
        name: schema["properties"][name]["examples"][0] for name in schema["required"]
    }


def resolved(document: Json, schema: Json) -> Json:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Json = document["components"]["schemas"].get(name, schema)
    return found


class Demo:
    """A service with the demo's table and the model of the examples."""

    def __init__(self, client: TestClient, jobs: Jobs, spec: Json) -> None:
        self.client, self.jobs = client, jobs
        self.url = jobs.settings.dataset_places[0]
        file = Path(self.url.removeprefix("file://")) / "heart.parquet"
        file.parent.mkdir()
        pyarrow.parquet.write_table(pyarrow.csv.read_csv(DEMO), file)
        self.dataset = self.upload()
        quick = {"algorithm": "adaboost_bt_smoothed", "params": {"rounds": 20}}
        self.training = self.enqueue(spec | quick)
        jobs.worker().work()
        self.model = client.get(f"/train/{self.training}").json()["model_id"]
        self.spec, self.n_learners = spec, 0
        case = self.begin()
        client.post(f"/predict/{case}/stop")
        client.put(f"/predict/{case}/outcome", json={"label": "1"})

    def upload(self) -> str:
        files = {"dataset": ("heart.csv", DEMO.read_bytes())}
        return str(self.client.post("/datasets", files=files).json()["id"])

    def enqueue(self, spec: Json) -> str:
        body = spec | {"dataset_id": self.dataset}
        return str(self.client.post("/train", json=body).json()["id"])

    def copy(self) -> str:
        content = self.client.get(f"/models/{self.model}/export").json()
        return str(
            self.client.post("/models?as_version=true", json=content).json()["id"]
        )

    def make_learner(self) -> str:
        """A model that goes on learning; of one name one job learns at a time."""
        self.n_learners += 1
        more = {"algorithm": "online", "name": f"learner {self.n_learners}"}
        quick = {"params": {"rounds": 5}, "validation": {"folds": 0}}
        training = self.enqueue(self.spec | more | quick)
        while (found := self.client.get(f"/train/{training}").json())["state"] in (
            "queued",
            "running",
        ):
            self.jobs.worker().work()
        return str(found["model_id"])

    def make_key(self) -> str:
        wish = {"name": "k", "scopes": ["models:read"]}
        return str(self.client.post("/keys", json=wish).json()["id"])

    def put_provider(self) -> str:
        # Nobody listens there.
        request = {"url": "http://127.0.0.1:9/ages"}
        body = {"fills": "age", "request": request, "read": {"age": "age"}, "price": 1}
        return str(self.client.put("/providers/ages", json=body).json()["name"])

    def store_call(self) -> str:
        with transaction(self.jobs.engine) as db:
            call = StoredCall(
                *(calls.make_id(), None, "ages", 1, "settled", ("age",), 5, 5),
                *("CAD", "k" * 64, "2026-11-28", datetime.now(UTC)),
            )
            calls.insert(db, call)
        return call.id

    def begin(self) -> str:
        wish = {"model": self.model, "budget": 60}
        return str(self.client.post("/predict", json=wish).json()["id"])

    def order(self, *, is_done: bool) -> str:
        wish = {"dataset_id": self.dataset, "budgets": [1]}
        made = self.client.post(f"/models/{self.model}/predict", json=wish).json()["id"]
        while is_done and self.client.get(f"/jobs/{made}").json()["result"] is None:
            assert self.jobs.worker().work() == "succeeded"
        return str(made)

    def name(self, method: str, path: str) -> str:
        """The id of a thing that a call may have; one that ends is made for it."""
        noun = path.split("/")[1]
        is_last = method == "delete" or path.endswith("/cancel")
        if noun == "datasets":
            return self.upload() if is_last else self.dataset
        if noun == "train":
            return self.enqueue(self.spec) if is_last else self.training
        if noun == "jobs":
            return self.order(is_done=not path.endswith("/cancel"))
        if noun == "keys":
            return self.make_key()
        if noun == "providers":
            return self.put_provider()
        if noun == "calls":
            return self.store_call()
        if path.endswith("/learn"):
            return self.make_learner()
        if noun == "models":
            return self.copy() if is_last else self.model
        session = self.begin()
        if path.endswith("/outcome"):
            self.client.put(f"/predict/{session}/outcome", json={"label": "1"})
        return self.charge(session) if noun == "ledger" else session

    def charge(self, session: str) -> str:
        given = {"feature": "age", "outcome": "ordered"}
        path = f"/predict/{session}"
        self.client.post(f"{path}/answers", json={"answers": [given]})
        return str(self.client.get(f"{path}/ledger").json()["items"][0]["id"])

    def send(self, method: str, path: str, kind: str = "", body: Any = None) -> Any:
        more: Json = {}
        if kind == "multipart/form-data":
            more["files"] = {
                name: (name, DEMO.read_bytes() if text is None else json.dumps(text))
                for name, text in body.items()
            }
        elif kind:
            text = json.dumps(body).replace(DATASET_ID, self.dataset)
            more["content"] = text.replace(EXAMPLE_URL, self.url)
            more["headers"] = {"Content-Type": kind}
        named = self.name(method, path) if "{" in path else ""
        address = re.sub(r"\{\w+\}", named, path)
        return self.client.request(method, address, **more)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_each_example_works_on_the_demos_data(
    document: Json, client: TestClient, jobs: Jobs
) -> None:
    schemas = document["components"]["schemas"]
    demo = Demo(client, jobs, schemas["SpecDocument"]["examples"][0])

    failed = []
    for method, path, operation in operations(document):
        statuses = [
            int(response) for response in operation["responses"] if response < "300"
        ]
        for kind, body in [*bodies_of(document, operation)] or [("", None)]:
            answered = demo.send(method, path, kind, body)
            if (method, path) == ("post", "/train") and "id" in answered.json():
                # Nothing is about the model of its full size.
                client.post(f"/train/{answered.json()['id']}/cancel")
            # No worker runs, and no call of the demo is in doubt.
            if answered.status_code not in statuses and path not in (
                "/readyz",
                "/calls/{id}/settle",
            ):
                failed.append((method, path, answered.status_code, answered.text))

    assert failed == []
