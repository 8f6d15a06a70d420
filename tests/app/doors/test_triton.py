"""Triton's own client against a real server: it knows the protocol, and not us."""

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from tests.app.clinic import Json, clinic, model_json
from tests.app.doors.openings import KIND_OF, ROWS, inputs, values
from tests.app.jobs import wait
from tests.app.servers import Server

pytest_plugins = ["tests.app.conftest_server"]
DOORS = ["inference"]
triton = pytest.importorskip(
    "tritonclient.http", reason="needs tritonclient[http], as the group dev has it"
)
on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
pytestmark = on_sqlite


@pytest.fixture
def plain(caller: httpx.Client) -> Json:
    """What the door says of the table to a caller that sends JSON."""
    made = caller.post("/models", json=model_json(clinic(), "clinic"))
    assert made.status_code == 201, made.text
    wait(lambda: caller.get("/readyz").status_code == 200)
    body = {"parameters": {"budget": 20}, "inputs": inputs()}
    answer: Json = caller.post("/v2/models/clinic/infer", json=body).json()
    return answer


@pytest.fixture
def client(server: Server) -> Iterator[Any]:
    with triton.InferenceServerClient(server.url.removeprefix("http://")) as made:
        yield made


def tensors(*, binary: bool) -> list[Any]:
    made = []
    for name, cells in ROWS.items():
        # BOOL of numpy has no missing value.
        kind = "BYTES" if KIND_OF[name] == "BYTES" else "FP64"
        texts = ["" if cell is None else cell for cell in cells]
        array = (
            np.array(texts, np.object_)
            if kind == "BYTES"
            else np.array(cells, np.float64)
        )
        one = triton.InferInput(name, [len(cells)], kind)
        made.append(one.set_data_from_numpy(array, binary_data=binary))
    return made


@pytest.mark.parametrize("binary", [True, False])
def test_triton_client_gets_what_json_gets(
    plain: Json, client: Any, binary: bool
) -> None:
    result = client.infer(
        "clinic", tensors(binary=binary), request_id="7", parameters={"budget": 20}
    )

    told = values(plain)
    chances = np.array(told["probabilities"]).reshape(-1, 2)
    assert result.as_numpy("label").tolist() == [
        text.encode() for text in told["label"]
    ]
    assert result.as_numpy("asked").tolist() == [
        text.encode() for text in told["asked"]
    ]
    assert result.as_numpy("spend").tolist() == told["spend"]
    assert result.as_numpy("probabilities").tolist() == chances.tolist()
    assert result.get_response()["id"] == "7"


@pytest.mark.usefixtures("plain")
def test_triton_client_gets_the_outputs_that_it_names(client: Any) -> None:
    outputs = [
        triton.InferRequestedOutput("spend", binary_data=False),
        triton.InferRequestedOutput("asked"),
    ]

    result = client.infer(
        "clinic", tensors(binary=True), outputs=outputs, parameters={"budget": "inf"}
    )

    assert result.as_numpy("label") is None
    assert result.as_numpy("spend").shape == result.as_numpy("asked").shape == (4,)


@pytest.mark.usefixtures("plain")
def test_triton_client_reads_health_and_metadata(client: Any) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("clinic", "1")
    assert not client.is_model_ready("clinic", "2")
    assert client.get_server_metadata()["extensions"] == ["binary_tensor_data"]
    told = {
        value["name"]: value["datatype"]
        for value in client.get_model_metadata("clinic")["inputs"]
    }
    assert told == KIND_OF


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("more", "status", "rule"),
    [
        ({}, "400", "parameters.budget: is required"),
        ({"parameters": {"budget": 1}, "model_version": "9"}, "404", "clinic@9"),
        (
            {"parameters": {"budget": 1}, "request_compression_algorithm": "gzip"},
            *("400", "Content-Encoding: must be absent"),
        ),
    ],
)
def test_triton_client_is_told_what_is_wrong(
    client: Any, more: Json, status: str, rule: str
) -> None:
    with pytest.raises(triton.InferenceServerException) as caught:
        client.infer("clinic", tensors(binary=True), **more)

    assert caught.value.status() == status
    assert rule in caught.value.message()
