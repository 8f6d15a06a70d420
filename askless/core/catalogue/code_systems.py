"""Check the codes by which other systems know a feature: LOINC, SNOMED CT, UCUM."""

import re
from collections.abc import Iterator

from askless.core.catalogue.catalogue import Feature

#: Code systems that have a short name, and the address that names them in FHIR.
SYSTEMS = {"loinc": "http://loinc.org", "snomed": "http://snomed.info/sct"}
ADDRESS = re.compile(r"(?:https?://|urn:)[!-~]+")
LOINC = re.compile(r"[0-9]{1,7}-[0-9]")
SNOMED = re.compile(r"[1-9][0-9]{5,17}")
# A code of FHIR has single spaces inside at most; one of UCUM has none.
CODE = re.compile(r"[!-~]+(?: [!-~]+)*")
UCUM = re.compile(r"[!-~]+")
SYSTEM_RULE = f"must be {', '.join(SYSTEMS)} or an address, such as urn:oid:1.2.3"


def check_code_systems(feature: Feature) -> Iterator[tuple[str, str]]:
    """Yield the field and the rule of each code that can't be one.

    Whether a code stands in its system is not known here; only its form is checked.
    """
    code, system = feature.code, feature.system
    if (code is None) != (system is None):
        missing = "code" if code is None else "system"
        yield missing, "a code and its system are given together"
    elif code is not None and system is not None:
        address = SYSTEMS.get(system, system)
        if not ADDRESS.fullmatch(address):
            yield "system", SYSTEM_RULE
        elif address == SYSTEMS["loinc"] and not is_loinc(code):
            rule = "must be a code of LOINC, such as 2093-3, with its check digit"
            yield "code", rule
        elif address == SYSTEMS["snomed"] and not SNOMED.fullmatch(code):
            yield "code", "must be a code of SNOMED CT: 6 to 18 digits"
        elif not CODE.fullmatch(code):
            yield "code", "must be a code: printable characters of ASCII"
    if feature.ucum is not None:
        if feature.type != "number":
            yield "ucum", "only a number has a unit of UCUM"
        elif not UCUM.fullmatch(feature.ucum):
            yield "ucum", "must be a unit of UCUM, such as mg/dL, without spaces"


def is_loinc(code: str) -> bool:
    """Return whether a text has the form of a LOINC code; its last digit checks it.

    The check digit is Luhn's (mod 10) over the digits before the hyphen.
    """
    if not LOINC.fullmatch(code):
        return False
    digits = [int(character) for character in reversed(code.replace("-", ""))]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0
