"""Models as documents: the way there and back, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from askless.app.documents.files import model_text
from askless.app.documents.model.model import model_from_json
from askless.app.documents.shape import MAX_REFUSALS
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.errors import RefusedError
from askless.core.model.ensemble import BudgetRange
from askless.core.model.hypotheses import LEAF, Product, Stump, Tree
from askless.core.model.model import Model
from askless.core.model.votes import full_votes
from tests import strategies
from tests.cascades import cascades, two_stages
from tests.documents import document_of, through_json
from tests.small import ensemble_of
from tests.strategies import calibration

VOTES = (1, -1, 1)
NUMBER = Stump(0, 0.5, VOTES)
KIND = Stump(1, 1.0, (-1, -1, 1), is_category=True)
TREE = Tree((NUMBER, NUMBER, KIND), ((1, 2), (LEAF, LEAF), (LEAF, LEAF)))
PRODUCT = Product((NUMBER, KIND))


def three_classes(*hypotheses) -> Model:
    """A model of three classes with trees and products, not from any training."""
    number, kind = Feature("n"), Feature("c", "category", categories=("p", "q"))
    fitted = calibration((-1.0, 0.0, 1.0), 2.0)
    hypotheses = hypotheses or (TREE, PRODUCT, KIND)
    ensemble = ensemble_of(
        hypotheses,
        Catalogue((number, kind)),
        n_classes=3,
        alphas=(0.5,) * len(hypotheses),
        calibrations=(("ordered", fitted),),
    )
    return Model("m", ensemble)


def baseline() -> Model:
    """A model whose tree votes below its cuts as it likes, like scikit-learn's."""
    stumps = (Stump(0, 0.5, (1,)), Stump(1, 0.5, (-1,)))
    tree = Tree(stumps, ((LEAF, 1), (LEAF, LEAF)), ((1,), (-1,)))
    plain = replace(two_stages(), cascade=None, policy="ordered")
    return Model("m", replace(plain, hypotheses=(tree,), alphas=(1.0,)))


def billed_model() -> Model:
    """A model of a bundle and a feature that are billed by call."""
    features = (
        Feature("a", billing="per_call"),
        Feature("b", cost=0, group="g", billing="per_call"),
        Feature("c"),
    )
    groups = (Group("g", price=2, billing="per_call"), Group("h", fee=1))
    catalogue = Catalogue((*features, Feature("d", group="h")), groups)
    return Model("m", ensemble_of((Stump(0, 0.5, (1,)),), catalogue))


def test_billing_stands_in_a_model_where_it_is_by_call() -> None:
    document = document_of(billed_model())

    assert (
        through_json(billed_model()).ensemble.catalogue
        == billed_model().ensemble.catalogue
    )
    assert ["billing" in feature for feature in document["features"]] == [
        True,
        True,
        False,
        False,
    ]
    assert ["billing" in group for group in document["groups"]] == [True, False]


def test_a_bundle_of_a_model_has_one_billing() -> None:
    document = document_of(billed_model())
    del document["features"][1]["billing"]

    with pytest.raises(RefusedError, match="the billing of the bundle"):
        model_from_json(document)


@pytest.fixture
def document(trained_model):
    return document_of(trained_model)


def test_trained_model_survives_the_round_trip(trained_model):
    assert through_json(trained_model) == trained_model


@given(strategies.ensembles() | cascades())
def test_any_model_survives_the_round_trip(ensemble):
    model = Model("m", ensemble, "target")

    assert through_json(model) == model


def test_how_cells_are_read_survives_the_round_trip():
    kind = Feature("c", "category", categories=("other", "p"), has_other=True)
    number = Feature("n", missing=("-9", "n.d."))
    model = three_classes(NUMBER)
    catalogue = Catalogue((number, kind))
    model = replace(model, ensemble=replace(model.ensemble, catalogue=catalogue))

    document = document_of(model)

    assert model_from_json(document).ensemble.catalogue == catalogue
    assert "has_other" not in document["features"][0]
    assert "missing" not in document["features"][1]


def labelled(*labels: str) -> Model:
    """A model of three classes whose category has labels."""
    model = three_classes()
    number, kind = model.ensemble.catalogue.features
    catalogue = Catalogue((number, replace(kind, category_labels=labels)))
    ensemble = replace(model.ensemble, catalogue=catalogue)
    return replace(model, ensemble=ensemble, target_label="What it is")


def test_labels_survive_the_round_trip_and_leave_no_trace_where_there_are_none():
    plain = document_of(three_classes())

    assert through_json(labelled("A p", "A q")) == labelled("A p", "A q")
    assert "target_label" not in plain
    assert "category_labels" not in plain["features"][1]


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        (("A p",), "must be one per category"),
        (("Same", "same"), "must not be the name or the label of"),
        (("q", "A q"), "must not be the name or the label of"),
    ],
)
def test_labels_that_no_category_or_two_could_have_are_refused(labels, rule):
    with pytest.raises(RefusedError, match=rule) as caught:
        model_from_json(document_of(labelled(*labels)))

    fields = {refusal.field for refusal in caught.value.refusals}
    assert fields == {"model.features[1].category_labels"}


def test_model_whose_others_have_no_category_is_refused():
    kind = Feature("c", "category", categories=("p", "q"), has_other=True)
    model = three_classes(KIND)
    catalogue = Catalogue((Feature("n"), kind))
    wrong = replace(model, ensemble=replace(model.ensemble, catalogue=catalogue))

    with pytest.raises(
        RefusedError, match=r"model.features\[1\].categories: must have"
    ):
        model_from_json(document_of(wrong))


def test_labels_of_several_classes_at_once_survive_the_round_trip():
    model = three_classes()
    model = replace(model, ensemble=replace(model.ensemble, is_multilabel=True))

    assert through_json(model) == model


def test_stump_tree_and_product_of_one_stump_predict_alike_after_the_codec():
    ones = (NUMBER, Tree((NUMBER,), ((LEAF, LEAF),)), Product((NUMBER,)))

    again = through_json(three_classes(*ones)).ensemble

    votes, _ = full_votes(again, np.array([[1.0, 0], [0, 0]]))
    assert votes.tolist() == [[1.5, -1.5, 1.5], [-1.5, 1.5, -1.5]]


def test_large_amounts_of_a_curve_are_exact(document):
    document["curve"]["max_spends_micros"][-1] = 2**53 + 1

    model = model_from_json(document)

    assert model.curve.max_spends[-1] == 2**53 + 1


def put(value, document, path):
    """Put a value into a document where the path leads."""
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    place = document
    for step in way:
        place = place[step]
    place[last] = value


# What is no tree could be walked without end.
CHILDREN: list[Any] = [
    [[1, 1], [None, None], [None, None]],
    [[1, 2], [2, None], [None, None]],
    [[1, 2], [0, None], [None, None]],
    [[1, 2], [1, None], [None, None]],
    [[0, 1], [2, None], [None, None]],
    [[2, None], [None, None], [1, None]],
    [[1, None], [None, None], [None, None]],
    [[1, 2, None], [None, None], [None, None]],
    [[1.0, 2], [None, None], [None, None]],
]


@pytest.mark.parametrize("children", CHILDREN, ids=str)
def test_children_that_are_no_tree_are_refused(children):
    document = document_of(three_classes())
    document["hypotheses"][0]["children"] = children

    with pytest.raises(RefusedError, match="hypotheses"):
        model_from_json(document)


@pytest.mark.parametrize("version", [2, 4, None, "3"])
def test_model_of_another_version_is_refused_once(document, version):
    with pytest.raises(RefusedError) as refused:
        model_from_json(document | {"version": version, "later": 1})

    assert [str(refusal) for refusal in refused.value.refusals] == [
        "model.version: must be 3; train the model again, or use the version of "
        f"Askless that wrote it; found {version!r}"
    ]


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

    assert text == json.dumps(raw, ensure_ascii=False, indent=1) + "\n"


def test_every_wrong_field_is_refused_by_its_path(document):
    put("x", document, "features.0.cost_micros")
    put("forest", document, "hypotheses.1.kind")
    del document["target"]

    with pytest.raises(RefusedError) as refused:
        model_from_json(document)

    assert [str(refusal) for refusal in refused.value.refusals] == [
        "model.target: is required",
        "model.features[0].cost_micros: must be an integer; found 'x'",
        "model.hypotheses[1].kind: must be one of stump, tree, product; found 'forest'",
    ]


def refused_fields(document):
    with pytest.raises(RefusedError) as refused:
        model_from_json(document)
    return [refusal.field for refusal in refused.value.refusals]


def test_every_broken_hypothesis_is_refused_by_its_path(document):
    put("forest", document, "hypotheses.1.kind")
    put("low", document, "hypotheses.3.cut")
    put([3], document, "hypotheses.4.votes")
    put(-1, document, "features.0.cost_micros")
    put(-1, document, "features.2.cost_micros")

    assert refused_fields(document) == [
        "model.features[0].cost_micros",
        "model.features[2].cost_micros",
        "model.hypotheses[1].kind",
        "model.hypotheses[3].cut",
        "model.hypotheses[4].votes[0]",
    ]


def test_hypotheses_are_refused_with_what_else_does_not_fit(document):
    put("nowhere", document, "features.0.group")
    put([0.5], document, "priors")
    put(9, document, "hypotheses.0.feature")
    put([1, 1], document, "hypotheses.0.votes")
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
    put(10**400, document, "hypotheses.0.cut")

    with pytest.raises(RefusedError, match="cut"):
        model_from_json(document)


def test_cascade_of_three_classes_is_refused():
    cascade = two_stages().cascade
    model = three_classes(*[NUMBER] * 3)
    ensemble = replace(model.ensemble, cascade=cascade)

    with pytest.raises(RefusedError, match=r"cascade\.stages"):
        through_json(replace(model, ensemble=ensemble))


def test_each_broken_rule_of_a_tree_is_refused_by_its_path():
    document = document_of(three_classes(TREE))
    document["hypotheses"][0]["stumps"][2] |= {"cut": 7, "votes": [1]}
    document["hypotheses"][0] |= {"children": [[1, 1]], "below_votes": [[1], [0]]}

    assert refused_fields(document) == [
        "model.hypotheses[0].stumps[2].cut",
        "model.hypotheses[0].stumps[2].votes",
        "model.hypotheses[0].children",
        "model.hypotheses[0].below_votes",
        "model.hypotheses[0].below_votes[0]",
        "model.hypotheses[0].below_votes[1]",
    ]


def test_ranges_of_budgets_come_back_from_json():
    ranges = (BudgetRange(5, "sample"), BudgetRange(None, "ordered"))
    model = Model("m", replace(two_stages(), policy="ordered", ranges=ranges))

    assert through_json(model).ensemble.ranges == ranges


@pytest.mark.parametrize(
    ("ends", "policy", "field"),
    [
        ([5, 4, None], "ordered", "model.ranges"),
        ([5, 6], "ordered", "model.ranges"),
        ([None], "panels", "model.ranges[0].policy"),
    ],
)
def test_ranges_that_do_not_fit_are_refused(ends, policy, field):
    raw = document_of(Model("m", two_stages()))
    raw["ranges"] = [{"up_to_micros": end, "policy": policy} for end in ends]

    assert refused_fields(raw) == [field]


@pytest.mark.parametrize(
    ("pairs", "fields"),
    [
        ([(0, 0), (5, 0), (7, 7), (None, 7)], []),
        ([(5, 5), (4, 4)], ["model.knees"] * 2),
        ([(0, 0), (5, 3)], ["model.knees"]),
        ([(5, 7), (7, 7)], ["model.knees"]),
        ([(5, None), (None, None)], ["model.knees"]),
        ([(0, 0), (5, 5), (7, 0)], ["model.knees"]),
    ],
)
def test_knees_are_budgets_that_are_worthwhile_themselves(pairs, fields):
    raw = document_of(Model("m", two_stages()))
    raw["knees"] = [
        {"budget_micros": budget, "worthwhile_micros": part} for budget, part in pairs
    ]

    if fields:
        assert refused_fields(raw) == fields
    else:
        kept = model_from_json(raw).ensemble.knees
        assert [(knee.budget, knee.worthwhile) for knee in kept] == pairs
