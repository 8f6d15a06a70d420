"""Codes by which other systems know a feature: taken, kept and refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from askless.app.documents.model.catalogue import FeatureShape, check_catalogue
from askless.app.documents.spec.spec import read_spec
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.code_systems import is_loinc
from askless.core.errors import RefusedError

CHOLESTEROL = {"code": "2093-3", "system": "loinc", "ucum": "mg/dL"}


def feature_of(**more: Any) -> Feature:
    spec = {"target": "y", "features": [{"name": "n", "type": "number", **more}]}
    features = read_spec(spec).table.features
    assert features is not None
    return features[0]


@pytest.mark.parametrize(
    "codes",
    [
        CHOLESTEROL,
        {"code": "248153007", "system": "snomed"},
        {"code": "any code", "system": "urn:oid:1.2.3"},
        {"code": "x", "system": "https://hospital.example/codes"},
        {"ucum": "mm[Hg]"},
    ],
)
def test_codes_are_kept_by_spec_and_model(codes: dict[str, str]) -> None:
    feature = feature_of(**codes)
    shown = FeatureShape.of(feature).model_dump()

    assert {column: getattr(feature, column) for column in codes} == codes
    assert {column: shown[column] for column in codes} == codes


def test_feature_without_codes_is_written_as_before() -> None:
    shown = FeatureShape.of(feature_of()).model_dump()

    assert not {"code", "system", "ucum"} & shown.keys()


@pytest.mark.parametrize(
    ("codes", "field", "rule"),
    [
        ({"code": "2093-3"}, "system", "given together"),
        ({"system": "loinc"}, "code", "given together"),
        ({"code": "2093-4", "system": "loinc"}, "code", "check digit"),
        ({"code": "cholesterol", "system": "loinc"}, "code", "LOINC"),
        ({"code": "2093-4", "system": "http://loinc.org"}, "code", "check digit"),
        ({"code": "012345", "system": "snomed"}, "code", "SNOMED CT"),
        ({"code": "x", "system": "http://snomed.info/sct"}, "code", "SNOMED CT"),
        ({"code": "x", "system": "hospital"}, "system", "loinc, snomed"),
        ({"code": "a  b", "system": "urn:x"}, "code", "ASCII"),
        ({"ucum": "mm Hg"}, "ucum", "without spaces"),
        ({"ucum": "a", "type": "category"}, "ucum", "only a number"),
    ],
)
def test_codes_that_can_be_none_are_refused_by_name(
    codes: dict[str, str], field: str, rule: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        feature_of(**codes)

    told = refused.value.refusals[0]
    assert told.field == f"features[0].{field}"
    assert rule in told.rule


def test_model_with_a_wrong_code_is_refused() -> None:
    catalogue = Catalogue((Feature("n", code="2093-4", system="loinc"),))

    refused = [str(problem) for problem in check_catalogue(catalogue, "model")]

    assert len(refused) == 1
    assert "model.features[0].code" in refused[0]


@pytest.mark.parametrize("code", ["2093-3", "8480-6", "30525-0", "46098-0", "718-7"])
def test_check_digit_of_true_codes_of_loinc_is_right(code: str) -> None:
    wrong = f"{code[:-1]}{(int(code[-1]) + 1) % 10}"

    assert (is_loinc(code), is_loinc(wrong)) == (True, False)


def test_demo_has_codes() -> None:
    document = json.loads(Path("app/demo/heart.json").read_text(encoding="utf-8"))
    features = {feature["name"]: feature for feature in document["features"]}

    assert CHOLESTEROL.items() <= features["chol"].items()
