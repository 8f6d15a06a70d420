import json

import pytest

from core.codec import rounds_from_json, rounds_to_json
from core.errors import RefusedError
from core.model.hypotheses import Stump
from core.table.catalogue import Catalogue, Feature
from core.training.rounds import Memory, Round


def test_rounds_survive_the_round_trip(trained_model, trained_rounds):
    catalogue = trained_model.ensemble.catalogue

    document = json.loads(json.dumps(rounds_to_json(trained_rounds)))

    assert rounds_from_json(document, catalogue, 1) == trained_rounds


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
