"""Open a log of decisions by its mapping, draft a mapping, and name what is odd."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from askless.app.documents.log_mapping import LogMapping
from askless.app.uploads import Bounds
from askless.app.uploads.streams import StreamedTable, open_table
from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.errors import Refusal, RefusedError, nearest_hint
from askless.core.pipeline.spec import TrainingSpec
from askless.core.shadow.logs import price_offers
from askless.core.shadow.results import LogProblem
from askless.core.table.columns import Column, to_text_cells

# Whole numbers in as few bytes as they need.
Wholes = npt.NDArray[np.integer[Any]]

# Names that columns of each role often have, the likeliest first.
LIKELY = {
    "case": ("case", "case_id", "lead_id", "application_id", "order_id", "id", "lead"),
    "decided_at": ("decided_at", "decision_at", "decision_time", "closed_at", "date"),
    "decision": ("decision", "decided", "label", "verdict"),
    "outcome": ("outcome", "truth", "result"),
    "vendor": ("vendor", "provider", "vendor_name", "source_name"),
    "at": ("at", "called_at", "call_at", "time", "timestamp", "answered_at"),
    "price": ("price", "cost", "charged", "amount"),
    "latency_s": ("latency_s", "latency", "seconds", "duration_s"),
    "order": ("order", "calls", "asked", "vendors", "sequence", "waterfall"),
}
# The first and last second of a calendar, less a day for zones.
TIMES = (-62_135_510_400, 253_402_214_400)
# Ends of the name of a column with the time of a vendor's call.
TIME_ENDS = ("_at", "_time", "_called_at")
# Names that a problem shows, and names whose occurrences are counted.
MOST_SHOWN, MOST_NAMED = 4, 1000
OTHERS = "others"
# Rows of a file in memory that are read at a time.
ROWS_AT_ONCE = 1 << 16


@dataclass
class ProblemList:
    """Problems of a log in the making, by kind."""

    counts: Counter[str] = field(default_factory=Counter)
    shown: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, kind: str, count: int, shown: str | None = None) -> None:
        """Add some occurrences of a kind; `shown` names whose they are."""
        if count:
            self.counts[kind] += count
            if shown is not None:
                names = self.shown.setdefault(kind, Counter())
                is_kept = shown in names or len(names) < MOST_NAMED
                names[shown if is_kept else OTHERS] += count

    def finish(self) -> tuple[LogProblem, ...]:
        """Return the problems in the order of `PROBLEMS`."""
        problems = []
        for kind, words in PROBLEMS.items():
            if kind not in self.counts:
                continue
            shown = self.shown.get(kind, Counter())
            # Not in the order of the file, whose parts are read one by one.
            ranked = sorted(shown.items(), key=lambda item: (-item[1], item[0]))
            named = [item for item in ranked if item[0] != OTHERS][:MOST_SHOWN]
            names = [f"{name} ({n:,})" for name, n in named]
            names += [OTHERS] * (len(shown) > len(names))
            tail = f": {', '.join(names)}" if names else ""
            problems.append(LogProblem(kind, self.counts[kind], f"{words}{tail}"))
        return tuple(problems)


#: What each kind means, and what is done about it.
PROBLEMS = {
    "rows_without_case": "rows name no case; they are left out",
    "cases_twice": "cases stand in the log twice, or with two decisions or outcomes; "
    "the first one counts",
    "cases_without_time": "cases have no readable time of decision (ISO 8601, or "
    "seconds since 1970); they are left out",
    "cases_without_decision": "cases have neither a decision nor an outcome that is a "
    "class of the spec; they are left out",
    "unexplained_decisions": "decisions have no call and no known value that explains "
    "them; they are left out",
    "unknown_labels": "decisions or outcomes are no class of the spec; they count as "
    "not known",
    "unknown_vendors": "calls are of a vendor that the spec does not have; they are "
    "left out (`vendors` of the mapping says which is which)",
    "late_answers": "answers came later than the decision; they are not used, and "
    "their price is not counted",
    "calls_without_time": "calls have no readable time; the order of the file counts",
    "repeated_calls": "calls ask a vendor again in the same case; the last answer "
    "counts",
    "price_changes": "calls have another price than the spec; all figures are at the "
    "prices of the spec",
    "unreadable_prices": "prices can't be read; they are not compared with the spec",
    "values_out_of_range": "values can't be what their feature says (type, min, max); "
    "they count as empty",
    "unexplained_answers": "answers stand where no call of their vendor explains them; "
    "they are not used",
}


@dataclass(frozen=True)
class LogFile:
    """A log that is open, and what the spec says about it."""

    table: StreamedTable
    mapping: LogMapping
    spec: TrainingSpec
    #: of the spec, without categories, which training learns
    catalogue: Catalogue
    problems: ProblemList
    #: numbers of the labels; where the spec has no classes, of those met so far
    labels: dict[str, int]
    #: numbers of the texts met so far, by the position of their feature
    words: dict[int, dict[str, int]] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns that are read: of roles and of features."""
        features = (self.mapping.column_of(f.name) for f in self.catalogue.features)
        return list(dict.fromkeys((*self.mapping.roles.values(), *features)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def vendor_offers(self) -> dict[str, int]:
        """The offer of each vendor, by its name in the log."""
        return number_vendors(self.catalogue, self.mapping)

    def read_chunks(
        self, names: Sequence[str]
    ) -> Iterator[tuple[int, dict[str, Column]]]:
        """Yield some rows of some columns at a time, with the number of the first."""
        for rows in self.table.ranges:
            for start in range(rows.start, rows.stop, ROWS_AT_ONCE):
                stop = min(start + ROWS_AT_ONCE, rows.stop)
                yield start, self.table.read_rows(start, stop, names)


def open_log(
    path: Path, spec: TrainingSpec, mapping: LogMapping, bounds: Bounds
) -> LogFile:
    """Open a log; raise RefusedError for what mapping and spec must have."""
    refusals = check_shadow_spec(spec)
    if refusals:
        raise RefusedError(refusals)
    table = open_table(path, list_text_columns_of_log(spec, mapping), bounds)
    return make_log(table, spec, mapping)


def list_text_columns_of_log(spec: TrainingSpec, mapping: LogMapping) -> frozenset[str]:
    """Return the columns of a log whose cells stay as written."""
    roles = mapping.roles.items()
    columns = {column for role, column in roles if role not in NUMBERS}
    return frozenset(columns | {*map(mapping.column_of, spec.table.text_columns)})


def make_log(table: StreamedTable, spec: TrainingSpec, mapping: LogMapping) -> LogFile:
    """Return a table as a log; raise RefusedError for what must be otherwise."""
    check_log([*table], spec, mapping)
    if not table.n_rows:
        raise RefusedError([Refusal("log", "must have at least one row")])
    return LogFile(
        *(table, mapping, spec),
        catalogue=make_catalogue(spec),
        problems=ProblemList(),
        labels={label: number for number, label in enumerate(spec.table.displays)},
    )


def make_catalogue(spec: TrainingSpec) -> Catalogue:
    """Return the catalogue of a spec, without categories, which training learns."""
    table = spec.table
    return Catalogue(table.features or (), table.groups, table.cost_unit)


def number_vendors(catalogue: Catalogue, mapping: LogMapping) -> dict[str, int]:
    """Return the offer of each vendor, by its name in the log."""
    prices = price_offers(catalogue)
    offers = {
        catalogue.offer_name(offer[0]): number
        for number, offer in enumerate(catalogue.offers)
        if prices[number] > 0
    }
    renamed = mapping.vendors.items()
    return offers | {name: offers[own] for name, own in renamed if own in offers}


def check_log(names: Sequence[str], spec: TrainingSpec, mapping: LogMapping) -> None:
    """Raise RefusedError unless a log with such columns can be compared."""
    refusals = check_shadow_spec(spec)
    if refusals:
        raise RefusedError(refusals)
    columns = {f"mapping.{role}": column for role, column in mapping.roles.items()}
    columns |= {
        f"features.{feature.name}": mapping.column_of(feature.name)
        for feature in spec.table.features or ()
    }
    refusals = [
        Refusal(
            where, f"must be a column of the log{nearest_hint(column, names)}", column
        )
        for where, column in columns.items()
        if column not in names
    ]
    refusals += check_layout(mapping)
    offers = number_vendors(make_catalogue(spec), mapping)
    refusals += [
        Refusal(f"mapping.{field_name}.{name}", "must name a priced group or feature")
        for field_name, vendors in (
            ("vendors", mapping.vendors.values()),
            ("vendor_at", mapping.vendor_at),
        )
        for name in vendors
        if name not in offers
    ]
    if refusals:
        raise RefusedError(refusals)


NUMBERS = ("price", "latency_s")


def check_shadow_spec(spec: TrainingSpec) -> list[Refusal]:
    """Return refusals of a spec that a log can't be compared by."""
    table = spec.table
    refusals = []
    if table.features is None:
        refusals.append(Refusal("features", "must be listed for a shadow"))
    refusals += [
        Refusal(f"groups.{group.name}.fee", "must be a price: a call is one purchase")
        for group in table.groups
        if not group.is_bundle and group.fee
    ]
    refusals += [
        Refusal(role, "must be left out for a shadow: a case counts once")
        for role in ("weight", "group_by")
        if table.roles[role] is not None
    ]
    is_sold = any(group.price for group in table.groups)
    if not is_sold and not any(feature.cost for feature in table.features or ()):
        refusals.append(
            Refusal("groups", "must have a price: what a vendor's call costs")
        )
    return refusals


def check_layout(mapping: LogMapping) -> Iterator[Refusal]:
    """Yield refusals of a mapping that lacks what its layout needs."""
    if mapping.layout == "calls" and mapping.vendor is None:
        yield Refusal("mapping.vendor", "is required where a row is a call")
    if mapping.layout == "cases" and not (mapping.order or mapping.vendor_at):
        rule = "is required where a row is a case, or vendor_at"
        yield Refusal("mapping.order", rule)
    if mapping.decision is None and mapping.outcome is None:
        yield Refusal("mapping.decision", "is required, or an outcome")


def draft_mapping(
    names: Sequence[str], spec: TrainingSpec
) -> tuple[dict[str, Any], list[str]]:
    """Return a mapping drafted from the columns of a log, and notes to look at.

    A column that the spec reads as a feature is no column of a role.
    """
    features = {feature.name for feature in spec.table.features or ()}
    free = {name.lower(): name for name in names if name not in features}
    target = spec.table.target
    roles: dict[str, str] = {}
    for role, likely in LIKELY.items():
        own = [target.lower()] if role == "outcome" else []
        for name in (*own, *likely):
            if name in free and free[name] not in roles.values():
                roles[role] = free[name]
                break
    vendors = [group.name for group in spec.table.groups]
    vendors += [f.name for f in spec.table.features or () if f.cost and not f.group]
    vendor_at = {
        vendor: free[name]
        for vendor in vendors
        for end in TIME_ENDS
        if (name := f"{vendor}{end}".lower()) in free
    }
    is_calls = "vendor" in roles
    left_out = ("order",) if is_calls else ("vendor", "at", "price", "latency_s")
    mapping: dict[str, Any] = {"layout": "calls" if is_calls else "cases"}
    mapping |= {role: column for role, column in roles.items() if role not in left_out}
    if not is_calls and vendor_at:
        mapping["vendor_at"] = vendor_at
    notes = [
        f"no column looks like the {role}: name it, then go on"
        for role in ("case", "decided_at")
        if role not in mapping
    ]
    mapping |= {role: "" for role in ("case", "decided_at") if role not in mapping}
    if not {"decision", "outcome"} & mapping.keys():
        notes.append("no column looks like a decision or an outcome: name one")
    wanted = ["case", "decided_at", "decision"]
    if not is_calls and not {"order", "vendor_at"} & mapping.keys():
        wanted += ["vendor", "order"]
        notes.append("no column looks like vendors, their order or their times")
    notes += [
        f"{name} looks like the log's {role}, but the spec has it as a feature: if it "
        "is none, list it there under ignore, and do this again"
        for role in wanted
        if role not in roles
        for name in names
        if name in features and name.lower() in LIKELY[role]
    ]
    if lacking := sorted(features - {*names}):
        notes.append(f"features without a column: {', '.join(lacking)}; name them")
        mapping["columns"] = dict.fromkeys(lacking, "")
    return mapping, notes


def map_words(column: Column, parse: Callable[[str], float]) -> FloatArray:
    """Return each cell as a number, NaN for a blank; each distinct word once."""
    cells = to_text_cells(column)
    parsed = [float("nan") if word is None else parse(word) for word in cells.words]
    values: FloatArray = np.array(parsed, np.float64)[cells.numbers]
    return values


def read_moment(word: str) -> float:
    """Return a time in seconds since 1970, UTC where it names no zone; NaN: none.

    ISO 8601, or a number of seconds; one that is in no year has milliseconds, or worse.
    """
    seconds = parse_seconds(word)
    # More digits than those of a day are no date, whatever Python makes of them.
    if np.isnan(seconds) or len(word) <= len("20260301"):
        with suppress(ValueError):
            moment = datetime.fromisoformat(word)
            zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            seconds = zoned.timestamp()
    return seconds if TIMES[0] <= seconds <= TIMES[1] else float("nan")


def parse_seconds(word: str) -> float:
    """Return a number; NaN where it is none, or no finite one."""
    try:
        number = float(word)
    except ValueError:
        return float("nan")
    return number if np.isfinite(number) else float("nan")


def merge_missing(spec: TrainingSpec, feature: Feature) -> tuple[str, ...]:
    """Return the words that mean a missing value of a feature."""
    return tuple(dict.fromkeys((*spec.table.missing, *feature.missing)))


def number_firsts(keys: Wholes) -> IntArray:
    """Return the position of each key's first occurrence, for keys in a row."""
    is_first = np.append(True, keys[1:] != keys[:-1]) if keys.size else keys == keys
    firsts: IntArray = np.flatnonzero(is_first)
    return firsts
