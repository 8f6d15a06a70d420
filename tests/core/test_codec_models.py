import json
from dataclasses import replace

import pytest

from core.codec import model_from_json, model_to_json
from core.errors import RefusedError
from core.model.ensemble import Ensemble
from core.model.hypotheses import Stump
from core.model.model import Curve, Model
from core.table.catalogue import Catalogue, Feature, Group
from core.table.dataset import ClassLabel


@pytest.fixture
def document(trained_model):
    return json.loads(json.dumps(model_to_json(trained_model)))


def put(value, document, path):
    """Put a value into a document where the path leads."""
    *way, last = path
    place = document
    for step in way:
        place = place[step]
    place[last] = value


def test_model_survives_the_round_trip(trained_model, document):
    assert model_from_json(document) == trained_model


def test_model_without_curve_and_error_costs_survives(trained_model):
    bare = Model("m", replace(trained_model.ensemble, error_costs=None))

    assert model_from_json(json.loads(json.dumps(model_to_json(bare)))) == bare


def test_large_amounts_of_a_curve_are_exact(document):
    document["curve"]["max_spends_micros"][-1] = 2**53 + 1

    model = model_from_json(document)

    assert model.curve.max_spends[-1] == 2**53 + 1


def edits():
    yield ("curve", "max_spends_micros", 0), 0.5
    yield ("format",), "other"
    yield ("version",), 1
    yield ("version",), 4
    yield ("name",), 3
    yield ("target",), None
    yield ("algorithm",), "magic"
    yield ("policy",), "other"
    yield ("params",), []
    yield ("params",), {"cost_floor": float("inf")}
    yield ("card",), {"folds": [{"seed": float("nan")}]}
    yield ("card",), None
    yield ("cost_unit",), 1
    yield ("features",), []
    yield ("features", 0), 3
    yield ("features", 0, "name"), "c"
    yield ("features", 0, "type"), "text"
    yield ("features", 0, "cost_micros"), -1
    yield ("features", 0, "cost_micros"), 1.5
    yield ("features", 0, "cost_micros"), True
    yield ("features", 0, "group"), "nowhere"
    yield ("features", 0, "label"), 3
    yield ("features", 1, "categories"), ["q", "p"]
    yield ("features", 1, "categories"), [1]
    yield ("groups", 0, "name"), "fee"
    yield ("groups", 1, "fee_micros"), None
    yield ("features", 1, "cost_micros"), 5
    yield ("features", 2, "group"), None
    yield ("groups",), {}
    yield ("classes",), []
    yield ("priors",), [0.5]
    yield ("priors",), [0.9, 0.9]
    yield ("hypotheses",), None
    yield ("hypotheses", 0, "kind"), "forest"
    yield ("hypotheses", 0, "kind"), "tree"
    yield ("hypotheses", 0, "feature"), 3
    yield ("hypotheses", 0, "feature"), -1
    yield ("hypotheses", 0, "votes"), 1
    yield ("hypotheses", 0, "votes"), []
    yield ("hypotheses", 0, "votes"), [0]
    yield ("hypotheses", 0, "votes"), [True]
    yield ("hypotheses", 0, "votes"), [1, -1]
    yield ("hypotheses", 0, "alpha"), float("nan")
    yield ("hypotheses", 0, "alpha"), -1
    yield ("hypotheses", 0, "cut"), "low"
    yield ("hypotheses", 0, "cut"), float("inf")
    yield ("is_multilabel",), True
    yield ("is_multilabel",), 0
    yield ("calibrations",), None
    yield ("calibrations", "ordered"), []
    yield ("calibrations", "ordered", "slopes", 0), -1
    yield ("error_costs",), [[0, 1]]
    yield ("error_costs",), [[0, 1], [1, "x"]]
    yield ("curve", "rows"), -1
    yield ("curve", "errors"), [0.1]
    yield ("curve", "budgets_micros"), 3


@pytest.mark.parametrize(("path", "value"), list(edits()))
def test_damaged_model_is_refused(document, path, value):
    put(value, document, path)

    with pytest.raises(RefusedError):
        model_from_json(document)


def test_category_out_of_range_is_refused(document):
    document["hypotheses"][0] |= {"feature": 1, "cut": 3}

    with pytest.raises(RefusedError, match="cut"):
        model_from_json(document)


VERSION_1 = """{
  "format": "askless-model", "version": 1, "name": "m", "target": "y",
  "algorithm": "adaboost_bt", "policy": "sample", "params": {"rounds": 2},
  "cost_unit": "EUR",
  "features": [
    {"name": "n", "type": "number", "cost_micros": 1000000, "label": "Number",
     "unit": "m", "group": null, "categories": []},
    {"name": "c", "type": "category", "cost_micros": 2, "label": null,
     "unit": null, "group": "fee", "categories": ["p", "q"]}
  ],
  "groups": [
    {"name": "fee", "fee_micros": 500000, "price_micros": null, "label": "a fee"}
  ],
  "classes": [{"label": "0", "display": "no"}, {"label": "1", "display": "yes"}],
  "priors": [0.75, 0.25],
  "stumps": [
    {"feature": 0, "cut": 0.5, "vote": -1, "alpha": 1.5},
    {"feature": 1, "cut": 1.0, "vote": 1, "alpha": 0.25}
  ],
  "calibrations": {
    "ordered": {"offset": 0.5, "drift": -1.0, "slope_unknown": 2.0,
                "slope_known": 3.0},
    "sample": {"offset": 0.0, "drift": 0.25, "slope_unknown": 1.0,
               "slope_known": 1.5}
  },
  "error_costs": [[0.0, 1.0], [4.0, 0.0]],
  "curve": {
    "budgets_micros": [0, null], "errors": [0.25, 0.125],
    "errors_calibrated": [0.25, 0.5], "mean_spends_micros": [0.0, 1.5],
    "max_spends_micros": [0, 2], "rows": 8
  },
  "card": {"rows": 8}
}"""


def test_model_of_version_1_is_read():
    model = model_from_json(json.loads(VERSION_1))

    assert model == Model(
        name="m",
        ensemble=Ensemble(
            catalogue=Catalogue(
                (
                    Feature("n", label="Number", unit="m"),
                    Feature("c", "category", 2, group="fee", categories=("p", "q")),
                ),
                (Group("fee", 500_000, label="a fee"),),
                "EUR",
            ),
            classes=(ClassLabel("0", "no"), ClassLabel("1", "yes")),
            hypotheses=(Stump(0, 0.5, (-1,)), Stump(1, 1.0, (1,), is_category=True)),
            alphas=(1.5, 0.25),
            priors=(0.75, 0.25),
            algorithm="adaboost_bt",
            policy="sample",
            error_costs=((0.0, 1.0), (4.0, 0.0)),
        ),
        target="y",
        params={"rounds": 2},
        curve=Curve((0, None), (0.25, 0.125), (0.25, 0.5), (0.0, 1.5), (0, 2), 8),
        card={"rows": 8},
    )


def test_model_of_version_1_is_written_as_one_of_version_3():
    model = model_from_json(json.loads(VERSION_1))

    document = json.loads(json.dumps(model_to_json(model)))

    assert document["version"] == 3
    assert model_from_json(document) == model


def test_model_of_version_2_is_read_without_its_calibrations(document):
    model = model_from_json(document)
    one = {"offset": 0.5, "drift": -1.0, "slope_unknown": 2.0, "slope_known": 3.0}
    document |= {"version": 2, "calibrations": {"ordered": [one]}}

    read = model_from_json(document)

    plain = replace(model.ensemble, calibrations=())
    assert read == replace(model, ensemble=plain)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), "other"),
        (("stumps",), None),
        (("stumps", 0), 3),
        (("stumps", 0, "feature"), 2),
        (("stumps", 0, "vote"), 0),
        (("stumps", 0, "vote"), [1]),
        (("stumps", 0, "cut"), None),
        (("stumps", 1, "cut"), 2),
        (("stumps", 0, "alpha"), -1),
        (("classes",), [{"label": str(k), "display": str(k)} for k in range(3)]),
    ],
)
def test_damaged_model_of_version_1_is_refused(path, value):
    document = json.loads(VERSION_1)
    put(value, document, path)

    with pytest.raises(RefusedError):
        model_from_json(document)


@pytest.mark.parametrize("raw", [None, [], "text", {}])
def test_what_is_no_model_is_refused(raw):
    with pytest.raises(RefusedError):
        model_from_json(raw)
