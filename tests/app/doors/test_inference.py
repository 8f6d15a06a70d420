"""The Open Inference Protocol: the same rows as by jobs and sessions, over `/v2`."""

import json
import struct
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings.settings import Settings
from core.model.hypotheses import Stump
from tests.app.clinic import Answer, Json, Make, Put, Start, clinic, local_client, many
from tests.app.doors.openings import ROWS, inputs, tensor, values
from tests.app.jobs import Jobs
from tests.sessions import CLASSES
from tests.small import ensemble_of

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]
ROOT = Path(__file__).resolve().parents[3]
HEADER = "Inference-Header-Content-Length"
INFER = "/v2/models/clinic/infer"


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, database_url=database_url, doors=["inference"])


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
        for one in session["question"]["features"]:
            value = ROWS[one][0]
            session = answer(session, (one, value)).json()
    path = f"/predict/{session['id']}"
    entries = client.get(f"{path}/ledger").json()["items"]

    first = [tensor(name, data[:1]) for name, data in ROWS.items()]
    got = values(infer(client, parameters={"budget": 20}, inputs=first).json())

    (charged,) = [json.loads(one) for one in got["asked"]]
    assert charged == [one["feature"] for one in entries]
    assert [name for name in charged if name in asked] == asked
    assert got["spend"] == [session["budget"]["spent"]]
    assert sum(one["amount"] for one in entries) == pytest.approx(got["spend"][0])
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
    assert [one["name"] for one in answer["outputs"]] == [
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
    assert [one["shape"] for one in model["outputs"]] == [[-1], [-1, 2], [-1], [-1]]
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
    for one in inputs():
        if one["datatype"] == "BYTES":
            texts = [(text or "").encode() for text in one["data"]]
            raw = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        else:
            one["datatype"] = "FP64"
            raw = np.array(one["data"], np.float64).tobytes()
        del one["data"]
        sent.append(one | {"parameters": {"binary_data_size": len(raw)}})
        parts.append(raw)
    head = json.dumps(
        {"parameters": {"budget": 20, "binary_data_output": True}, "inputs": sent}
    ).encode()

    answer = client.post(
        INFER, content=head + b"".join(parts), headers={HEADER: str(len(head))}
    )

    size = int(answer.headers[HEADER])
    told, rest = json.loads(answer.content[:size]), answer.content[size:]
    sizes = [one["parameters"]["binary_data_size"] for one in told["outputs"]]
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
    assert [one["name"] for one in told["outputs"]] == ["spend", "label"]
    assert ["data" in one for one in told["outputs"]] == [True, False]


WRONG: list[tuple[Json, str]] = [
    ({"parameters": {}}, "parameters.budget: is required"),
    ({"parameters": {"budget": -1}}, "parameters.budget: must be an amount"),
    ({"parameters": {"budget": "much"}}, "parameters.budget: must be an amount"),
    ({"parameters": {"budget": True}}, "parameters.budget: must be an amount"),
    ({"parameters": {"budget": float("nan")}}, "parameters.budget: must be"),
    ({"parameters": {"budget": 1, "bugdet": 1}}, "parameters.bugdet: is no field"),
    ({"parameters": {"budget": 1, "seed": -1}}, "parameters.seed: must be at least"),
    ({"parameters": {"budget": 1, "policy": "none"}}, "parameters.policy: must be"),
    ({"parameters": {"budget": 1, "policy": "panels"}}, "policy: must be one of"),
    ({"parameters": {"budget": 1, "mean_budget": 1}}, "aim: is "),
    ({"parameters": {"budget": 1, "sequence_id": 4}}, "sequence_id: is no field"),
    ({"inputs": []}, "inputs: must have 1 or more"),
    ({"inputs": [tensor("age", [1.0])]}, "inputs: must have 'sex'"),
    ({"inputs": [tensor("aeg", [1.0], "FP64")]}, "inputs[0].name: must be a feature"),
    ({"inputs": [*inputs(), tensor("age", ROWS["age"])]}, "must stand once"),
    ({"inputs": inputs(age=tensor("age", [1.0]))}, "shape: must be [n] or [n, 1]"),
    ({"inputs": inputs(age=tensor("age", ["1"] * 4, "BYTES"))}, "inputs[0].datatype"),
    ({"inputs": inputs(age=tensor("age", [1] * 4, "BF16"))}, "inputs[0].datatype"),
    ({"inputs": inputs(age=tensor("age", ["1"] * 4))}, "must have numbers, NaN"),
    ({"inputs": inputs(age=tensor("age", [True] * 4))}, "must have numbers, NaN"),
    ({"inputs": inputs(age=tensor("age", [1.5] * 4, "INT8"))}, "must have integers"),
    ({"inputs": inputs(age=tensor("age", [10**400] * 4, "INT64"))}, "a double can"),
    ({"inputs": inputs(age={**tensor("age", [1.0]), "shape": [10**30]})}, "shape says"),
    ({"inputs": inputs(age={**tensor("age", [1.0]), "shape": [2**60]})}, "shape says"),
    ({"inputs": inputs(age={**tensor("age", [1.0]), "shape": [-1]})}, "at least 0"),
    ({"inputs": inputs(age={**tensor("age", [1.0]), "shape": [1, 1, 1]})}, "2 or few"),
    ({"inputs": inputs(age={**tensor("age", [[1.0], []]), "shape": [2, 1]})}, "says"),
    ({"inputs": inputs(age={**tensor("age", [1.0]), "data": 7})}, "must be a list"),
    ({"inputs": inputs(sex=tensor("sex", [1] * 4))}, "must have strings, or null"),
    ({"inputs": inputs(fbs=tensor("fbs", [1] * 4))}, "must have true or false, or"),
    ({"inputs": inputs(fbs=tensor("fbs", [2.0] * 4, "FP64"))}, "column fbs: must be"),
    ({"inputs": [tensor(name, []) for name in ROWS]}, "inputs: must have at least"),
    ({"outputs": [{"name": "lable"}]}, "outputs[0].name: must be one of label"),
    ({"outputs": [{"name": "label"}, {"name": "label"}]}, "must stand once"),
    ({"outputs": [{"name": "label", "parameters": {"classification": 1}}]}, "no field"),
    ({"model": "clinic"}, "model: is no field"),
]


@pytest.mark.parametrize(("change", "rule"), WRONG)
def test_wrong_request_is_refused_by_field_and_rule(
    client: TestClient, put: Put, change: Json, rule: str
) -> None:
    put()
    body = {"parameters": {"budget": 20}, "inputs": inputs()}

    assert rule in said_wrong(infer(client, **body | change))


def test_too_many_rows_are_left_to_jobs(client: TestClient, put: Put) -> None:
    put(many(1), "one")
    sent = [tensor("f0", [1.0] * 10_001, "FP64")]

    response = infer(
        client, "/v2/models/one/infer", parameters={"budget": 1}, inputs=sent
    )

    assert "at most 10000 rows" in said_wrong(response)


def tensor_bytes(size: object, shape: list[int], datatype: str = "FP64") -> Json:
    parameters = {"binary_data_size": size}
    return {"name": "f0", "shape": shape, "datatype": datatype} | {
        "parameters": parameters
    }


@pytest.mark.parametrize(
    ("sent", "rest", "rule"),
    [
        (tensor_bytes(16, [2]), b"\0" * 15, "not be more than the bytes that came"),
        (tensor_bytes(16, [2]), b"\0" * 17, "body: must be as long as"),
        (tensor_bytes(8, [2]), b"\0" * 8, "must be 16 for this shape"),
        (tensor_bytes(2**70, [2]), b"", "inputs[0].parameters.binary_data_size"),
        (tensor_bytes(-1, [2]), b"", "must be at least 0"),
        (tensor_bytes(0, [2**61]), b"", "must be "),
        (tensor_bytes(3, [1], "BYTES"), b"\1\0\0", "each after its length"),
        (tensor_bytes(5, [1], "BYTES"), b"\2\0\0\0a", "each after its length"),
        (tensor_bytes(5, [2], "BYTES"), b"\1\0\0\0a", "each after its length"),
        (tensor_bytes(10, [1], "BYTES"), b"\1\0\0\0a" * 2, "each after its length"),
        (tensor_bytes(4, [2**40], "BYTES"), b"\0" * 4, "each after its length"),
        (tensor_bytes(5, [1], "BYTES"), b"\1\0\0\0\xff", "must be text in UTF-8"),
        (tensor_bytes(1, [1], "BOOL"), b"\2", "must have the bytes 0 and 1"),
        (tensor_bytes(8, [1]), np.array([np.inf]).tobytes(), "must be finite"),
        (tensor_bytes(8, [1]) | {"data": [1]}, b"\0" * 8, "must be left out beside"),
    ],
)
def test_wrong_bytes_are_refused(
    client: TestClient, put: Put, sent: Json, rest: bytes, rule: str
) -> None:
    put(many(1), "one")
    head = json.dumps({"parameters": {"budget": 1}, "inputs": [sent]}).encode()

    response = client.post(
        "/v2/models/one/infer", content=head + rest, headers={HEADER: str(len(head))}
    )

    assert rule in said_wrong(response)


def test_many_broken_rules_are_told_in_part(client: TestClient, put: Put) -> None:
    put(many(30), "thirty")
    sent = [tensor("f0", [1.0], "FP64")]

    error = said_wrong(
        infer(client, "/v2/models/thirty/infer", parameters={"budget": 1}, inputs=sent)
    )

    assert error.endswith("; and 9 more")


@pytest.mark.parametrize("length", ["-1", "x", "99999", "1" * 30, "1.0"])
def test_wrong_length_of_the_json_is_refused(
    client: TestClient, put: Put, length: str
) -> None:
    put()

    response = client.post(INFER, content=b"{}", headers={HEADER: length})

    assert HEADER in said_wrong(response)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "7", "[]", '{"inputs": Infinity}', '{"id": 1e999}', "\ud800"),
        *('{"id": "a", "id": "b"}', "[" * 100_000),
    ],
)
def test_text_that_is_no_request_is_refused(
    client: TestClient, put: Put, text: str
) -> None:
    put()

    assert said_wrong(client.post(INFER, content=text.encode("utf-8", "replace")))
    assert said_wrong(client.post(INFER, content=b"\xff\xfe"))


def test_packed_request_is_refused(client: TestClient, put: Put) -> None:
    put()

    response = client.post(INFER, content=b"{}", headers={"Content-Encoding": "gzip"})

    assert "Content-Encoding: must be absent" in said_wrong(response)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v2/models/clink", 404),
        ("GET", "/v2/models/clinic/versions/9", 404),
        ("GET", "/v2/models/clinic/versions/x/ready", 404),
        ("POST", "/v2/models/clinic/versions/0/infer", 404),
        ("GET", "/v2/models/clinic/config", 404),
        ("POST", "/v2/repository/index", 404),
        ("GET", INFER, 405),
        ("DELETE", "/v2/models/clinic", 405),
    ],
)
def test_what_is_not_there_has_the_protocols_error(
    client: TestClient, put: Put, method: str, path: str, status: int
) -> None:
    put()

    assert said_wrong(client.request(method, path), status)


def test_errors_of_outer_layers_have_the_protocols_form(client: TestClient) -> None:
    large = client.post(INFER, content=b" " * 2_000_001)
    foreign = client.get("/v2", headers={"Host": "elsewhere.example"})
    page = client.get("/v2/nothing", headers={"Accept": "text/html"})

    assert "2000000 bytes" in said_wrong(large, 413)
    assert said_wrong(foreign, 421)
    assert said_wrong(page, 404)
    assert large.headers["x-content-type-options"] == "nosniff"


def test_keys_and_scopes_are_those_of_the_api(
    client: TestClient, app: Any, put: Put, key: Make
) -> None:
    put()
    app.state.guard.must_ask = True
    body = {"parameters": {"budget": 20}, "inputs": inputs()}

    def send(headers: dict[str, str] | None) -> tuple[int, int]:
        read = client.get("/v2/models/clinic", headers=headers)
        played = client.post(INFER, content=json.dumps(body), headers=headers)
        for one in (read, played):
            assert one.status_code == 200 or said_wrong(one, one.status_code)
        return read.status_code, played.status_code

    soon = datetime.now(UTC) + timedelta(milliseconds=300)
    expiring = key(expires_at=soon)
    while datetime.now(UTC) < soon:
        pass
    assert send(None) == (401, 401)
    assert send({"Authorization": "Bearer askl_none"}) == (401, 401)
    assert send(expiring) == (401, 401)
    assert send(key("models:read")) == (200, 403)
    assert send(key("predict:write")) == (403, 200)
    assert send(key(tenant="other")) == (404, 404)
    assert client.get("/v2/health/live").status_code == 200
    assert "www-authenticate" in client.get("/v2/models/clinic").headers


def test_too_many_requests_are_refused(client: TestClient, put: Put, key: Make) -> None:
    put()
    headers = key(limits={"requests_per_minute": 1})

    client.get("/v2/models/clinic", headers=headers)
    response = client.get("/v2/models/clinic", headers=headers)

    assert "1 requests a minute" in said_wrong(response, 429)
    assert int(response.headers["retry-after"]) > 0


def test_door_that_is_off_has_no_address(tmp_path: Path) -> None:
    with local_client(create_app(Settings(home=tmp_path), is_local=True)) as client:
        response = client.get("/v2")

    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


def test_server_without_doors_imports_none_and_nothing_of_theirs() -> None:
    lines = (
        "import sys",
        "from app.main import create_app",
        "from app.settings.settings import Settings",
        "create_app(Settings(), is_local=True)",
        "names = ('app.doors', 'mlflow', 'pandas', 'tritonclient', 'askless.mlflow')",
        "print([one for one in names if one in sys.modules])",
    )

    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"
