import json
from pathlib import Path

import pytest
from hypothesis import given

from askless.app.documents.files import load_model
from askless.app.documents.model.checkpoint import rounds_from_json, rounds_to_json
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.errors import RefusedError
from askless.core.model.hypotheses import Stump
from askless.core.training.rounds import Memory, Round
from tests import strategies


def test_rounds_survive_the_round_trip(trained_model, trained_rounds):
    catalogue = trained_model.ensemble.catalogue

    document = json.loads(json.dumps(rounds_to_json(trained_rounds)))

    assert rounds_from_json(document, catalogue, 1) == trained_rounds


def test_rounds_keep_the_memory_of_the_rule():
    one = Round(1, Stump(0, 0.5, (-1,)), 0.3, 0.31, 0.95, 7, Memory(0.25, True))
    catalogue = Catalogue((Feature("a"),))

    assert rounds_from_json(rounds_to_json([one]), catalogue, 1) == (one,)


@given(strategies.ensembles(n_classes=3))
def test_rounds_of_any_hypotheses_survive_the_round_trip(ensemble):
    rounds = tuple(
        Round(number, hypothesis, 0.3, 0.31, 0.95, 7)
        for number, hypothesis in enumerate(ensemble.hypotheses, start=1)
    )

    document = json.loads(json.dumps(rounds_to_json(rounds)))

    assert rounds_from_json(document, ensemble.catalogue, 3) == rounds


def test_rounds_stored_before_are_stored_again_to_the_byte():
    golden = Path(__file__).parent / "golden"
    text = (golden / "checkpoint.json").read_text("utf-8")
    model = load_model(golden / "ordered.json")

    rounds = rounds_from_json(json.loads(text), model.ensemble.catalogue, 1)

    assert [round.hypothesis for round in rounds] == list(model.ensemble.hypotheses)
    assert json.dumps(rounds_to_json(rounds)) == text


STUMP = {"kind": "stump", "feature": 0, "cut": 0.5, "votes": [1]}


@pytest.mark.parametrize(
    "damage",
    [
        {"hypothesis": None},
        {"hypothesis": STUMP | {"votes": [0]}},
        {"hypothesis": STUMP | {"feature": 1}},
        {"hypothesis": {"kind": "stump"}},
        {"edge": 2},
        {"number": 0},
        {"is_smoothing": 1},
    ],
)
def test_damaged_round_is_refused(damage):
    stored = {
        **{"number": 1, "hypothesis": STUMP, "edge": 0.3, "alpha": 0.31, "z": 0.9},
        **{"spent_micros": 7, "first_quality": 0, "is_smoothing": False},
    }

    assert len(rounds_from_json([stored], Catalogue((Feature("a"),)), 1)) == 1
    with pytest.raises(RefusedError, match="checkpoint"):
        rounds_from_json([stored | damage], Catalogue((Feature("a"),)), 1)
