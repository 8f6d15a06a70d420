"""A small table whose class is a sign, and how cases of its model are worked."""

from collections.abc import Callable
from typing import Any

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
TABLE = "\n".join(["a,b,y", *(",".join(map(str, one)) for one in ROWS * 5)]).encode()
#: Works a case: values of a and b, or None where refused, and its true label.
Work = Callable[..., str]
#: Starts a refresh; returns the answer.
Refresh = Callable[..., Any]
