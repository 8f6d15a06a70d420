"""Which results of a record system count, and what it has granted."""

from datetime import UTC, datetime
from typing import Any

import pytest

from askless.app.doors.smart.door import Records, is_recent

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("resource", "is_taken"),
    [
        ({"effectiveDateTime": "2026-11-26T11:00:00Z"}, True),
        ({"effectiveInstant": "2026-11-26T11:00:00Z"}, True),
        ({"effectivePeriod": {"end": "2026-11-26T11:00:00Z"}}, True),
        ({"issued": "2026-11-26T11:00:00Z"}, True),
        ({"effectiveDateTime": "2026-11-26T22:00:00+11:00"}, True),
        ({"effectiveDateTime": "2026-11-25T11:59:00Z"}, False),
        ({"effectiveDateTime": "2026-11-26T12:04:00Z"}, True),
        ({"effectiveDateTime": "2026-11-26T13:00:00Z"}, False),
        # What is reported late is as old as it is.
        (
            {
                "effectivePeriod": {"start": "2026-10-01", "end": "2026-10-15"},
                "issued": "2026-11-26T11:00:00Z",
            },
            False,
        ),
        (
            {
                "effectiveInstant": "2026-10-15T11:00:00Z",
                "issued": "2026-11-26T11:00:00Z",
            },
            False,
        ),
        (
            {
                "effectiveDateTime": "2020-01-01T10:00:00+0000",
                "issued": "2026-11-26T11:00:00Z",
            },
            False,
        ),
        (
            {
                "effectiveTiming": {"event": ["2020-01-01"]},
                "issued": "2026-11-26T11:00:00Z",
            },
            False,
        ),
        # A day may be of any place on earth.
        ({"effectiveDateTime": "2026-11-27"}, True),
        ({"effectiveDateTime": "2026-11-26"}, True),
        ({"effectiveDateTime": "2026-11-25"}, True),
        ({"effectiveDateTime": "2026-11-23"}, False),
        ({"effectiveDateTime": "2026-11-28"}, False),
        ({"effectiveDateTime": "2026-11"}, False),
        ({"effectiveDateTime": "9999-12-31"}, False),
        ({"effectiveDateTime": ["2026-11-26"]}, False),
        ({}, False),
    ],
)
def test_only_results_of_the_last_day_count(
    resource: dict[str, Any], is_taken: bool
) -> None:
    assert is_recent(resource, NOW) == is_taken


@pytest.mark.parametrize(
    ("scope", "may_search", "may_read"),
    [
        ("patient/Observation.rs", True, True),
        ("launch user/Observation.cruds", True, True),
        ("patient/*.read", True, True),
        ("patient/*.*", True, True),
        ("patient/Observation.s?category=laboratory", True, False),
        ("patient/Observation.r", False, True),
        ("patient/Observation.write", False, False),
        ("patient/Observation.c", False, False),
        ("patient/Patient.rs", False, False),
        ("openid", False, False),
    ],
)
def test_what_is_granted_is_read_as_both_versions_write_it(
    scope: str, may_search: bool, may_read: bool
) -> None:
    records = Records("https://ehr.example.org/fhir", "token", scope)

    assert records.may("s", "Observation") == may_search
    assert records.may("r", "Observation") == may_read
