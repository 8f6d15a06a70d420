"""Requests of the Open Inference Protocol, as tests send them."""

import json
from typing import Any

from fastapi.testclient import TestClient

from tests.app.clinic import CLINIC, Json

#: A table of the clinic's features; None is missing.
ROWS: dict[str, list[Any]] = {
    "age": [45, 70, 52, None],
    "sex": ["male", "female", "male", None],
    "chol": [200.5, None, 260, 239],
    "fbs": [True, False, None, True],
    "ecg": [1, 3, 1, 2],
    "echo1": [1, 2, 2, None],
    "echo2": [2, 4, 3, 1],
}
INFER = "/v2/models/clinic/infer"
HEADER = "Inference-Header-Content-Length"
DATATYPES = {"number": "FP64", "boolean": "BOOL", "category": "BYTES"}
KIND_OF = {feature.name: DATATYPES[feature.type] for feature in CLINIC.features}


def tensor(name: str, data: list[Any], datatype: str | None = None) -> Json:
    kind = datatype or KIND_OF[name]
    return {"name": name, "shape": [len(data)], "datatype": kind, "data": data}


def inputs(**changed: Any) -> list[Json]:
    """The tensors of `ROWS`; a changed one replaces its own."""
    return [changed.get(name, tensor(name, data)) for name, data in ROWS.items()]


def values(answer: Json) -> Json:
    """The data of the outputs by name."""
    return {output["name"]: output["data"] for output in answer["outputs"]}


def infer(client: TestClient, path: str = INFER, **body: Any) -> Any:
    """Send a request; NaN stands in it as Python writes it."""
    return client.post(path, content=json.dumps(body))


def said_wrong(response: Any, status: int = 400) -> str:
    """The protocol's error, which is all that the body has."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert list(body) == ["error"]
    return str(body["error"])
