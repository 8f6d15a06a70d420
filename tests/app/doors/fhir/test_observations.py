"""What a record says of a patient becomes known values, or is left out."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from askless.app.doors.records.observations import KnownValue, read_record
from askless.core.catalogue.catalogue import Catalogue, Feature

Json = dict[str, Any]
LOINC = "http://loinc.org"
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
AGE = Feature("age", unit="years", code="30525-0", system="loinc", ucum="a")
SEX = Feature(
    *("sex", "category"),
    categories=("female", "male"),
    code="46098-0",
    system="loinc",
)
CHOL = Feature("chol", unit="mg/dL", code="2093-3", system="loinc", ucum="mg/dL")
VESSELS = Feature("vessels", code="x", system="urn:vessels")
SMOKES = Feature("smokes", "boolean", code="72166-2", system="loinc")
CATALOGUE = Catalogue((AGE, SEX, CHOL, VESSELS, SMOKES))


def observation(code: str, at: str | None = "2026-11-01", **more: Any) -> Json:
    system = "urn:vessels" if code == "x" else LOINC
    made = {
        "resourceType": "Observation",
        "status": "final",
        "code": {"coding": [{"system": system, "code": code}]},
        **more,
    }
    return made if at is None else made | {"effectiveDateTime": at}


def chol(value: Any, at: str | None = "2026-11-01", **more: Any) -> Json:
    quantity = {"value": value, "unit": "mg/dL", "code": "mg/dL"}
    return observation("2093-3", at, **{"valueQuantity": quantity, **more})


def known(*resources: Any, catalogue: Catalogue = CATALOGUE, **more: Any) -> Json:
    prefetch = {str(place): resource for place, resource in enumerate(resources)}
    found = read_record(prefetch, catalogue, NOW, more.get("patient_id")).known
    return {name: one.value for name, one in found.items()}


def test_value_has_its_time() -> None:
    found = read_record({"any": chol(250, "2026-11-02T08:00:00Z")}, CATALOGUE, NOW)

    assert found.known == {"chol": KnownValue(250, "2026-11-02T08:00:00Z")}


QUANTITIES = [
    ({"value": 250, "unit": "mg/dL"}, True),
    ({"value": 250, "unit": "mg per dL", "code": "mg/dL"}, True),
    ({"value": 6, "unit": "mg/dL", "code": "mmol/L"}, False),
    ({"value": 250}, False),
    ({"value": 250, "unit": "mg/dL", "comparator": "<"}, False),
    ({"value": "250", "unit": "mg/dL"}, False),
    ({"value": True, "unit": "mg/dL"}, False),
    ({"value": 10**400, "unit": "mg/dL"}, False),
    ({"value": float("inf"), "unit": "mg/dL"}, False),
    ({"value": float("nan"), "unit": "mg/dL"}, False),
    ({"value": 250, "code": ["mg/dL"]}, False),
    ({"value": 250, "unit": {}}, False),
]


@pytest.mark.parametrize(("quantity", "is_read"), QUANTITIES)
def test_quantity_is_read_in_the_features_unit_alone(
    quantity: Json, is_read: bool
) -> None:
    assert bool(known(chol(0, valueQuantity=quantity))) == is_read


def test_number_without_a_unit_is_read_where_its_feature_has_none() -> None:
    plain = observation("x", valueInteger=2)
    with_unit = observation("x", valueQuantity={"value": 2, "unit": "mm"})

    assert known(plain) == {"vessels": 2}
    assert known(with_unit) == {}
    assert known(observation("2093-3", valueInteger=250)) == {}


LATER = [
    ("2026-11-03T01:00:00Z", "2026-11-02T23:30:00-05:00"),
    ("2026-11-02", "2026-11-02T08:00:00Z"),
    ("2026", "2026-02"),
    ("2026-10", "2026-11-01T00:00:00.123456789+01:00"),
    ("tomorrow", "2001-01-01"),
    ("2026-13-45", "2001-01-01"),
    ("\ud800", "2001-01-01"),
    (None, "0001-01-01"),
]


@pytest.mark.parametrize(("earlier", "later"), LATER)
@pytest.mark.parametrize("is_turned", [False, True])
def test_newest_value_counts_whatever_the_form_of_its_time(
    earlier: str | None, later: str, is_turned: bool
) -> None:
    pair = [chol(111, earlier), chol(222, later)]

    assert known(*(reversed(pair) if is_turned else pair)) == {"chol": 222}


def test_period_and_instant_are_times_too() -> None:
    old = chol(111, "2026-01-01")
    period = {"start": "2026-02-01", "end": "2026-02-03"}
    instant = "2026-03-01T00:00:00Z"

    assert known(chol(222, None, effectivePeriod=period), old) == {"chol": 222}
    assert known(chol(333, None, effectiveInstant=instant), old) == {"chol": 333}
    assert known(chol(444, None, issued=instant), old) == {"chol": 444}


@pytest.mark.parametrize(
    ("reference", "is_ours"),
    [
        ("Patient/7", True),
        ("https://ehr.example/r4/Patient/7/_history/2", True),
        ("Patient/8", False),
        ("https://ehr.example/r4/Patient/8", False),
        ("Group/8", True),
        (7, True),
    ],
)
def test_observation_of_another_patient_is_left_out(
    reference: Any, is_ours: bool
) -> None:
    one = chol(250, subject={"reference": reference})

    assert bool(known(one, patient_id="7")) == is_ours
    assert known(one) == {"chol": 250}


RARE = Feature(
    *("kind", "category"),
    categories=("common", "other"),
    has_other=True,
    code="y",
    system="urn:y",
)


def test_rare_category_is_not_guessed_from_a_text() -> None:
    code = {"coding": [{"system": "urn:y", "code": "y"}]}
    one = observation("y") | {"code": code}
    unseen = one | {"valueCodeableConcept": {"text": "no such thing"}}
    coding = [{"code": "123", "display": "common"}]
    seen = one | {"valueCodeableConcept": {"text": "Usual", "coding": coding}}

    assert known(unseen, catalogue=Catalogue((RARE,))) == {}
    assert known(seen, catalogue=Catalogue((RARE,))) == {"kind": "common"}


def test_boolean_is_read() -> None:
    assert known(observation("72166-2", valueBoolean=False)) == {"smokes": False}
    assert known(observation("72166-2", valueString="no")) == {"smokes": False}
    assert known(observation("72166-2", valueString="N")) == {}
    for concept in ({"text": "Yes"}, {"coding": [{"code": "q", "display": "YES"}]}):
        said = observation("72166-2", valueCodeableConcept=concept)
        assert known(said) == {"smokes": True}


YES_AND_NO = [
    ("http://snomed.info/sct", "373066001", True),
    ("http://snomed.info/sct", "373067005", False),
    (LOINC, "LA33-6", True),
    (LOINC, "LA32-8", False),
    ("http://terminology.hl7.org/CodeSystem/v2-0136", "Y", True),
    ("http://hl7.org/fhir/v2/0136", "N", False),
    ("urn:local", "Y", None),
    (LOINC, "373066001", None),
]


def coded(system: str, code: str) -> Json:
    return {"valueCodeableConcept": {"coding": [{"system": system, "code": code}]}}


@pytest.mark.parametrize(("system", "code", "meant"), YES_AND_NO)
def test_coded_yes_and_no_are_booleans(system: str, code: str, meant: Any) -> None:
    read = known(observation("72166-2", **coded(system, code)))

    assert read == ({} if meant is None else {"smokes": meant})


def test_integer_is_the_category_that_is_spelt_so() -> None:
    coded_sex = replace(SEX, categories=("1", "2"))

    found = [
        known(observation("46098-0", valueInteger=number), catalogue=Catalogue((form,)))
        for form, number in ((coded_sex, 2), (coded_sex, 3), (SEX, 1))
    ]

    assert found == [{"sex": 2}, {}, {}]


@pytest.mark.parametrize(
    ("quantity", "meant"),
    [
        ({"value": 2}, 2),
        ({"value": 2.0, "unit": "1"}, 2.0),
        ({"value": 2, "code": "{score}"}, 2),
        ({"value": 2, "code": "mg/dL"}, None),
        ({"value": 3, "code": "{score}"}, None),
    ],
)
def test_quantity_that_is_a_count_is_a_grade_and_a_number(
    quantity: Json, meant: Any
) -> None:
    coded_sex = replace(SEX, categories=("1", "2"))
    grade = observation("46098-0", valueQuantity=quantity)
    number = observation("x", valueQuantity=quantity)

    is_count = quantity.get("code") != "mg/dL"
    assert known(grade, catalogue=Catalogue((coded_sex,))) == (
        {} if meant is None else {"sex": meant}
    )
    assert known(number) == ({"vessels": quantity["value"]} if is_count else {})


UNITS = [
    (2.5, "g/L", 250.0),
    (250, "mg/dl", 250),
    (2500, "ug/mL", 250_000.0 / 1000),
    (6, "mmol/L", None),
    (6, "nonsense", None),
    (6, "m" * 10_000, None),
    (6, "10*99999999.mg/dL", None),
    (0.6, "10*1.mg/dL", 6),
    (1e308, "kg/L", None),
]


@pytest.mark.parametrize(("value", "unit", "meant"), UNITS)
def test_units_of_ucum_are_converted(value: float, unit: str, meant: Any) -> None:
    read = known(chol(0, valueQuantity={"value": value, "code": unit}))

    assert read == ({} if meant is None else {"chol": meant})


REASONS = [
    (
        {"valueQuantity": {"value": 6, "code": "mmol/L"}},
        "`mmol/L` can't be converted to mg/dL: that needs the substance's molar mass",
    ),
    ({"valueQuantity": {"value": 6, "code": "L"}}, "`L` can't be converted to mg/dL"),
    ({"valueQuantity": {"value": 6, "unit": "a](http://x) b"}}, "(which is no text)"),
    ({"valueQuantity": {"value": 6}}, "it has no unit"),
    ({"valueQuantity": {"value": 6, "code": "mg/dL", "comparator": "<"}}, "a bound"),
    ({"valueString": "high"}, "no value that can be read"),
    ({"valueQuantity": {"value": -1, "code": "mg/dL"}}, "the feature can't have it"),
]


@pytest.mark.parametrize(("result", "reason"), REASONS)
def test_what_is_left_out_has_its_reason(result: Json, reason: str) -> None:
    least = Catalogue((replace(CHOL, least=0.0),))
    newest, older = observation("2093-3", **result), chol(250, "2025-01-01")

    for resources in ([newest], [older, newest]):
        prefetch = {str(place): one for place, one in enumerate(resources)}
        left_out = read_record(prefetch, least, NOW).left_out

        assert reason in left_out["chol"].value
        assert left_out["chol"].at == "2026-11-01"


def test_what_a_newer_value_replaces_is_not_told() -> None:
    older = observation("2093-3", "2025-01-01", valueString="high")

    assert read_record({"a": older, "b": chol(250)}, CATALOGUE, NOW).left_out == {}


def patient(**more: Any) -> Json:
    return {"resourceType": "Patient", "id": "7", **more}


BIRTHS = [
    ("1963-11-26", 63),
    ("1963-11-27", 62),
    ("1964-02-29", 62),
    ("2026-11-26", 0),
    ("1963-10", 63),
    ("1963-12", 62),
    ("1963-11", None),
    ("1963", None),
    ("2026-11-27", None),
    ("2026-12", None),
    ("1963-13-01", None),
    ("63", None),
    (1963, None),
    (None, None),
]


@pytest.mark.parametrize(("birth", "age"), BIRTHS)
def test_age_is_the_whole_years_since_birth_where_there_is_no_doubt(
    birth: Any, age: int | None
) -> None:
    assert known(patient(birthDate=birth)) == ({} if age is None else {"age": age})


@pytest.mark.parametrize(
    "change",
    [
        {"deceasedBoolean": True},
        {"deceasedDateTime": "2026-01-01"},
        {"birthDate": "1850-01-01"},
    ],
)
def test_age_of_the_dead_and_one_beyond_the_limit_are_left_out(change: Json) -> None:
    one = patient(**{"birthDate": "1963-01-01", **change})

    assert known(one, catalogue=Catalogue((replace(AGE, most=130),))) == {}


@pytest.mark.parametrize(
    ("more", "is_read"),
    [
        ({"ucum": "a"}, True),
        ({"ucum": "mo"}, False),
        ({"unit": "Years"}, True),
        ({"unit": "months"}, False),
        ({}, True),
        ({"ucum": "a", "system": LOINC}, True),
        ({"ucum": "a", "system": "urn:x"}, False),
    ],
)
def test_age_is_read_for_a_feature_in_years(more: Json, is_read: bool) -> None:
    feature = Feature("age", **{"code": "30525-0", "system": "loinc", **more})
    found = known(patient(birthDate="1963-01-01"), catalogue=Catalogue((feature,)))

    assert bool(found) == is_read


def sexed(code: str, *categories: str) -> Catalogue:
    feature = Feature(
        *("sex", "category"), categories=categories, code=code, system="loinc"
    )
    return Catalogue((feature,))


@pytest.mark.parametrize(
    ("gender", "categories", "expected"),
    [
        ("male", ("female", "male"), "male"),
        ("female", ("F", "M"), "F"),
        ("male", ("Female", "Male"), "Male"),
        ("other", ("female", "male"), None),
        ("other", ("Other", "female", "male"), "Other"),
        ("unknown", ("female", "male"), None),
        ("male", ("Male", "male"), None),
        ("male", ("0", "1"), None),
        (7, ("female", "male"), None),
    ],
)
def test_gender_is_the_category_of_its_name(
    gender: Any, categories: tuple[str, ...], expected: str | None
) -> None:
    for code in ("46098-0", "76689-9"):
        read = known(patient(gender=gender), catalogue=sexed(code, *categories))

        assert read.get("sex") == expected, code


@pytest.mark.parametrize(
    ("name", "said", "code"),
    [("us-core-birthsex", "F", "76689-9"), ("us-core-sex", "248152002", "46098-0")],
)
def test_extension_of_us_core_goes_before_gender(
    name: str, said: str, code: str
) -> None:
    url = f"http://hl7.org/fhir/us/core/StructureDefinition/{name}"
    one = patient(gender="male", extension=[7, {"url": url, "valueCode": said}])
    other = ({"46098-0", "76689-9"} - {code}).pop()

    assert known(one, catalogue=sexed(code, "female", "male"))["sex"] == "female"
    assert known(one, catalogue=sexed(other, "female", "male"))["sex"] == "male"


@pytest.mark.parametrize("code", ["F", "248152002"])
def test_observations_of_sex_may_use_codes_of_hl7_and_snomed(code: str) -> None:
    concept = {"coding": [{"code": code, "display": "Female (finding)"}]}

    found = known(observation("46098-0", valueCodeableConcept=concept))

    assert found == {"sex": "female"}


def age(value: int, at: str | None) -> Json:
    return observation("30525-0", at, valueQuantity={"value": value, "code": "a"})


def test_observation_goes_before_the_patient() -> None:
    born = patient(birthDate="1963-01-01", gender="male")
    female = observation("46098-0", "2001-01-01", valueString="female")

    assert known(age(60, "2026-01-01"), female, born) == {"age": 60, "sex": "female"}


@pytest.mark.parametrize("at", ["2019-05-01", "2025", None])
def test_age_observed_long_ago_is_not_todays(at: str | None) -> None:
    assert known(age(56, at), patient(birthDate="1963-01-01")) == {"age": 63}
    assert known(age(56, at)) == {"age": 56}


def test_patient_is_the_one_of_the_call() -> None:
    ours, theirs = patient(gender="male"), patient(id="8", gender="female")

    assert known(ours, theirs, patient_id="7") == {"sex": "male"}
    assert known(theirs, patient_id="7") == {}
    assert known(ours, theirs) == {}


@pytest.mark.parametrize(
    "odd", [None, 7, "x", [], {}, {"resourceType": "OperationOutcome"}, patient()]
)
def test_what_says_nothing_is_left_out(odd: Any) -> None:
    assert known(odd, chol(250)) == {"chol": 250}
