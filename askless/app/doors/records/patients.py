"""Read age and sex from a Patient of FHIR."""

import re
from datetime import date
from typing import Any

from askless.core.catalogue.catalogue import Feature
from askless.core.catalogue.code_systems import SYSTEMS

Json = dict[str, Any]
# Codes of LOINC: age; sex assigned at birth, and sex.
AGE = "30525-0"
SEX_AT_BIRTH, SEX = "76689-9", "46098-0"
YEARS = ("a", "y", "yr", "yrs", "year", "years")
US_CORE = "http://hl7.org/fhir/us/core/StructureDefinition"
# What says more exactly than the gender of a Patient what a code asks for.
EXTENSIONS = {
    SEX_AT_BIRTH: f"{US_CORE}/us-core-birthsex",
    SEX: f"{US_CORE}/us-core-sex",
}
# Codes of sex: of FHIR, of HL7 version 3, and of SNOMED CT.
SEXES = (("male", "m", "248153007"), ("female", "f", "248152002"))
DATE = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?", re.ASCII)


def is_patient_feature(feature: Feature) -> bool:
    """Return whether a Patient may have the value of a feature."""
    return is_coded(feature, AGE, SEX_AT_BIRTH, SEX)


def list_patients(resources: list[Json], patient_id: str | None) -> list[Json]:
    """Return the Patients with this id or with none; all if none is given."""
    return [
        resource
        for resource in resources
        if resource.get("resourceType") == "Patient"
        and (patient_id is None or resource.get("id") in (None, patient_id))
    ]


def read_age(feature: Feature, patient: Json, today: date) -> int | None:
    """Return the age of a living patient in whole years, for a feature that is one.

    None where the date of birth leaves a doubt: a year alone, or a month that is now.
    """
    if (
        not is_coded(feature, AGE)
        or feature.type != "number"
        or not is_in_years(feature)
    ):
        return None
    is_dead = patient.get("deceasedBoolean") is True or "deceasedDateTime" in patient
    birth = patient.get("birthDate")
    match = DATE.fullmatch(birth) if isinstance(birth, str) else None
    if match is None or is_dead:
        return None
    try:
        born = date(int(match[1]), int(match[2]), int(match[3] or 1))
    except ValueError:
        return None
    is_doubtful = match[3] is None and born.month == today.month
    had_birthday = (today.month, today.day) >= (born.month, born.day)
    age = today.year - born.year - (not had_birthday)
    return None if is_doubtful or age < 0 else age


def is_coded(feature: Feature, *codes: str) -> bool:
    """Return whether a feature has one of these codes of LOINC."""
    return feature.system in ("loinc", SYSTEMS["loinc"]) and feature.code in codes


def is_in_years(feature: Feature) -> bool:
    if feature.ucum is not None:
        return feature.ucum == "a"
    return feature.unit is None or feature.unit.lower() in YEARS


def read_sex(feature: Feature, patient: Json) -> str | None:
    """Return the category of a feature that is a patient's sex; None for none.

    It is what an extension of US Core says, if the Patient has it, else the
    administrative gender.
    """
    if not is_coded(feature, SEX_AT_BIRTH, SEX):
        return None
    code = sex_of_extension(patient, EXTENSIONS[str(feature.code)]) or patient.get(
        "gender"
    )
    return match_sex(feature, code) if isinstance(code, str) else None


def sex_of_extension(patient: Json, url: str) -> Any:
    """Return the code of one of a Patient's extensions; None: it has none."""
    extensions = patient.get("extension")
    for extension in extensions if isinstance(extensions, list) else []:
        if isinstance(extension, dict) and extension.get("url") == url:
            return extension.get("valueCode")
    return None


def match_sex(feature: Feature, sex: str) -> str | None:
    """Return the category that a code of sex means: `male` is also Male, M or m."""
    if feature.type != "category" or not is_coded(feature, SEX_AT_BIRTH, SEX):
        return None
    code = sex.lower()
    names = next((codes for codes in SEXES if code in codes), (code,))
    categories = [
        category for category in feature.categories if category.lower() in names
    ]
    return categories[0] if len(categories) == 1 else None
