"""The Open Inference Protocol: the same rows as by jobs and sessions, over `/v2`."""

import json
import struct
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient

from askless.core.model.hypotheses import Stump
from tests.app.clinic import Answer, Json, Put, Start, clinic, many
from tests.app.doors.openings import (
    HEADER,
    INFER,
    ROWS,
    infer,
    inputs,
    said_wrong,
    tensor,
    values,
)
from tests.app.jobs import Jobs
from tests.sessions import CLASSES
from tests.small import ensemble_of

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]
DOORS = ["inference"]


@pytest.mark.parametrize(
    ("policy", "budget", "more"),
    [
        ("ordered", 20, {}),
        ("ordered", 1.5, {}),
        ("ordered", None, {}),
        ("sample", 20, {"seed": 7}),
        ("ordered", 12, {"policy": "sample", "seed": 3}),
    ],
)
def test_rows_are_predicted_as_by_a_job_on_their_table(
    client: TestClient,
    put: Put,
    jobs: Jobs,
    policy: str,
    budget: float | None,
    more: Json,
) -> None:
    model = put(clinic(policy))
    file = BytesIO()
    pyarrow.parquet.write_table(pa.table(ROWS), file)
    order = {"order": json.dumps({"budgets": [budget], **more})}
    sent = {"dataset": ("t.parquet", file.getvalue())}
    job = client.post(f"/models/{model}/predict", files=sent, data=order).json()
    assert jobs.worker().work() == "succeeded"
    held = client.get(f"/jobs/{job['id']}/result?format=parquet").content
    table = pyarrow.parquet.read_table(BytesIO(held)).to_pydict()

    parameters = {"budget": "inf" if budget is None else budget, **more}
    answer = infer(client, parameters=parameters, inputs=inputs()).json()

    got = values(answer)
    chances = np.array(got["probabilities"]).reshape(-1, 2)
    assert got["label"] == table["label"]
    assert chances[:, 0].tolist() == table["probability_0"]
    assert chances[:, 1].tolist() == table["probability_1"]
    assert got["spend"] == table["spend"]
    assert [json.loads(one) for one in got["asked"]] == table["features"]
    assert client.get("/ledger").json()["items"] == []


def test_case_is_asked_and_charged_as_in_a_session(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session, asked = start(20.0, stop={"certain": False}), []
    while session["question"] is not None:
        name = session["question"]["feature"]
        asked.append(name)
        for feature in session["question"]["features"]:
            value = ROWS[feature][0]
            session = answer(session, (feature, value)).json()
    path = f"/predict/{session['id']}"
    entries = client.get(f"{path}/ledger").json()["items"]

    first = [tensor(name, data[:1]) for name, data in ROWS.items()]
    got = values(infer(client, parameters={"budget": 20}, inputs=first).json())

    (charged,) = [json.loads(one) for one in got["asked"]]
    assert charged == [entry["feature"] for entry in entries]
    assert [name for name in charged if name in asked] == asked
    assert got["spend"] == [session["budget"]["spent"]]
    assert sum(entry["amount"] for entry in entries) == pytest.approx(got["spend"][0])
    assert got["label"] == [session["prediction"]["label"]]
    assert max(got["probabilities"]) == session["prediction"]["probability"]


def test_answer_names_the_model_its_version_and_the_request(
    client: TestClient, put: Put
) -> None:
    put()
    parameters = {"budget": 20}

    answer = infer(client, id="a 7", parameters=parameters, inputs=inputs()).json()
    without = infer(client, parameters=parameters, inputs=inputs()).json()

    assert answer["model_name"] == "clinic"
    assert (answer["model_version"], answer["id"]) == ("1", "a 7")
    assert "id" not in without
    assert [output["name"] for output in answer["outputs"]] == [
        *("label", "probabilities", "spend", "asked")
    ]
    assert answer["outputs"][1]["parameters"] == {"classes": '["0", "1"]'}


def test_server_and_models_are_described(client: TestClient, put: Put) -> None:
    first = put()
    put(clinic("sample"))

    server = client.get("/v2").json()
    model = client.get("/v2/models/clinic").json()

    assert server["extensions"] == ["binary_tensor_data"]
    assert client.get("/v2/health/live").json() == {"live": True}
    assert (model["name"], model["versions"]) == ("clinic", ["2", "1"])
    assert model["inputs"][:2] == [
        {"name": "age", "datatype": "FP64", "shape": [-1]},
        {"name": "sex", "datatype": "BYTES", "shape": [-1]},
    ]
    assert [output["shape"] for output in model["outputs"]] == [
        [-1],
        [-1, 2],
        [-1],
        [-1],
    ]
    ready = {"name": "clinic", "ready": True}
    for address in ("clinic", "clinic/versions/1", first):
        assert client.get(f"/v2/models/{address}/ready").json() == ready
    assert client.get(f"/v2/models/{first}/versions/1").json() == model


def test_each_version_predicts_as_itself(client: TestClient, put: Put) -> None:
    put(many(1), "one")
    put(ensemble_of([Stump(0, 0.5, (-1,))], classes=CLASSES), "one")
    body = {
        "parameters": {"budget": "inf"},
        "inputs": [tensor("f0", [1.0], "FP64")],
    }

    first, second = (
        infer(client, f"/v2/models/one/versions/{version}/infer", **body).json()
        for version in (1, 2)
    )
    newest = infer(client, "/v2/models/one/infer", **body).json()

    assert values(first)["label"] != values(second)["label"]
    assert newest == second


def test_server_that_is_not_ready_says_so(app: Any, client: TestClient) -> None:
    app.state.draining = True

    error = said_wrong(client.get("/v2/health/ready"), 503)

    assert "serving" in error


def test_tensors_of_any_fitting_datatype_are_the_same_rows(
    client: TestClient, put: Put
) -> None:
    put()
    parameters = {"budget": 20}
    plain = infer(client, parameters=parameters, inputs=inputs()).json()
    changed = {
        "age": tensor("age", [45, 70, 52, float("nan")], "FP32"),
        "sex": tensor("sex", ["male", "female", " male ", "NA"]),
        "ecg": {
            **tensor("ecg", [[1], [3], [1], [2]], "INT8"),
            "shape": [4, 1],
        },
        "echo2": {**tensor("echo2", [2, 4, 3, 1], "UINT64"), "shape": [4, 1]},
        "fbs": tensor("fbs", ["true", "no", "", "1"], "BYTES"),
    }
    numbers = {"fbs": tensor("fbs", [1, 0, None, 1.0], "INT32")}

    other = infer(client, parameters=parameters, inputs=inputs(**changed)).json()
    third = infer(client, parameters=parameters, inputs=inputs(**numbers)).json()

    assert values(other) == values(third) == values(plain)


def test_all_features_may_come_as_one_matrix_of_numbers(
    client: TestClient, put: Put
) -> None:
    put(many(3), "three")
    rows = [[0.0, 1.0, 1.0], [1.0, None, 0.0]]
    columns = [
        tensor(f"f{idx}", [row[idx] for row in rows], "FP64") for idx in range(3)
    ]
    matrix = {"name": "input-0", "shape": [2, 3], "datatype": "FP64", "data": rows}
    flat = {**matrix, "data": [cell for row in rows for cell in row]}

    apart, nested, flattened = (
        infer(
            client, "/v2/models/three/infer", parameters={"budget": 2}, inputs=sent
        ).json()
        for sent in (columns, [matrix], [flat])
    )

    assert apart == nested == flattened


def test_unseen_category_is_warned_about(client: TestClient, put: Put) -> None:
    put()
    odd = {"sex": tensor("sex", ["other", "female", "male", None])}

    answer = infer(client, parameters={"budget": 20}, inputs=inputs(**odd)).json()

    assert answer["parameters"]["warnings"].startswith("sex: 1 rows")


def test_bytes_behind_the_json_are_the_same_rows(client: TestClient, put: Put) -> None:
    put()
    plain = infer(client, parameters={"budget": 20}, inputs=inputs()).json()
    parts, sent = [], []
    for value in inputs():
        if value["datatype"] == "BYTES":
            texts = [(text or "").encode() for text in value["data"]]
            raw = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        else:
            value["datatype"] = "FP64"
            raw = np.array(value["data"], np.float64).tobytes()
        del value["data"]
        sent.append(value | {"parameters": {"binary_data_size": len(raw)}})
        parts.append(raw)
    head = json.dumps(
        {"parameters": {"budget": 20, "binary_data_output": True}, "inputs": sent}
    ).encode()

    answer = client.post(
        INFER, content=head + b"".join(parts), headers={HEADER: str(len(head))}
    )

    size = int(answer.headers[HEADER])
    told, rest = json.loads(answer.content[:size]), answer.content[size:]
    sizes = [output["parameters"]["binary_data_size"] for output in told["outputs"]]
    assert sum(sizes) == len(rest)
    start = sizes[0]
    chances = np.frombuffer(rest[start : start + sizes[1]], "<f8")
    assert chances.tolist() == values(plain)["probabilities"]
    assert rest[4:5].decode() == values(plain)["label"][0]


def test_outputs_are_those_asked_for(client: TestClient, put: Put) -> None:
    put()
    wishes = [{"name": "spend"}, {"name": "label", "parameters": {"binary_data": True}}]

    answer = infer(client, parameters={"budget": 1}, inputs=inputs(), outputs=wishes)

    told = json.loads(answer.content[: int(answer.headers[HEADER])])
    assert [output["name"] for output in told["outputs"]] == ["spend", "label"]
    assert ["data" in output for output in told["outputs"]] == [True, False]
