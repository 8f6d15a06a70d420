import json
from dataclasses import replace

import pytest

from app.documents.checkpoint import rounds_from_json, rounds_to_json
from app.documents.model import model_from_json, model_to_json
from core.errors import RefusedError
from core.model.ensemble import Ensemble
from core.model.hypotheses import LEAF, Product, Stump, Tree
from core.model.model import Model
from core.table.catalogue import Catalogue, Feature
from core.table.dataset import ClassLabel
from core.training.rounds import Round
from tests.strategies import calibration


def three_classes(*hypotheses) -> Model:
    """A model of three classes with trees and products, not from any training."""
    fitted = calibration((-1.0, 0.0, 1.0), 2.0)
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


def test_each_broken_rule_of_a_tree_is_refused_by_its_path():
    document = json.loads(json.dumps(model_to_json(three_classes(TREE))))
    document["hypotheses"][0]["stumps"][1] |= {"cut": 7, "votes": [1]}
    document["hypotheses"][0] |= {"children": [[1, 1]], "below_votes": [[1], [0]]}

    with pytest.raises(RefusedError) as refused:
        model_from_json(document)

    assert [one.field for one in refused.value.refusals] == [
        "model.hypotheses[0].stumps[1].cut",
        "model.hypotheses[0].stumps[1].votes",
        "model.hypotheses[0].children",
        "model.hypotheses[0].below_votes",
        "model.hypotheses[0].below_votes[0]",
        "model.hypotheses[0].below_votes[1]",
    ]


@pytest.mark.parametrize(
    ("position", "field", "value"),
    [
        (0, "stumps", []),
        (0, "below_votes", []),
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
