"""A small table with a spec, and a model of it."""

import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table of 80 rows with a spec; the model goes beside it."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    lines = ["n,c,b,y"]
    for _ in range(80):
        n, c, b = rng.normal(), rng.choice(["red", "blue"]), rng.integers(0, 2)
        y = "sick" if n + b + (c == "red") + rng.normal() / 2 > 1 else "well"
        lines.append(f"{n:.3f},{c},{b},{y}")
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    spec = {
        "name": "small",
        "target": "y",
        "positive": "sick",
        "cost_unit": "EUR",
        "features": [
            {"name": "n", "type": "number", "cost": 3},
            {"name": "c", "type": "category", "cost": 1.5, "label": "Colour"},
            {"name": "b", "type": "boolean", "cost": 2, "group": "visit"},
        ],
        "groups": [{"name": "visit", "fee": 4}],
        "algorithm": "adaboost_bt_smoothed",
        "params": {"rounds": 20},
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    return folder


@pytest.fixture
def model(place, run):
    path = place / "model.json"
    if not path.exists():
        run("train", place / "data.csv", "--spec", place / "spec.json", "-o", path)
    return path
