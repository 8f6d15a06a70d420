"""Draft a first spec from a table, for the command `init`."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askless.app.documents.fields import MAX_NAME, is_name
from askless.app.uploads import Source
from askless.app.uploads.price_tables import PriceTable, read_prices
from askless.app.uploads.streams import StreamedTable
from askless.core.arrays import IntArray
from askless.core.errors import Refusal, RefusedError
from askless.core.table.cells import is_unnamed
from askless.core.table.columns import Column, unknown_column
from askless.core.table.draft import LEAST_ROWS, ColumnDraft, draft_column
from askless.core.table.spec import CASE_COLUMN, TableSpec
from askless.core.table.targets import (
    blank_dropped_rows,
    note_classes,
    read_target,
)

NO_NAME = "an index, without a name"
NO_CELLS = "of lists, records or bytes"
LONG_NAME = f"under a name of more than {MAX_NAME} characters"
# Columns that a note names.
MAX_NAMED = 5


@dataclass(frozen=True)
class SpecDraft:
    """A drafted spec as JSON-able values, with notes for the person who checks it.

    `labels` are those of the classes. `columns` has the cells of the rows kept, and
    `drafts` one entry for every column except the target.
    """

    spec: dict[str, Any]
    notes: tuple[str, ...]
    labels: tuple[str, ...]
    columns: dict[str, Column]
    drafts: tuple[ColumnDraft, ...]


def draft_spec(
    table: StreamedTable,
    target: str,
    name: str,
    prices: Source | None,
    words: tuple[str, ...] | None = None,
) -> SpecDraft:
    """Draft a spec to train on a table; raise RefusedError for a bad target.

    `words` are those that mean missing; None: the usual ones.
    """
    text = [target] if words is None else [*table]
    columns, unreadable = read_each_column(table, target, text)
    if target not in columns:
        refusal = unknown_column("--target", target, columns)
        rule = f"{refusal.rule}{describe_parting(table)}"
        raise RefusedError([replace(refusal, rule=rule)])
    if table.n_rows == 0:
        raise RefusedError([Refusal("table", "must have at least one row")])
    table_spec = TableSpec(target, missing_words=words, missing_target="drop")
    columns, labels, targets, notes = read_labels(columns, table_spec, table.n_rows)
    # The column of cases is read by every training, and never a feature.
    columns.pop(CASE_COLUMN, None)
    unfit = dict.fromkeys(unreadable, NO_CELLS) | find_unfit_columns(columns, target)
    named = [column for column in columns if column not in {target, *unfit}]
    price_table = PriceTable() if prices is None else read_prices(prices, named)
    declared = table.declared_texts
    drafts = [
        draft_column(
            *(column, columns[column], targets, len(labels), words),
            is_declared=column in declared,
        )
        for column in named
    ]
    drafts += [
        ColumnDraft(column, "number", reason=why) for column, why in unfit.items()
    ]
    spec: dict[str, Any] = {"name": name, "target": target}
    spec |= {"positive": labels[1]} if len(labels) == 2 else {}
    spec |= {
        "cost_unit": "",
        "features": [
            build_feature_entry(draft, price_table)
            for draft in drafts
            if not draft.reason
        ],
    }
    groups = build_group_entries(spec["features"], price_table)
    spec |= {"groups": groups} if groups else {}
    # A spec can't name the others; a column that it doesn't name is ignored, too.
    ignored_names = [
        draft.name for draft in drafts if draft.reason and is_name(draft.name)
    ]
    spec |= {"ignore": ignored_names} if ignored_names else {}
    spec |= {} if words is None else {"missing_words": list(words)}
    if len(targets) < table.n_rows:
        spec |= {"missing_target": "drop"}
    notes += list_draft_notes(drafts, price_table, prices is not None)
    return SpecDraft(spec, tuple(notes), tuple(labels), columns, tuple(drafts))


def find_unfit_columns(columns: Iterable[str], target: str) -> dict[str, str]:
    """Return the columns that can be no feature by their names, with the reason."""
    others = [column for column in columns if column != target]
    unfit = {column: LONG_NAME for column in others if not is_name(column)}
    return unfit | {column: NO_NAME for column in others if is_unnamed(column)}


def describe_parting(table: StreamedTable) -> str:
    """Return how the cells of a CSV were parted, and what to do where that is wrong."""
    if not table.separator:
        return ""
    remedy = "names of columns must be its first line"
    if len(table) == 1:
        remedy = "part them by commas, semicolons, tabs or bars"
    return f"; its cells are parted by {table.separator!r}: {remedy}"


def read_labels(
    columns: dict[str, Column], table_spec: TableSpec, n_rows: int
) -> tuple[dict[str, Column], list[str], IntArray, list[str]]:
    """Return the columns of rows with a target, its labels and classes, and notes.

    Raises RefusedError where the target has no classes.
    """
    target = table_spec.target
    notes = note_classes(columns[target], table_spec)
    _, is_kept = blank_dropped_rows(columns, table_spec, n_rows)
    classes, targets, refusals = read_target(columns[target], table_spec)
    columns = {name: column[is_kept] for name, column in columns.items()}
    targets = targets[is_kept]
    if refusals:
        raise RefusedError(refusals)
    refuse_identifier(target, len(classes), targets.size)
    labels = [label.label for label in classes]
    n_dropped = int((~is_kept).sum())
    rows = "1 row" if n_dropped == 1 else f"{n_dropped} rows"
    dropped = f"{target}: {rows} without a target will be left out"
    notes = [dropped, *notes] if n_dropped else notes
    notes += note_scarce_classes(target, labels, targets)
    return columns, labels, targets, notes


def refuse_identifier(target: str, n_classes: int, n_rows: int) -> None:
    """Refuse a target of which nearly each row has its own value."""
    if n_rows > LEAST_ROWS and 2 * n_classes > n_rows:
        rule = "must have classes of several rows each, and looks like an identifier"
        counts = f"{n_classes} values in {n_rows} rows"
        raise RefusedError([Refusal(f"target {target}", rule, counts)])


def note_scarce_classes(
    target: str, labels: Sequence[str], targets: IntArray
) -> Iterator[str]:
    """Yield a note on classes of few rows."""
    counts = np.bincount(targets, minlength=len(labels)).tolist()
    scarce = [
        f"{label} ({count})"
        for label, count in zip(labels, counts, strict=True)
        if count < LEAST_ROWS
    ]
    if scarce:
        n_more = len(scarce) - MAX_NAMED
        tail = f" and {n_more} more" if n_more > 0 else ""
        few = f"classes of under {LEAST_ROWS} rows"
        named = ", ".join(scarce[:MAX_NAMED])
        yield f"{target}: {few} are hard to learn: {named}{tail}"


def read_each_column(
    table: StreamedTable, target: str, text: Sequence[str]
) -> tuple[dict[str, Column], list[str]]:
    """Read a table's columns; also return the names of unreadable ones.

    Cells of the columns `text` stay as written.
    """
    columns: dict[str, Column] = {}
    table = table.with_text(text)
    unreadable = []
    for name in table:
        try:
            columns[name] = table[name]
        except RefusedError:
            if name == target:
                raise
            unreadable.append(name)
    return columns, unreadable


def build_feature_entry(draft: ColumnDraft, price_table: PriceTable) -> dict[str, Any]:
    """Return a feature as a spec lists it; its cost is 1 unless it is known."""
    group = price_table.groups.get(draft.name)
    entry: dict[str, Any] = {"name": draft.name, "type": draft.type}
    if group not in price_table.prices:
        entry["cost"] = price_table.costs.get(draft.name, 1)
    entry |= {} if group is None else {"group": group}
    entry |= {"unit": draft.unit} if draft.unit else {}
    entry |= {"missing": list(draft.missing)} if draft.missing else {}
    return entry | ({"rare": draft.rare} if draft.rare else {})


def build_group_entries(
    features: list[dict[str, Any]], price_table: PriceTable
) -> list[dict[str, Any]]:
    """Return the groups of the features; a fee is 0 unless it is known."""
    names = dict.fromkeys(
        feature["group"] for feature in features if "group" in feature
    )
    return [
        {"name": name, "price": price_table.prices[name]}
        if name in price_table.prices
        else {"name": name, "fee": price_table.fees.get(name, 0)}
        for name in names
    ]


def list_draft_notes(
    drafts: list[ColumnDraft], price_table: PriceTable, has_prices: bool
) -> Iterator[str]:
    """Yield notes on decisions that a person should check, each with its columns.

    A note that holds for several columns is written once.
    """
    names: dict[str, list[str]] = {}
    for draft in drafts:
        notes = list(draft.notes)
        if draft.reason:
            notes.append(f"ignored, since it is {draft.reason}")
        elif has_prices and draft.name not in {*price_table.costs, *price_table.groups}:
            notes.append("has no price, so its cost is 1")
        if draft.rare:
            notes.append(f"categories of under {draft.rare} rows are `other`")
        for note in notes:
            names.setdefault(note, []).append(draft.name)
    for note, named in names.items():
        n_more = len(named) - MAX_NAMED
        tail = f" and {n_more} more" if n_more > 0 else ""
        yield f"{', '.join(named[:MAX_NAMED])}{tail}: {note}"


def format_spec(spec: dict[str, Any]) -> str:
    """Return a spec as JSON with a line for each feature and group, easy to edit."""
    lines = []
    for key, value in spec.items():
        text = json.dumps(value, ensure_ascii=False)
        if value and isinstance(value, list) and isinstance(value[0], dict):
            entries = (json.dumps(entry, ensure_ascii=False) for entry in value)
            text = "[\n    " + ",\n    ".join(entries) + "\n  ]"
        lines.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
