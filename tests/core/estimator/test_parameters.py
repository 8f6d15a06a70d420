"""The estimator repeats a spec's parameters: names, defaults, ranges are the same."""

import inspect
import re
from pathlib import Path

import pytest

from askless.app.documents.spec.spec import read_spec_parts
from askless.core.errors import RefusedError
from askless.core.estimator.classifier import BudgetedBoostingClassifier
from askless.core.estimator.conventions import read_params
from askless.core.parameters import Parameter, parameters_of
from askless.core.pipeline.spec import TrainingSpec
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams

SPEC = (Path(__file__).resolve().parents[3] / "docs/spec.md").read_text("utf-8")
SIGNATURE = inspect.signature(BudgetedBoostingClassifier).parameters
TRAINING = TrainingSpec(TableSpec(""))
# What a spec calls otherwise, or has outside its parameters.
RENAMED = {"random_state": "seed"}
# Of prediction, or of what a spec says with each feature or in a weight column.
ONLY_HERE = {"budget", "policy", "feature_types", "class_weight", "accept_unseen"}
NAMES = [
    name for name in parameters_of(BoostParams) if name not in ("algorithm", "seed")
]


def defaults_of_a_spec() -> dict[str, object]:
    boost = {
        name: parameter.default
        for name, parameter in parameters_of(BoostParams).items()
    }
    return boost | {
        "algorithm": TRAINING.boost.algorithm,
        "folds": TRAINING.folds,
        "rare": TRAINING.table.rare,
    }


def range_of(one: Parameter) -> str:
    """What a parameter may be, as a docstring says it."""
    if one.choices:
        return "{" + ", ".join(f'"{choice}"' for choice in one.choices) + "}"
    return "above 0" if one.is_amount else f"{one.least:,} to {one.most:,}"


def entries() -> dict[str, str]:
    """What the docstring says of each parameter, those of one entry together."""
    text = inspect.getdoc(BudgetedBoostingClassifier) or ""
    section = text.split("Parameters\n----------\n")[1].split("\nAttributes\n")[0]
    found = re.findall(r"^(\w.*) : (.*\n(?: +.*\n)+)", section, re.M)
    return {name: says for names, says in found for name in names.split(", ")}


def beyond(one: Parameter) -> list[object]:
    """Values that are out of a parameter's range, or of another type."""
    if one.choices:
        return ["none of them", 1]
    if one.is_amount:
        return [0, -1, "x"]
    return [one.least - 1, one.most + 1, "x", True]


def refusals_of_a_spec(name: str, raw: object) -> list[str]:
    top = name == "effort"
    given = {name: raw} if top else {"params": {name: raw}}
    _, refusals = read_spec_parts({"target": "y", "algorithm": "hybrid"} | given)
    return [str(refusal).removeprefix("params.") for refusal in refusals]


def test_each_parameter_of_training_is_the_estimators():
    assert {"algorithm", "random_state", *NAMES} < {*SIGNATURE}


def test_defaults_are_those_of_a_spec():
    expected = defaults_of_a_spec()

    actual = {name: one.default for name, one in SIGNATURE.items() if name in expected}

    assert actual == {name: expected[name] for name in actual}
    assert actual.keys() == expected.keys() - {"seed"}


def test_docstring_has_an_entry_for_each_parameter():
    assert sorted(entries()) == sorted(SIGNATURE)


@pytest.mark.parametrize("name", NAMES)
def test_docstring_says_the_range(name):
    says = " ".join(entries()[name].split()).lower()

    assert range_of(parameters_of(BoostParams)[name]) in says


@pytest.mark.parametrize("name", NAMES)
def test_value_out_of_range_is_refused_as_in_a_spec(name):
    given = {name: SIGNATURE[name].default for name in SIGNATURE}

    for raw in beyond(parameters_of(BoostParams)[name]):
        with pytest.raises(RefusedError) as refused:
            read_params("hybrid", given | {name: raw})
        actual = [
            str(refusal).removeprefix("params.") for refusal in refused.value.refusals
        ]
        assert actual == refusals_of_a_spec(name, raw)


@pytest.mark.parametrize("name", [n for n in SIGNATURE if n not in ONLY_HERE])
def test_parameter_is_in_the_page_of_the_spec(name):
    assert re.search(f'[`"]{RENAMED.get(name, name)}[`"]', SPEC)
