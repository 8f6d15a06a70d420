"""Mappings of logs: what is refused, and what is drafted from names of columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from askless.app.batch.shadow.log_files import (
    draft_mapping,
)
from askless.core.catalogue.catalogue import Feature
from askless.core.errors import RefusedError
from tests.app.shadow.log_rows import CALLS, CASES, COLUMNS, MAIL, SPEC, hold, spec_of


@pytest.mark.parametrize(
    ("mapping", "changes", "words"),
    [
        (CALLS | {"case": "cases"}, {}, "mapping.case: must be a column of the log"),
        (
            CALLS | {"vendor": None},
            {},
            "mapping.vendor: is required where a row is a call",
        ),
        (
            CASES | {"order": None},
            {},
            "mapping.order: is required where a row is a case",
        ),
        (
            CALLS | {"decision": None, "outcome": None},
            {},
            "mapping.decision: is required",
        ),
        (CALLS | {"vendors": {"x": "y"}}, {}, "must name a priced group or feature"),
        (
            CALLS | {"columns": {"score": "points"}},
            {},
            "features.score: must be a column",
        ),
        (CALLS, {"features": None, "groups": []}, "features: must be listed"),
        (
            CALLS,
            {"groups": [{"name": "mail", "fee": 1}, {"name": "firm", "price": 2}]},
            "groups.mail.fee: must be a price",
        ),
        (CALLS, {"features": SPEC["features"][:1], "groups": []}, "must have a price"),
        (CALLS, {"weight": "price"}, "weight: must be left out"),
    ],
)
def test_what_a_log_cannot_be_read_by_is_refused(
    tmp_path: Path, mapping: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        hold(tmp_path, [MAIL], mapping, **changes)

    assert words in str(refused.value)


def test_a_log_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="at least one row"):
        hold(tmp_path, [])


def test_a_mapping_is_drafted_from_the_names_of_columns() -> None:
    drafted, notes = draft_mapping(COLUMNS, spec_of())

    assert drafted == CALLS
    assert notes == []


def test_a_feature_that_looks_like_a_decision_is_named() -> None:
    """A spec that was drafted from the log itself has such features."""
    spec = spec_of()
    features = (*(spec.table.features or ()), Feature("verdict", cost=1))
    spec = replace(spec, table=replace(spec.table, features=features))
    names = [name for name in COLUMNS if name != "decision"]

    _, notes = draft_mapping([*names, "verdict"], spec)

    assert any(
        note.startswith("verdict looks like the log's decision") for note in notes
    )


def test_columns_of_times_are_drafted_by_vendor() -> None:
    names = ("lead_id", "decided_at", "decision", "mail_at", "firm_at")
    names += ("source", "score", "kind", "staff", "is_new")

    drafted, notes = draft_mapping(names, spec_of())

    assert drafted == {
        "layout": "cases",
        "case": "lead_id",
        "decided_at": "decided_at",
        "decision": "decision",
        "vendor_at": {"mail": "mail_at", "firm": "firm_at"},
    }
    assert notes == []


def test_what_no_column_looks_like_is_left_to_the_user() -> None:
    drafted, notes = draft_mapping(("who", "source", "score", "kind"), spec_of())

    assert drafted["case"] == drafted["decided_at"] == ""
    assert drafted["columns"] == {"is_new": "", "staff": ""}
    assert len(notes) == 5
