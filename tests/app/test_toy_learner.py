"""Spec, command line and model files know a learner that a test adds by one class.

A new kind of hypothesis also needs a shape of its own in
`askless.app.documents.model.hypotheses`: the documents are a closed union, which no
test can add to.
"""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from askless.app.documents.spec.spec import read_spec
from askless.core.errors import RefusedError
from askless.core.training.learners import LEARNERS
from askless.core.training.learners.product import ProductLearner
from tests.agreement import Agreement, AgreementLearner
from tests.app.clinic import clinic, model_json


@dataclass(frozen=True)
class Shy(ProductLearner):
    """A learner of its own name, whose hypotheses are of a known kind."""

    name: ClassVar[str] = "shy"


@pytest.fixture(autouse=True)
def learners(monkeypatch):
    for one in (Shy, AgreementLearner):
        monkeypatch.setitem(LEARNERS, one.name, one)


def test_learner_of_a_known_kind_is_trained_and_stored(tmp_path, run, table, spec):
    data, path, model = tmp_path / "d.csv", tmp_path / "s.json", tmp_path / "m.json"
    data.write_bytes(table)
    params = {"learner": "shy", "rounds": 3}
    path.write_text(json.dumps(spec | {"algorithm": "adaboost", "params": params}))

    trained = run("train", data, "--spec", path, "-o", model)
    evaluated = run("evaluate", model, data, "--budgets", "1,inf", "--json")

    assert (trained.code, evaluated.code) == (0, 0)
    assert json.loads(model.read_text())["params"]["learner"] == "shy"


def test_spec_names_every_learner():
    raw = {"target": "y", "params": {"learner": "bold"}}

    with pytest.raises(RefusedError, match="stump, tree, product, shy, agreement"):
        read_spec(raw)


def test_new_kind_of_hypothesis_is_stored_by_a_shape_of_its_own_only():
    stumps = clinic().hypotheses[:2]
    ensemble = replace(clinic(), hypotheses=(Agreement(stumps),), alphas=(1.0,))

    with pytest.raises(KeyError, match="Agreement"):
        model_json(ensemble, "clinic")
