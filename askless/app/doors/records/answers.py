"""Values as records write them: coded yes and no, and numbers in units of UCUM."""

import re
from functools import cache, lru_cache
from typing import Any

from askless.core.catalogue.catalogue import Feature
from askless.core.catalogue.code_systems import SYSTEMS

UCUM = "http://unitsofmeasure.org"
HL7_TABLES = ("0136", "0532")
# Yes and no, present and absent, by code system and code.
CODED: dict[tuple[str, str], bool] = {
    (SYSTEMS["snomed"], "373066001"): True,
    (SYSTEMS["snomed"], "373067005"): False,
    (SYSTEMS["snomed"], "52101004"): True,
    (SYSTEMS["snomed"], "2667000"): False,
    (SYSTEMS["loinc"], "LA33-6"): True,
    (SYSTEMS["loinc"], "LA32-8"): False,
    (SYSTEMS["loinc"], "LA9633-4"): True,
    (SYSTEMS["loinc"], "LA9634-2"): False,
    **{
        (system, code): code == "Y"
        for table in HL7_TABLES
        for system in (
            f"http://terminology.hl7.org/CodeSystem/v2-{table}",
            f"http://hl7.org/fhir/v2/{table}",
        )
        for code in ("Y", "N")
    },
}
# Letters alone may stand for something else, as N for normal.
IN_WORDS = {"yes": True, "no": False, "true": True, "false": False}
# A unit that only says what is counted, as {score}, is none.
COUNTED = re.compile(r"1?\{[!-z|~]*\}")
MASS_TO_AMOUNT = ": that needs the substance's molar mass"
# Units of UCUM have no spaces and are short. Powers such as 10*9999999 would take long.
PARSED_UNIT = re.compile(r"(?!.*\d{4})[!-~]{1,60}")
# Digits of a converted number; the rest is the error of floats.
DIGITS = 12


def convert(feature: Feature, value: float, unit: str) -> float | None:
    """Return a number in a feature's unit; None where its unit can't be converted.

    A mass can't become an amount of substance: that needs its molar mass.
    """
    units = [text for text in (feature.ucum, feature.unit) if text is not None]
    if unit in units:
        return value
    for text in units:
        factored = convert_units(value, unit, text)
        if factored is not None:
            return factored
    return None


def explain_units(unit: object, wanted: str) -> str:
    """Return why a unit can't be converted to another; "" where they are unlike."""
    amounts = [isinstance(text, str) and "mol" in text for text in (unit, wanted)]
    return MASS_TO_AMOUNT if amounts[0] != amounts[1] else ""


def convert_units(value: float, unit: str, wanted: str) -> float | None:
    """Return a number in another unit of UCUM; None where there is no such way."""
    parsed, parsed_wanted = parse_unit(unit), parse_unit(wanted)
    if parsed is None or parsed_wanted is None:
        return None
    try:
        quantity = load_units().Quantity(value, parsed)
        converted = float(quantity.to(parsed_wanted).magnitude)
    # The libraries raise many kinds, here and below.
    except Exception:
        return None
    return float(f"{converted:.{DIGITS}g}")


@lru_cache(maxsize=1000)
def parse_unit(text: str) -> Any:
    """Return a unit of UCUM; None for what is none, or one that is not known."""
    if not PARSED_UNIT.fullmatch(text):
        return None
    try:
        return load_units().from_ucum(text)
    except Exception:
        return None


@cache
def load_units() -> Any:
    """Return the units of UCUM; the first time takes a second or two."""
    from ucumvert import PintUcumRegistry

    return PintUcumRegistry()
