"""A small table whose class is a sign, and how cases of its model are worked."""

from collections.abc import Callable
from typing import Any

from fastapi.testclient import TestClient

from tests.app.clinic import Json

NAME = "signs"
SPEC: Json = {
    "name": NAME,
    "target": "y",
    "features": [{"name": "a", "type": "number"}, {"name": "b", "type": "number"}],
    "algorithm": "adaboost_bt",
    "params": {"rounds": 2},
    "validation": {"folds": 2},
}
# Of these rows a alone tells the class: its sign.
ROWS = [(value, other, int(value > 0)) for value in (-2, -1, 1, 2) for other in (0, 1)]
TABLE = "\n".join(["a,b,y", *(",".join(map(str, row)) for row in ROWS * 2)]).encode()
#: Works a case: values of a and b, or None where refused, and its true label.
Work = Callable[..., str]
#: Starts a refresh; returns the answer.
Refresh = Callable[..., Any]
#: Lets the worker's errand play the new cases of open challenges.
Play = Callable[[], None]


def standing(client: TestClient, key: str = NAME) -> Json:
    response = client.get(f"/models/{key}/challenge")
    assert response.status_code == 200, response.text
    found: Json = response.json()
    return found
