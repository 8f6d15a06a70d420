"""A log that is read: cases in a file, handed out in the order of their decisions.

For each case 16 bytes stay in memory: when it was decided, and where its record is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from askless.app.batch.shadow.log_files import LogFile
from askless.app.batch.shadow.log_values import CaseRecords, latency_file, record_type
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.rows import check_block
from askless.core.shadow.logs import UNKNOWN, LoggedCases, price_offers
from askless.core.shadow.results import LatencyLine
from askless.core.table.columns import Column, Columns

# Cases that are replayed at a time.
BLOCK = 1 << 13
SECONDS_PER_DAY = 86_400
# Name of the file of records.
RECORDS = "cases"


@dataclass(frozen=True)
class HeldLog:
    """A log that is read: cases that count, in the order of their decisions."""

    log: LogFile
    folder: Path
    #: (n_cases,), seconds since 1970, ascending
    decided: FloatArray
    #: (n_cases,), the place of each in the file of records
    record_idxs: IntArray

    @property
    def n_cases(self) -> int:
        """Number of cases that count."""
        return int(self.decided.size)

    def read(self, places: IntArray) -> CaseRecords:
        """Return the records of some of the cases.

        The file is mapped anew each time: what was read of it before is let go.
        """
        kind = record_type(self.log.catalogue)
        records = np.memmap(self.folder / RECORDS, kind, "r")
        return np.asarray(records[self.record_idxs[places]])

    def to_columns(self, records: CaseRecords) -> dict[str, Column]:
        """Return the feature columns of records."""
        columns: dict[str, Column] = {}
        for idx, feature in enumerate(self.log.catalogue.features):
            column: Column = np.ascontiguousarray(records["values"][:, idx])
            if idx in self.log.words:
                # NaN, where nothing is known, reads the last place.
                words = np.array([*self.log.words[idx], None], np.object_)
                numbers = np.nan_to_num(column, nan=len(words) - 1)
                column = words[numbers.astype(np.int64)]
            columns[feature.name] = column
        return columns

    def to_targets(self, records: CaseRecords) -> list[str]:
        """Return the outcome of records where there is one, else the decision."""
        outcomes, decisions = records["outcome"], records["decision"]
        numbers = np.where(outcomes == UNKNOWN, decisions, outcomes)
        labels = tuple(self.log.labels)
        return [labels[number] for number in numbers.tolist()]

    def find_silent(self, records: CaseRecords, name: str) -> BoolArray:
        """Return which records nobody asked the vendor of a feature for."""
        catalogue = self.log.catalogue
        offer = int(catalogue.offer_idxs[catalogue.feature_idxs[name]])
        is_sold = bool(price_offers(catalogue)[offer])
        is_silent: BoolArray = records["orders"][:, offer] == 0
        return is_silent & is_sold

    def to_cases(self, ensemble: Ensemble, places: IntArray) -> LoggedCases:
        """Return some of the cases as values of a model."""
        records = self.read(places)
        values = check_block(self.to_columns(records), ensemble).values
        own = {label.label: place for place, label in enumerate(ensemble.classes)}
        positions = [own.get(label, UNKNOWN) for label in self.log.labels]
        # `UNKNOWN` reads the last place.
        labels = np.array([*positions, UNKNOWN], np.int64)
        return LoggedCases(
            values=values,
            orders=records["orders"].astype(np.int64),
            decisions=labels[records["decision"]],
            outcomes=labels[records["outcome"]],
            days=day_of(records["decided"]).astype(np.int64),
            repeats=records["repeats"].copy(),
            numbers=places,
        )

    def list_blocks(
        self, ensemble: Ensemble, start: int, size: int = BLOCK
    ) -> Iterator[LoggedCases]:
        """Yield the cases from a place on, in blocks."""
        for first in range(start, self.n_cases, size):
            last = min(first + size, self.n_cases)
            yield self.to_cases(ensemble, np.arange(first, last))


def day_of(seconds: FloatArray) -> FloatArray:
    """Return the day of a time, since 1970."""
    return np.floor(seconds / SECONDS_PER_DAY)


def split_older(held: HeldLog, share: float) -> int:
    """Return how many cases, of the first days, are older.

    The cut is between two days where both sides have cases then.
    """
    times, n_older = held.decided, int(share * held.n_cases)
    if n_older and day_of(times[:1])[0] < day_of(times[n_older - 1 : n_older])[0]:
        day = day_of(times[n_older : n_older + 1])[0]
        before = int(np.searchsorted(times, day * SECONDS_PER_DAY))
        n_older = before if before else n_older
    return n_older


def to_training_columns(held: HeldLog, records: CaseRecords) -> Columns:
    """Return the columns to train on: features, and the target."""
    target = np.array(held.to_targets(records), np.object_)
    return {**held.to_columns(records), held.log.spec.table.target: target}


def measure_latencies(held: HeldLog) -> tuple[LatencyLine, ...]:
    """Return the latencies of each vendor that the log has some of."""
    catalogue, lines = held.log.catalogue, []
    for offer, (first, *_) in enumerate(catalogue.offers):
        path = latency_file(held.folder, offer)
        own = np.fromfile(path, np.float32) if path.exists() else np.empty(0)
        if own.size:
            median, p95 = np.quantile(own, (0.5, 0.95)).tolist()
            name = catalogue.offer_name(first)
            lines.append(LatencyLine(name, int(own.size), median, p95))
    return tuple(lines)
