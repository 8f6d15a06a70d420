"""Whatever field is wrong, its refusal does not repeat what the caller sent."""

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import cycle, islice
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.app.clinic import Json, Put, Start, clinic, model_json
from tests.levels import step_of

pytest_plugins = ["tests.app.conftest_http"]
pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)

MARKERS = ("SECRET", 31415926535.5, {"kind": "SECRET"})
TEXTS = ("SECRET", "31415926535")


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The way to each value in a document."""
    items = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else items:
        yield (key,)
        for way in places(item):
            yield (key, *way)


def marked(document: Json) -> Iterator[Json]:
    """Copies of a document, each with the next marker in another place."""
    markers = cycle(MARKERS)
    for *way, last in places(document):
        if (*way, last) == ("groups", 0, "name"):
            continue  # A feature must have one of these names: its refusal lists them.
        if (*way, last) == ("model",):
            continue  # Who asks for a model that is not there reads what was asked.
        copy = deepcopy(document)
        holder: Any = copy
        for step in way:
            holder = holder[step]
        holder[last] = next(markers)
        yield copy


def assert_silent(response: Any) -> bool:
    """Look for markers in a refusal; return whether it is one."""
    errors = response.json().get("errors")
    is_refused = response.status_code >= 400 or bool(errors)
    told = response.text if response.status_code >= 400 else json.dumps(errors)
    assert not is_refused or not any(text in told for text in TEXTS), told
    return is_refused


def test_refusals_of_a_model_repeat_nothing(client: TestClient) -> None:
    model = model_json(clinic(), "clinic")
    hypotheses = model["hypotheses"]
    stump = {name: hypotheses[0][name] for name in ("kind", "feature", "cut", "votes")}
    hypotheses[1] = {"kind": "tree", "alpha": 1.0, "stumps": [stump]}
    hypotheses[1] |= {"children": [[None, None]], "below_votes": [[1]]}
    hypotheses[2] = {"kind": "product", "alpha": 1.0, "stumps": [stump]}
    calibration = {"offsets": [[0.0]] * 5, "slopes": [1.0] * 5}
    model |= {"calibrations": {"ordered": calibration}, "error_costs": [[0, 1], [1, 0]]}
    assert client.post("/models", json=model).status_code == 201

    step = step_of(3)
    some = islice(marked(model), 0, None, step)
    refused = [assert_silent(client.post("/models", json=raw)) for raw in some]

    assert sum(refused) > 80 // step


def test_refusals_of_a_session_repeat_nothing(client: TestClient, put: Put) -> None:
    body = {"model": put(), "budget": 60, "known": {"age": 63}, "policy": "ordered"}
    body |= {"seed": 3, "stop": {"certain": True, "confidence": 0.5}}
    body["stop"] |= {"max_questions": 5}

    refused = [assert_silent(client.post("/predict", json=raw)) for raw in marked(body)]

    assert sum(refused) > 7


def test_refusals_of_answers_repeat_nothing(client: TestClient, start: Start) -> None:
    path = f"/predict/{start(60.0)['id']}/answers"
    body = {"answers": [{"feature": "age", "outcome": "value", "value": 63}]}

    refused = [assert_silent(client.post(path, json=raw)) for raw in marked(body)]

    assert sum(refused) >= 4


def test_refusals_of_a_spec_repeat_nothing(
    client: TestClient, spec: Json, table: bytes
) -> None:
    spec |= {"classes": {"1": "ill"}, "groups": [{"name": "blood", "fee": 2.1}]}
    spec["groups"][0] |= {"label": "sample", "members": ["chol"]}
    spec |= {"error_costs": {"0": {"1": 2.0}}, "selection": {"method": "sfs"}}
    spec |= {"seed": 0, "algorithm": "adaboost_bt", "weight": None, "group_by": None}
    spec["features"][1] |= {"group": "blood", "unit": "mg/dL"}

    refused = [
        assert_silent(
            client.post(
                "/train?validate_only=true",
                files={"dataset": table, "spec": json.dumps(raw)},
            )
        )
        for raw in marked(spec)
    ]

    assert sum(refused) > 20
