"""Tables read and checked in child processes (`app.apart`), within bounds.

`TableReader` is for those who want a table; the other functions run in its children.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from app.apart import ChildLimits, Wanted, run_apart
from app.checking import check_both
from app.documents.fields import NAME_RULE, is_name
from app.drafting import draft_spec
from app.ingest import Bounds, read_table
from core.errors import Refusal, RefusedError
from core.table.catalogue import Feature
from core.table.columns import Column
from core.table.draft import ColumnDraft
from core.table.sketch import ColumnSketch, sketch_column


@dataclass(frozen=True)
class TableFacts:
    """What is stored of a table besides its bytes."""

    n_rows: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class JudgedTable:
    """A table that is fit for training: what a spec makes of it."""

    facts: TableFacts
    name: str
    warnings: tuple[str, ...]
    n_rows: int
    features: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class DraftedTable:
    """What a table seems to be: a spec to go on from, and what each column holds.

    Columns but the target, each with what was made of it; of lists or bytes there is no
    sketch. `labels` are those of the classes.
    """

    spec: dict[str, Any]
    labels: tuple[str, ...]
    columns: tuple[tuple[ColumnDraft, ColumnSketch | None], ...]


@dataclass(frozen=True)
class TableReader:
    """Reads tables that others wrote; what reading may take is limited."""

    limits: ChildLimits
    bounds: Bounds

    def examine(self, source: IO[bytes], is_wanted: Wanted) -> TableFacts:
        """Read a table; raises RefusedError where it is none."""
        found: TableFacts = run_apart(
            self.limits, source, examine_file, self.bounds, is_wanted=is_wanted
        )
        return found

    def judge(
        self, source: IO[bytes], raw: Mapping[str, Any], is_wanted: Wanted
    ) -> JudgedTable:
        """Read a table and a spec; raises RefusedError with every broken rule."""
        found: JudgedTable = run_apart(
            self.limits, source, judge_file, self.bounds, dict(raw), is_wanted=is_wanted
        )
        return found

    def draft(
        self, source: IO[bytes], target: str, name: str, is_wanted: Wanted
    ) -> DraftedTable:
        """Read a table that has no spec; RefusedError where the target is not fit."""
        found: DraftedTable = run_apart(
            self.limits,
            source,
            draft_file,
            self.bounds,
            target,
            name,
            is_wanted=is_wanted,
        )
        return found


def reader_of(settings: Any) -> TableReader:
    """Return the reader that `app.settings` ask for."""
    memory = settings.parse_memory_bytes
    return TableReader(
        ChildLimits(memory, settings.parse_timeout_s),
        Bounds(
            columns=settings.max_columns,
            rows=settings.max_rows,
            cell_bytes=settings.max_cell_bytes,
            unpacked_bytes=settings.max_upload_bytes,
            memory=memory,
        ),
    )


def read_bounded(file: IO[bytes], bounds: Bounds) -> Any:
    """Read a table that has rows, and names that can be stored."""
    table = read_table(file, bounds)
    refusals = []
    if table.num_rows == 0:
        refusals.append(Refusal("table", "must have at least one row"))
    if not all(is_name(column) for column in table.column_names):
        refusals.append(Refusal("header", f"names {NAME_RULE}"))
    if refusals:
        raise RefusedError(refusals)
    return table


def examine_file(file: IO[bytes], bounds: Bounds) -> TableFacts:
    return facts_of(read_bounded(file, bounds))


def facts_of(table: Any) -> TableFacts:
    return TableFacts(table.num_rows, tuple(table.column_names))


def judge_file(file: IO[bytes], bounds: Bounds, raw: dict[str, Any]) -> JudgedTable:
    facts = None

    def read() -> Any:
        nonlocal facts
        table = read_bounded(file, bounds)
        facts = facts_of(table)
        return table

    spec, checked = check_both(raw, read)
    assert facts is not None, "a table that was checked was read"
    dataset = checked.dataset
    return JudgedTable(
        facts,
        name=spec.name,
        warnings=checked.warnings,
        n_rows=dataset.n_samples,
        features=tuple(feature.name for feature in dataset.catalogue.features),
        classes=tuple(one.label for one in dataset.classes),
    )


def draft_file(file: IO[bytes], bounds: Bounds, target: str, name: str) -> DraftedTable:
    draft = draft_spec(read_bounded(file, bounds), target, name, None)
    columns = tuple((one, sketch_of(one, draft.columns)) for one in draft.drafts)
    return DraftedTable(draft.spec, draft.labels, columns)


def sketch_of(draft: ColumnDraft, columns: Mapping[str, Column]) -> ColumnSketch | None:
    if draft.name not in columns:
        return None
    feature = Feature(draft.name, type=draft.type, missing=draft.missing)
    return sketch_column(feature, columns[draft.name])
