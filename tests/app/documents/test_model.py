import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.documents.files import model_text
from app.documents.model import UNCALIBRATED, model_from_json, model_to_json
from app.documents.shape import MAX_REFUSALS
from core.errors import RefusedError
from core.model.model import Model


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
    yield ("calibrations", "bogus"), None
    yield ("classes", 1, "label"), "0"
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


def test_model_of_version_2_is_read_without_its_calibrations(document):
    model = model_from_json(document)
    one = {"offset": 0.5, "drift": -1.0, "slope_unknown": 2.0, "slope_known": 3.0}
    document |= {"version": 2, "calibrations": {"ordered": [one]}}

    read = model_from_json(document)

    plain = replace(model.ensemble, calibrations=())
    curve = replace(model.curve, errors_calibrated=model.curve.errors)
    card = model.card | {"calibration": UNCALIBRATED}
    assert read == replace(model, ensemble=plain, curve=curve, card=card)


@pytest.mark.parametrize("raw", [None, [], "text", {}])
def test_what_is_no_model_is_refused(raw):
    with pytest.raises(RefusedError):
        model_from_json(raw)


GOLDEN = Path(__file__).parent / "golden"
MODELS = ["ordered", "sample", "cascade", "curve", "selected", "forest"]
MODELS += ["classes_tree", "classes_product"]


@pytest.mark.parametrize("name", MODELS)
def test_model_written_before_is_written_again_to_the_byte(name):
    raw = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))

    text = model_text(model_from_json(raw))

    if raw["calibrations"]:
        raw["card"]["calibration"] = UNCALIBRATED
        raw["curve"]["errors_calibrated"] = raw["curve"]["errors"]
    raw |= {"version": 3, "calibrations": {}}
    assert text == json.dumps(raw, ensure_ascii=False, indent=1) + "\n"


def test_every_wrong_field_is_refused_by_its_path(document):
    put("x", document, ("features", 0, "cost_micros"))
    del document["target"]

    with pytest.raises(RefusedError) as refused:
        model_from_json(document)

    assert [str(one) for one in refused.value.refusals] == [
        "model.target: is required",
        "model.features[0].cost_micros: must be an integer; found 'x'",
    ]


def refused_fields(document):
    with pytest.raises(RefusedError) as refused:
        model_from_json(document)
    return [one.field for one in refused.value.refusals]


def test_every_broken_hypothesis_is_refused_by_its_path(document):
    put("forest", document, ("hypotheses", 1, "kind"))
    put("low", document, ("hypotheses", 3, "cut"))
    put([3], document, ("hypotheses", 4, "votes"))
    put(-1, document, ("features", 0, "cost_micros"))
    put(-1, document, ("features", 2, "cost_micros"))

    assert refused_fields(document) == [
        "model.features[0].cost_micros",
        "model.features[2].cost_micros",
        "model.hypotheses[1].kind",
        "model.hypotheses[3].cut",
        "model.hypotheses[4].votes[0]",
    ]


def test_hypotheses_are_refused_with_what_else_does_not_fit(document):
    put("nowhere", document, ("features", 0, "group"))
    put([0.5], document, ("priors",))
    put(9, document, ("hypotheses", 0, "feature"))
    put([1, 1], document, ("hypotheses", 0, "votes"))
    document["hypotheses"][2].pop("alpha")

    assert refused_fields(document) == [
        "model.features[0].group",
        "model.priors",
        "model.hypotheses[0].feature",
        "model.hypotheses[0].votes",
        "model.hypotheses[2].alpha",
    ]


@pytest.mark.parametrize("damage", [{"kind": "forest"}, {"feature": 9}])
def test_no_more_than_the_first_broken_rules_are_told(document, damage):
    document["hypotheses"] = [document["hypotheses"][0] | damage] * 1000

    assert len(refused_fields(document)) == MAX_REFUSALS


def test_number_that_no_double_holds_is_refused(document):
    put(10**400, document, ("hypotheses", 0, "cut"))

    with pytest.raises(RefusedError, match="cut"):
        model_from_json(document)
