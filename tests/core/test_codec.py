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
from core.training import train
from core.types import (
    Catalogue,
    ClassLabel,
    Dataset,
    Feature,
    Group,
    Memory,
    Model,
    Round,
    StopRule,
    Stump,
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

    assert rounds_from_json(document, model.ensemble.catalogue) == tuple(rounds)


def test_rounds_keep_the_memory_of_the_rule():
    one = Round(1, Stump(0, 0.5, -1), 0.3, 0.31, 0.95, 7, Memory(0.25, True))
    catalogue = Catalogue((Feature("a"),))

    assert rounds_from_json(rounds_to_json([one]), catalogue) == (one,)


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
    yield ("version",), 2
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
    yield ("stumps", 0, "feature"), 3
    yield ("stumps", 0, "feature"), -1
    yield ("stumps", 0, "vote"), 0
    yield ("stumps", 0, "alpha"), float("nan")
    yield ("stumps", 0, "alpha"), -1
    yield ("stumps", 0, "cut"), "low"
    yield ("stumps", 0, "cut"), float("inf")
    yield ("calibrations",), None
    yield ("calibrations", "ordered", "slope_known"), -1
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
    document["stumps"][0] |= {"feature": 1, "cut": 3}

    with pytest.raises(RefusedError, match="cut"):
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
