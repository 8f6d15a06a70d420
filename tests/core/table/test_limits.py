"""A spec's question, `min` and `max`: in rows, in answers, in whatever door."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askless.app.documents.files import model_text, read_model
from askless.app.documents.spec.spec import read_spec
from askless.core.catalogue.catalogue import Feature
from askless.core.errors import AnswerError, RefusedError
from askless.core.pipeline.check import check_training
from askless.core.pipeline.train import train
from askless.core.table.answer_values import check_answer, parse_answer
from tests.small import finish

AGE = Feature("age", least=0.0, most=120.0, unit="years")


def spec_of(**feature: Any) -> dict[str, Any]:
    return {
        "name": "small",
        "target": "y",
        "features": [{"name": "n", "type": "number"} | feature],
        "algorithm": "adaboost_bt_smoothed",
        "params": {"rounds": 2},
    }


@pytest.mark.parametrize("value", [0, 120, 63.5])
def test_value_within_the_limits_is_taken(value: float) -> None:
    assert check_answer(AGE, value) == value


@pytest.mark.parametrize("value", [-0.1, 630, 120.1])
def test_value_outside_is_refused_with_the_limits_and_the_unit(value: float) -> None:
    with pytest.raises(AnswerError) as refused:
        parse_answer(AGE, str(value))

    assert refused.value.refusals[0].rule == "must be from 0 to 120 years"


@pytest.mark.parametrize(
    ("value_range", "hint"),
    [(None, ""), ((29.0, 77.0), "; training saw 29 to 77 years")],
)
def test_number_without_end_is_refused_with_the_range_that_training_saw(
    value_range: tuple[float, float] | None, hint: str
) -> None:
    feature = Feature("age", unit="years", value_range=value_range)
    with pytest.raises(AnswerError) as refused:
        check_answer(feature, float("inf"))

    assert refused.value.refusals[0].rule == f"must be a finite number{hint}"


@pytest.mark.parametrize(
    ("limits", "rule"),
    [({"least": 0.0}, "must be at least 0"), ({"most": 9.0}, "must be at most 9")],
)
def test_one_limit_alone_is_told(limits: dict[str, float], rule: str) -> None:
    assert Feature("n", **limits).limit_rule == rule  # type: ignore[arg-type]  # numbers


@pytest.mark.parametrize(
    ("feature", "field", "rule"),
    [
        ({"min": 5, "max": 5}, "features[0].max", "must be above the lower limit"),
        ({"min": 5, "type": "category"}, "features[0].min", "only a number has limits"),
        ({"max": 1e300}, "features[0].max", "must be at most"),
        ({"max": "9"}, "features[0].max", "must be a number"),
        ({"question": ""}, "features[0].question", "must"),
    ],
)
def test_limits_that_make_no_sense_are_refused_by_name(
    feature: dict[str, Any], field: str, rule: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        read_spec(spec_of(**feature))

    told = refused.value.refusals[0]
    assert told.field == field
    assert told.rule.startswith(rule)


def test_row_outside_is_refused_by_its_number() -> None:
    columns = {"n": np.array([1.0, 2.0, 63.0, 4.0]), "y": np.array([*"abab"], object)}
    with pytest.raises(RefusedError) as refused:
        check_training(columns, read_spec(spec_of(min=0, max=9)))

    assert "must be from 0 to 9" in str(refused.value.refusals[0])
    assert "63.0" in str(refused.value.refusals[0])


def test_model_keeps_question_and_limits_and_one_without_writes_neither() -> None:
    columns = {"n": np.arange(40.0) % 7, "y": np.array([*"ab"] * 20, object)}
    documents = []
    for more in ({}, {"min": 0, "max": 9, "question": "How many?"}):
        spec = read_spec(spec_of(**more))
        model = finish(train(check_training(columns, spec), spec))
        documents.append(json.loads(model_text(model)))

    plain, told = (document["features"][0] for document in documents)
    assert not {"question", "least", "most"} & plain.keys()
    assert told | {"question": "How many?", "least": 0, "most": 9} == told
    feature = read_model(documents[1]).ensemble.catalogue.features[0]
    assert (feature.text, feature.least, feature.most) == ("How many?", 0, 9)
    documents[1]["features"][0]["most"] = -1
    with pytest.raises(RefusedError, match="must be above the lower limit"):
        read_model(documents[1])


def test_demo_asks_in_questions() -> None:
    document = json.loads(Path("app/demo/heart.json").read_text(encoding="utf-8"))

    assert all(feature["question"].endswith("?") for feature in document["features"])
