"""Read and check tables in child processes, within bounds.

Other packages use `TableReader`; the other functions run in its child processes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa

from askless.app.documents.fields import NAME_RULE, is_name
from askless.app.processes.limited import ChildLimits, IsWanted, run_limited
from askless.app.uploads import Bounds, read_table
from askless.app.uploads.checking import check_names, check_spec_and_table
from askless.app.uploads.drafting import draft_spec
from askless.app.uploads.references import (
    TableReference,
    choose_sample_ranges,
    open_reference,
    record_table,
    without_row_limits,
)
from askless.app.uploads.streams import HeldTable, StreamedTable, open_table
from askless.core.catalogue.catalogue import Feature
from askless.core.errors import Refusal, RefusedError
from askless.core.pipeline.spec import TrainingSpec
from askless.core.table.columns import Column
from askless.core.table.draft import ColumnDraft
from askless.core.table.sketch import ColumnSketch, sketch_column


@dataclass(frozen=True)
class TableFacts:
    """Row count and column names of a table, which are stored with its bytes."""

    n_rows: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ReferredTable:
    """A table that stays where it is, known by its footers."""

    facts: TableFacts
    reference: TableReference

    @property
    def n_bytes(self) -> int:
        return sum(file.size for file in self.reference.files)


@dataclass(frozen=True)
class JudgedTable:
    """A table that passed the checks for training, with its spec and a summary."""

    facts: TableFacts
    spec: TrainingSpec
    warnings: tuple[str, ...]
    n_rows: int
    features: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class DraftedTable:
    """A drafted spec for a table, and a draft and a sketch of each column.

    The target is not among the columns; columns of lists or bytes have no sketch.
    `labels` are those of the classes.
    """

    spec: dict[str, Any]
    labels: tuple[str, ...]
    columns: tuple[tuple[ColumnDraft, ColumnSketch | None], ...]


#: An upload, or a table that stays where it is.
TableSource = IO[bytes] | ReferredTable
# Rows that a draft is made from, if the table is not read whole.
SAMPLE = 10_000
# A reader has this much memory for each column that a table may have: 20,000 columns
# by default.
BYTES_OF_COLUMN = 100_000
# Longer ones are texts, which no question has as its answer.
CELL_BYTES = 65_536


@dataclass(frozen=True)
class TableReader:
    """Reads tables from users in child processes with limited time and memory.

    `places` are addresses below which tables may be read where they are. Methods
    that take `is_wanted` call it now and then; once it returns False, the child is
    ended and UnwantedError raised.
    """

    limits: ChildLimits
    bounds: Bounds
    places: tuple[str, ...] = ()

    def examine(self, source: IO[bytes], is_wanted: IsWanted) -> TableFacts:
        """Read a table and return its facts; raise RefusedError if it is none."""
        facts: TableFacts = run_limited(
            self.limits, source, examine_file, self.bounds, is_wanted=is_wanted
        )
        return facts

    def refer(self, url: str, is_wanted: IsWanted) -> ReferredTable:
        """Read the footers of a table in place; raise RefusedError if it is none."""
        arguments = url, self.places, without_row_limits(self.bounds)
        table: ReferredTable = run_limited(
            self.limits, None, record_linked_table, *arguments, is_wanted=is_wanted
        )
        return table

    def judge(
        self, source: TableSource, raw: Mapping[str, Any], is_wanted: IsWanted
    ) -> JudgedTable:
        """Check a table and a spec; raise RefusedError with every broken rule.

        The cells of a table that stays where it is are checked later, by the worker.
        """
        if isinstance(source, ReferredTable):
            return check_by_names(source.facts, raw)
        table: JudgedTable = run_limited(
            self.limits, source, check_file, self.bounds, dict(raw), is_wanted=is_wanted
        )
        return table

    def draft(
        self, source: TableSource, target: str, name: str, is_wanted: IsWanted
    ) -> DraftedTable:
        """Draft a spec for a table or its sample; raise RefusedError."""
        file: IO[bytes] | None = None
        read: Callable[..., DraftedTable] = draft_sample
        if isinstance(source, ReferredTable):
            bounds = without_row_limits(self.bounds)
            arguments: tuple[Any, ...] = (source.reference, self.places, bounds)
        else:
            file, read, arguments = source, draft_file, (self.bounds,)
        table: DraftedTable = run_limited(
            self.limits, file, read, *arguments, target, name, is_wanted=is_wanted
        )
        return table


def make_reader(settings: Any) -> TableReader:
    """Return the table reader for the application's settings."""
    memory = settings.parse_memory_bytes
    return TableReader(
        ChildLimits(memory, settings.parse_timeout_s),
        Bounds(
            columns=memory // BYTES_OF_COLUMN,
            rows=settings.max_rows,
            cell_bytes=CELL_BYTES,
            unpacked_bytes=settings.max_upload_bytes,
            memory=memory,
        ),
        tuple(settings.dataset_places),
    )


def open_bounded(file: IO[bytes], bounds: Bounds) -> StreamedTable:
    """Open a table; refuse one without rows or with names that can't be stored."""
    table = open_table(file, (), bounds)
    refuse_unstorable(facts_of_table(table))
    return table


def read_bounded(file: IO[bytes], bounds: Bounds) -> Any:
    """Read a table whole as an arrow table; refuse what `open_bounded` refuses."""
    table = read_table(file, bounds)
    refuse_unstorable(TableFacts(table.num_rows, tuple(table.column_names)))
    return table


def refuse_unstorable(facts: TableFacts) -> None:
    """Refuse a table without rows or with names that can't be stored."""
    refusals = []
    if facts.n_rows == 0:
        refusals.append(Refusal("table", "must have at least one row"))
    refusals += check_header(facts.columns)
    if refusals:
        raise RefusedError(refusals)


def check_header(names: Iterable[str]) -> list[Refusal]:
    """Return refusals of column names that can't be stored."""
    is_fit = all(is_name(column) for column in names)
    return [] if is_fit else [Refusal("header", f"names {NAME_RULE}")]


def record_linked_table(
    _: IO[bytes], url: str, places: Sequence[str], bounds: Bounds
) -> ReferredTable:
    """Record the files of the table at `url`; raise RefusedError if it can't be stored.

    The first argument is the child's input stream, which is empty here.
    """
    reference, table = record_table(url, places, bounds)
    if refusals := check_header(table):
        raise RefusedError(refusals)
    return ReferredTable(facts_of_table(table), reference)


def examine_file(file: IO[bytes], bounds: Bounds) -> TableFacts:
    table = read_bounded(file, bounds)
    return TableFacts(table.num_rows, tuple(table.column_names))


def facts_of_table(table: StreamedTable) -> TableFacts:
    return TableFacts(table.n_rows, tuple(table))


def check_file(file: IO[bytes], bounds: Bounds, raw: dict[str, Any]) -> JudgedTable:
    """Check a table and a spec together; raise RefusedError with every broken rule."""
    return check_rows_and_spec(lambda: open_bounded(file, bounds), raw)


def check_rows_and_spec(
    open_rows: Callable[[], StreamedTable], raw: dict[str, Any]
) -> JudgedTable:
    """Check a spec and the table that `open_rows` returns, as `check_file` does."""
    facts = None

    def read() -> StreamedTable:
        nonlocal facts
        table = open_rows()
        facts = facts_of_table(table)
        return table

    spec, checked = check_spec_and_table(raw, read)
    assert facts is not None, "a table that was checked was read"
    dataset = checked.dataset
    return JudgedTable(
        facts,
        spec,
        warnings=checked.warnings,
        n_rows=dataset.n_samples,
        features=tuple(feature.name for feature in dataset.catalogue.features),
        classes=tuple(label.label for label in dataset.classes),
    )


def check_by_names(facts: TableFacts, raw: Mapping[str, Any]) -> JudgedTable:
    """Check a spec against column names and a row count; classes stay unknown."""
    spec, features = check_names(raw, facts.columns, facts.n_rows)
    return JudgedTable(
        facts, spec, warnings=(), n_rows=facts.n_rows, features=features, classes=()
    )


def draft_file(file: IO[bytes], bounds: Bounds, target: str, name: str) -> DraftedTable:
    return draft_table(open_bounded(file, bounds), target, name)


def draft_sample(
    _: IO[bytes],
    reference: TableReference,
    places: Sequence[str],
    bounds: Bounds,
    *target_and_name: str,
) -> DraftedTable:
    """Draft a spec for a table in place from `SAMPLE` of its rows.

    The first argument is the child's input stream, which is empty here.
    """
    table = open_reference(reference, places, (), bounds)
    rows = choose_sample_ranges(table, SAMPLE)
    columns = {
        name: pa.chunked_array(
            chunk
            for part in rows
            for chunk in table.read_cells(part.start, part.stop, name).chunks
        )
        for name in table
    }
    return draft_table(HeldTable(pa.table(columns)), *target_and_name)


def draft_table(table: StreamedTable, target: str, name: str) -> DraftedTable:
    draft = draft_spec(table, target, name, None)
    columns = tuple(
        (column_draft, build_sketch(column_draft, draft.columns))
        for column_draft in draft.drafts
    )
    return DraftedTable(draft.spec, draft.labels, columns)


def build_sketch(
    draft: ColumnDraft, columns: Mapping[str, Column]
) -> ColumnSketch | None:
    """Return the sketch of a drafted column; None if its cells are unreadable."""
    if draft.name not in columns:
        return None
    feature = Feature(
        draft.name, type=draft.type, missing=draft.missing, unit=draft.unit or None
    )
    return sketch_column(feature, columns[draft.name])
