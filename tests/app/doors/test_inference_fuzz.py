"""Random requests of the Open Inference Protocol are refused or answered."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askless.app.main import create_app
from askless.app.settings.settings import Settings
from askless.app.store.database.migrate import migrate
from tests.app.clinic import clinic, local_client, model_json
from tests.app.doors.openings import KIND_OF, ROWS, inputs

HEADER = "Inference-Header-Content-Length"
INFER = "/v2/models/clinic/infer"
# `make test-fuzz` sends more.
N_EXAMPLES = int(os.environ.get("FUZZ", 2 * settings.default.max_examples))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)
NAMES = st.sampled_from([*ROWS, "sxe"]) | st.text(max_size=8)
SIZES = st.integers(-1, 9) | st.sampled_from([2**31, 2**63, 2**64])
TENSORS = st.fixed_dictionaries(
    {
        "name": NAMES,
        "shape": st.lists(st.integers(-1, 4) | SIZES, max_size=3) | ANY_JSON,
        "datatype": st.sampled_from([*set(KIND_OF.values()), "INT8", "FP16", "BF16"])
        | st.text(max_size=5),
    },
    optional={
        "data": ANY_JSON | st.lists(st.floats() | st.none(), max_size=5),
        "parameters": st.fixed_dictionaries({"binary_data_size": SIZES | ANY_JSON}),
    },
)
CHANGED = st.lists(
    st.tuples(
        st.integers(0, len(ROWS) - 1),
        st.sampled_from(["name", "shape", "datatype", "data", "parameters"]),
        ANY_JSON,
    ),
    max_size=2,
)
PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "budget": st.floats() | st.integers() | st.sampled_from([20, "inf"]) | ANY_JSON,
        "policy": st.sampled_from(["ordered", "sample", "panels"]) | ANY_JSON,
        "seed": st.integers() | ANY_JSON,
        "mean_budget": st.floats() | ANY_JSON,
        "binary_data_output": st.booleans() | ANY_JSON,
    },
)
OUTPUTS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["label", "asked", "x"])},
        optional={"parameters": ANY_JSON},
    ),
    max_size=2,
)


@st.composite
def requests(draw: Any) -> Any:
    """A request that is nearly right, or made of tensors at random, or any JSON."""
    kind = draw(st.sampled_from(["near", "tensors", "json"]))
    if kind == "json":
        return draw(ANY_JSON)
    body: dict[str, Any] = {"parameters": draw(PARAMETERS)}
    if draw(st.booleans()):
        body["outputs"] = draw(OUTPUTS)
    if kind == "tensors":
        return body | {"inputs": draw(st.lists(TENSORS, max_size=8))}
    body["inputs"] = inputs()
    for place, field, value in draw(CHANGED):
        body["inputs"][place][field] = value
    return body


LENGTHS = st.none() | st.integers(-3, 3) | st.text("0123456789x-", max_size=6)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home: Path = tmp_path_factory.mktemp("fuzz")
    made = Settings(home=home, doors=["inference"])
    migrate(made.url)
    app = create_app(made, is_local=True)
    with local_client(app, raise_server_exceptions=False) as caller:
        stored = caller.post("/models", json=model_json(clinic(), "clinic"))
        assert stored.status_code == 201
        yield caller


def play(client: TestClient, body: Any, rest: bytes, shift: int | str | None) -> int:
    """Send a request, and check that it is answered or refused in the same form."""
    head = json.dumps(body).encode()
    headers = {}
    if shift is not None:
        length = len(head) + shift if isinstance(shift, int) else shift
        headers[HEADER] = str(length)
    response = client.post(INFER, content=head + rest, headers=headers)
    if response.status_code == 200:
        size = int(response.headers.get(HEADER, len(response.content)))
        assert json.loads(response.content[:size])["model_name"] == "clinic"
    else:
        assert response.status_code == 400, response.text
        assert list(response.json()) == ["error"]
    return response.status_code


@settings(
    max_examples=N_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(requests(), st.binary(max_size=24), LENGTHS)
def test_random_request_is_answered_or_refused(
    client: TestClient, body: Any, rest: bytes, shift: int | str | None
) -> None:
    play(client, body, rest, shift)


def test_request_that_is_right_is_answered(client: TestClient) -> None:
    body = {"parameters": {"budget": 20}, "inputs": inputs()}

    assert play(client, body, b"", None) == 200
    assert play(client, body, b"", 0) == 200
    assert play(client, body, b"x", 0) == 400
