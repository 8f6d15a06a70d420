"""The Open Inference Protocol: what it refuses, in its own form of errors."""

import json

import numpy as np
from fastapi.testclient import TestClient

from tests.app.clinic import Json, Put, many
from tests.app.doors.openings import (
    HEADER,
    INFER,
    ROWS,
    infer,
    inputs,
    said_wrong,
    tensor,
)

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_keys"]
DOORS = ["inference"]


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


def test_wrong_request_is_refused_by_field_and_rule(
    client: TestClient, put: Put
) -> None:
    put()
    body = {"parameters": {"budget": 20}, "inputs": inputs()}

    for change, rule in WRONG:
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


def test_wrong_bytes_are_refused(client: TestClient, put: Put) -> None:
    put(many(1), "one")
    for sent, rest, rule in [
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
    ]:
        head = json.dumps({"parameters": {"budget": 1}, "inputs": [sent]}).encode()

        response = client.post(
            "/v2/models/one/infer",
            content=head + rest,
            headers={HEADER: str(len(head))},
        )

        assert rule in said_wrong(response)


def test_many_broken_rules_are_told_in_part(client: TestClient, put: Put) -> None:
    put(many(30), "thirty")
    sent = [tensor("f0", [1.0], "FP64")]

    error = said_wrong(
        infer(client, "/v2/models/thirty/infer", parameters={"budget": 1}, inputs=sent)
    )

    assert error.endswith("; and 9 more")


def test_wrong_length_of_the_json_is_refused(client: TestClient, put: Put) -> None:
    put()

    for length in ["-1", "x", "99999", "1" * 30, "1.0"]:
        response = client.post(INFER, content=b"{}", headers={HEADER: length})

        assert HEADER in said_wrong(response)


def test_text_that_is_no_request_is_refused(client: TestClient, put: Put) -> None:
    put()

    for text in [
        *("", "{", "7", "[]", '{"inputs": Infinity}', '{"id": 1e999}', "\ud800"),
        *('{"id": "a", "id": "b"}', "[" * 100_000),
    ]:
        assert said_wrong(client.post(INFER, content=text.encode("utf-8", "replace")))
        assert said_wrong(client.post(INFER, content=b"\xff\xfe"))


def test_packed_request_is_refused(client: TestClient, put: Put) -> None:
    put()

    response = client.post(INFER, content=b"{}", headers={"Content-Encoding": "gzip"})

    assert "Content-Encoding: must be absent" in said_wrong(response)


def test_what_is_not_there_has_the_protocols_error(
    client: TestClient, put: Put
) -> None:
    put()

    for method, path, status in [
        ("GET", "/v2/models/clink", 404),
        ("GET", "/v2/models/clinic/versions/9", 404),
        ("GET", "/v2/models/clinic/versions/x/ready", 404),
        ("POST", "/v2/models/clinic/versions/0/infer", 404),
        ("GET", "/v2/models/clinic/config", 404),
        ("POST", "/v2/repository/index", 404),
        ("GET", INFER, 405),
        ("DELETE", "/v2/models/clinic", 405),
    ]:
        # Browsers are told in the same form.
        headers = {"Accept": "text/html"}
        assert said_wrong(client.request(method, path, headers=headers), status)
