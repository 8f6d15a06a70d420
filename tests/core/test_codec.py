import copy
import json
from dataclasses import replace

import pytest

from core import anytime
from core.boosting import BoostParams
from core.codec import (
    model_from_json,
    model_to_json,
    rounds_from_json,
    rounds_to_json,
    state_from_json,
    state_to_json,
)
from core.errors import RefusedError
from core.hypotheses import LEAF, Product, Stump, Tree
from core.training import train
from core.types import (
    Calibration,
    Catalogue,
    ClassLabel,
    Curve,
    Dataset,
    Ensemble,
    Feature,
    Group,
    Memory,
    Model,
    Round,
    StopRule,
)


def finish(training):
    rounds = []
    while True:
        try:
            rounds.append(next(training).added)
        except StopIteration as stop:
            return stop.value, rounds


@pytest.fixture(scope="module")
def trained():
    import numpy as np

    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.normal(size=60), rng.integers(0, 3, 60), rng.integers(0, 2, 60)]
    ).astype(float)
    values[3, 0] = np.nan
    noise = rng.normal(size=60)
    dataset = Dataset(
        Catalogue(
            (
                Feature("n", label="Number", unit="m"),
                Feature("c", "category", 0, group="pack", categories=("p", "q", "r")),
                Feature("b", "boolean", 2_000_000, group="fee"),
            ),
            (Group("pack", price=3_000_000), Group("fee", 500_000, label="a fee")),
            "EUR",
        ),
        (ClassLabel("0", "no"), ClassLabel("1", "yes")),
        values,
        (np.nan_to_num(values[:, 0]) + values[:, 2] + noise > 0.5).astype(np.int64),
        np.full(60, 1 / 60),
    )
    costs = ((0.0, 1.0), (4.0, 0.0))
    training = train(
        dataset,
        BoostParams("hybrid", rounds=6),
        name="m",
        target="y",
        folds=2,
        error_costs=costs,
    )
    return finish(training)


@pytest.fixture
def document(trained):
    return json.loads(json.dumps(model_to_json(trained[0])))


def test_model_survives_the_round_trip(trained, document):
    assert model_from_json(document) == trained[0]


def test_model_without_curve_and_error_costs_survives(trained):
    bare = Model("m", replace(trained[0].ensemble, error_costs=None))

    assert model_from_json(json.loads(json.dumps(model_to_json(bare)))) == bare


def test_rounds_survive_the_round_trip(trained):
    model, rounds = trained

    document = json.loads(json.dumps(rounds_to_json(rounds)))

    assert rounds_from_json(document, model.ensemble.catalogue, 1) == tuple(rounds)


def test_rounds_keep_the_memory_of_the_rule():
    one = Round(1, Stump(0, 0.5, (-1,)), 0.3, 0.31, 0.95, 7, Memory(0.25, True))
    catalogue = Catalogue((Feature("a"),))

    assert rounds_from_json(rounds_to_json([one]), catalogue, 1) == (one,)


def test_round_stored_before_there_were_trees_is_read():
    stored = {
        "number": 3,
        "feature": 0,
        "cut": 0.5,
        "vote": -1,
        "edge": 0.3,
        "alpha": 0.31,
        "z": 0.95,
        "spent_micros": 7,
        "first_quality": 0.25,
        "is_smoothing": True,
    }

    rounds = rounds_from_json([stored], Catalogue((Feature("a"),)), 1)

    stump = Stump(0, 0.5, (-1,))
    assert rounds == (Round(3, stump, 0.3, 0.31, 0.95, 7, Memory(0.25, True)),)


@pytest.mark.parametrize(
    "damage",
    [{"vote": 0}, {"vote": None}, {"feature": 1}, {"hypothesis": {"kind": "stump"}}],
)
def test_damaged_round_is_refused(damage):
    stored = {
        **{"number": 1, "feature": 0, "cut": 0.5, "vote": 1, "edge": 0.3, "z": 0.9},
        **{"alpha": 0.31, "spent_micros": 7, "first_quality": 0, "is_smoothing": False},
    }

    with pytest.raises(RefusedError):
        rounds_from_json([stored | damage], Catalogue((Feature("a"),)), 1)


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_state_survives_the_round_trip(trained, policy):
    ensemble = trained[0].ensemble
    stop = StopRule(certain=False, confidence=0.99, max_questions=9)
    state = anytime.start(ensemble, 9_000_000, 5, {0: 1.5}, policy, stop)
    if state.next_feature_idx is not None:
        state = anytime.observe(ensemble, state, state.next_feature_idx, "ordered")

    document = json.loads(json.dumps(state_to_json(state, ensemble.catalogue)))
    back = state_from_json(document, ensemble.catalogue)

    assert repr(back) == repr(state)


def test_fresh_unlimited_state_survives(trained):
    ensemble = trained[0].ensemble
    state = anytime.start(ensemble, None)

    document = json.loads(json.dumps(state_to_json(state, ensemble.catalogue)))

    assert repr(state_from_json(document, ensemble.catalogue)) == repr(state)


def edits():
    yield ("format",), "other"
    yield ("version",), 1
    yield ("version",), 3
    yield ("name",), 3
    yield ("target",), None
    yield ("algorithm",), "magic"
    yield ("policy",), "other"
    yield ("params",), []
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
    yield ("calibrations", "ordered", 0, "slope_known"), -1
    yield ("error_costs",), [[0, 1]]
    yield ("error_costs",), [[0, 1], [1, "x"]]
    yield ("curve", "rows"), -1
    yield ("curve", "errors"), [0.1]
    yield ("curve", "budgets_micros"), 3


@pytest.mark.parametrize(("path", "value"), list(edits()))
def test_damaged_model_is_refused(document, path, value):
    damaged = copy.deepcopy(document)
    *way, last = path
    place = damaged
    for step in way:
        place = place[step]
    place[last] = value

    with pytest.raises(RefusedError):
        model_from_json(damaged)


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
            calibrations=(
                ("ordered", (Calibration(0.5, -1.0, 2.0, 3.0),)),
                ("sample", (Calibration(0.0, 0.25, 1.0, 1.5),)),
            ),
            error_costs=((0.0, 1.0), (4.0, 0.0)),
        ),
        target="y",
        params={"rounds": 2},
        curve=Curve((0, None), (0.25, 0.125), (0.25, 0.5), (0.0, 1.5), (0, 2), 8),
        card={"rows": 8},
    )


def test_model_of_version_1_is_written_as_one_of_version_2():
    model = model_from_json(json.loads(VERSION_1))

    document = json.loads(json.dumps(model_to_json(model)))

    assert document["version"] == 2
    assert model_from_json(document) == model


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
        (("calibrations",), None),
        (("calibrations", "ordered"), 1),
        (("calibrations", "ordered", "slope_known"), -1),
        (("classes",), [{"label": str(k), "display": str(k)} for k in range(3)]),
    ],
)
def test_damaged_model_of_version_1_is_refused(path, value):
    document = json.loads(VERSION_1)
    *way, last = path
    place = document
    for step in way:
        place = place[step]
    place[last] = value

    with pytest.raises(RefusedError):
        model_from_json(document)


def three_classes(*hypotheses) -> Model:
    """A model of three classes with trees and products, not from any training."""
    fitted = tuple(Calibration(k, 0.5, 1.0, 2.0) for k in (-1.0, 0.0, 1.0))
    ensemble = Ensemble(
        catalogue=Catalogue(
            (Feature("n"), Feature("c", "category", categories=("p", "q")))
        ),
        classes=tuple(ClassLabel(label, label) for label in "abc"),
        hypotheses=hypotheses,
        alphas=(0.5,) * len(hypotheses),
        priors=(0.5, 0.25, 0.25),
        algorithm="adaboost",
        policy="ordered",
        calibrations=(("ordered", fitted),),
    )
    return Model("m", ensemble)


NUMBER = Stump(0, 0.5, (1, -1, -1))
KIND = Stump(1, 1.0, (-1, -1, 1), is_category=True)
TREE = Tree((NUMBER, KIND, NUMBER), ((LEAF, 1), (2, LEAF), (LEAF, LEAF)))
PRODUCT = Product((NUMBER, KIND))


@pytest.mark.parametrize("is_multilabel", [False, True])
def test_trees_and_products_of_several_classes_survive_the_round_trip(is_multilabel):
    model = three_classes(TREE, PRODUCT, KIND)
    ensemble = replace(model.ensemble, is_multilabel=is_multilabel)
    model = replace(model, ensemble=ensemble)

    document = json.loads(json.dumps(model_to_json(model)))

    assert model_from_json(document) == model


def test_rounds_of_trees_and_products_survive_the_round_trip():
    rounds = tuple(
        Round(number, hypothesis, 0.3, 0.31, 0.95, 7)
        for number, hypothesis in enumerate((TREE, PRODUCT, KIND), start=1)
    )
    catalogue = three_classes().ensemble.catalogue

    document = json.loads(json.dumps(rounds_to_json(rounds)))

    assert rounds_from_json(document, catalogue, 3) == rounds


@pytest.mark.parametrize(
    ("position", "field", "value"),
    [
        (0, "stumps", []),
        (0, "stumps", 3),
        (0, "children", None),
        (0, "children", [[None, 1], [2, None]]),
        (0, "children", [[None, 1], [2, None], [None]]),
        (0, "children", [[None, 1], [None, None], [None, None]]),
        (0, "children", [[1, 1], [2, None], [None, None]]),
        (0, "children", [[None, 1], [1, 2], [None, None]]),
        (0, "children", [[None, 1], [2, 0], [None, None]]),
        (0, "children", [[None, 1], [2, 3], [None, None]]),
        (0, "children", [[None, True], [2, None], [None, None]]),
        (1, "stumps", []),
        (1, "stumps", [{"kind": "stump", "feature": 0, "cut": 1, "votes": [1]}]),
        (2, "votes", [1]),
    ],
)
def test_damaged_hypothesis_is_refused(position, field, value):
    document = model_to_json(three_classes(TREE, PRODUCT, KIND))
    document = json.loads(json.dumps(document))
    document["hypotheses"][position][field] = value

    with pytest.raises(RefusedError):
        model_from_json(document)


@pytest.mark.parametrize("raw", [None, [], "text", {}])
def test_what_is_no_model_is_refused(raw):
    with pytest.raises(RefusedError):
        model_from_json(raw)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "askless-model"),
        ("policy", "x"),
        ("budget_micros", -1),
        ("features", {"zz": {"outcome": "value", "value": 1}}),
        ("features", {"n": {"outcome": "lost", "value": 1}}),
        ("next_feature", "zz"),
        ("stop_reason", "bored"),
        ("is_ended", 1),
        ("charges", [{"feature": "zz", "amount_micros": 1}]),
        ("history", [{"feature": "n", "outcome": "known", "charged_micros": 0}]),
    ],
)
def test_damaged_state_is_refused(trained, field, value):
    ensemble = trained[0].ensemble
    document = state_to_json(anytime.start(ensemble, 5), ensemble.catalogue)

    with pytest.raises(RefusedError):
        state_from_json(document | {field: value}, ensemble.catalogue)
