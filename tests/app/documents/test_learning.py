"""A model that can go on learning, as MODEL.json: the same bits, or a refusal."""

import json
from base64 import b64decode, b64encode
from copy import deepcopy
from functools import cache, partial
from itertools import pairwise
from typing import Any
from zlib import compress, decompress

import numpy as np
import pytest

from askless.app.documents.files import model_text
from askless.app.documents.model.model import model_from_json
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.pipeline.online.learning import Learning, LearntRows
from askless.core.pipeline.online.learning_state import start_learning
from askless.core.training.params import BoostParams
from tests.baselines import mixed
from tests.conftest import IS_COMPILED
from tests.documents import document_of, through_json
from tests.small import finish, train

PARAMS = BoostParams("online", rounds=8, half_life=300)
N_ROWS = 500 if IS_COMPILED else 30


@cache
def trained(n_classes: int = 2, folds: int = 2) -> Model:
    dataset = mixed(3, n_classes, n_samples=120, share_missing=0.1)
    return finish(train(dataset, PARAMS, folds=folds, target="y"))


@cache
def kept_document() -> dict[str, Any]:
    """Return the document of a model, to be copied before it is changed."""
    return document_of(trained())


def begun() -> Model:
    dataset = mixed(3)
    return start_learning(dataset.catalogue, dataset.classes, PARAMS)


def some_rows(n_classes: int = 2) -> LearntRows:
    dataset = mixed(4, n_classes, n_samples=N_ROWS, share_missing=0.1)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N_ROWS)
    return LearntRows(dataset.values, dataset.targets, weights)


def learn(model: Model, rows: LearntRows) -> Model:
    learning = Learning(model)
    learning.learn(rows)
    return learning.finish()[0]


@pytest.mark.parametrize(
    "make",
    [trained, partial(trained, 3, folds=0), begun],
    ids=["two", "three", "begun"],
)
def test_stopped_and_taken_up_after_any_row_gives_equal_bytes(make):
    model = make()
    rows = some_rows(len(model.ensemble.classes))
    # After each of the first rows, then now and then.
    stops = [*range(1, 20), *range(20, N_ROWS, 97), N_ROWS]

    whole, now = model_text(learn(model, rows)), model
    for start, stop in pairwise([0, *stops]):
        now = through_json(learn(now, rows.take(slice(start, stop))))

    assert model_text(now) == whole


def test_state_takes_few_bytes():
    document = document_of(trained())

    assert len(json.dumps(document["learning"])) < 40_000


def with_array(document: dict[str, Any], name: str, place: Any, value: Any) -> None:
    """Replace a number in an array of the state."""
    held = document["learning"]["state"][name]
    data = decompress(b64decode(held["data"]))
    array = np.frombuffer(data, dict(KINDS)[name]).reshape(held["shape"])
    changed = array.copy()
    changed[place] = value
    held["data"] = b64encode(compress(changed.tobytes())).decode()


KINDS = [("alphas", "<f8"), ("counts", "<i8"), ("stumps", "<i8"), ("votes", "i1")]


def cut_off(document: dict[str, Any]) -> None:
    held = document["learning"]["state"]["sums"]
    held["data"] = held["data"][: len(held["data"]) // 8 * 4]


def swell(document: dict[str, Any]) -> None:
    """Bytes that unpack to far more than the shape says."""
    held = document["learning"]["state"]["sums"]
    held["data"] = b64encode(compress(bytes(10**7))).decode()


def put(value: Any, *path: str) -> Any:
    def change(document: dict[str, Any]) -> None:
        *above, last = path
        for name in above:
            document = document[name]
        document[last] = value

    return change


STATE, BUDGET_RECORD = ("learning", "state"), ("learning", "budget_record")


def test_document_of_before_has_no_errors_under_budgets():
    document = deepcopy(document_of(trained()))
    del document["learning"]["budgets_micros"], document["learning"]["budget_record"]

    learnt = learn(model_from_json(document), some_rows())

    assert learnt.card["learnt"]["budgets"] == []


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("learning.state.sums.data", cut_off),
        ("learning.state.sums.data", swell),
        ("learning.state.sums.data", put("AAAA", *STATE, "sums", "data")),
        ("learning.state.sums.shape", put([1, 1, 1], *STATE, "sums", "shape")),
        ("learning.state.alphas.shape", put([3, 10**9], *STATE, "alphas", "shape")),
        ("learning.state.counts", lambda raw: with_array(raw, "counts", 0, 99)),
        ("learning.state.stumps", lambda raw: with_array(raw, "stumps", (0, 0), 99)),
        ("learning.state.votes", lambda raw: with_array(raw, "votes", (0, 0), 0)),
        ("learning.state.alphas", lambda raw: with_array(raw, "alphas", 0, np.nan)),
        ("learning.state.alphas", lambda raw: with_array(raw, "alphas", 0, 9.0)),
        ("learning.budget_record", put([], "learning", "budgets_micros")),
        ("learning.budgets_micros[0]", put([-1], "learning", "budgets_micros")),
        ("learning.budget_record[0][0]", put([[[1, 1]] * 2], *BUDGET_RECORD)),
        # What the state says is not what the hypotheses are.
        ("hypotheses", lambda raw: with_array(raw, "alphas", 0, 1.9)),
    ],
)
def test_tampered_learner_is_refused_by_name(field, change):
    document = deepcopy(kept_document())
    change(document)

    with pytest.raises(RefusedError) as refused:
        model_from_json(document)

    fields = [
        refusal.field.removeprefix("model.") for refusal in refused.value.refusals
    ]
    assert any(one.startswith(field) for one in fields), fields


def test_calibration_of_another_size_is_refused():
    document = deepcopy(kept_document())
    link = document["calibrations"]["sample"]
    document["learning"]["first_calibrations"]["sample"] = {
        **link,
        "offsets": [[0.0, 0.0]] * 5,
    }

    with pytest.raises(RefusedError, match=r"first_calibrations\.sample"):
        model_from_json(document)
