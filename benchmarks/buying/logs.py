"""Write a log of cases that a waterfall has decided, as large as is asked for.

`python -m benchmarks.buying.logs 1000000 FOLDER` writes `log.csv`, a row for each call,
and `spec.json`, which `askless shadow` then reads.

The cases are those of `benchmarks/buying/cases.py`. The waterfall asks the eight
vendors by ascending price. It takes the mean of the readings of size, and of those of
trust, and decides for the class that is nearest; it stops once the second one is
further by MARGIN.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.table.dataset import Dataset
from benchmarks.buying.cases import CLASSES, MARKET, SIZES, TRUSTS, make_cases
from benchmarks.data import MICROS

MARGIN = 1.6
SIZE_READINGS = ("words", "staff", "turnover", "stock", "size")
TRUST_READINGS = ("paid", "score", "audit")
CASES_A_DAY, CASES_AT_ONCE = 3_000, 50_000
FIRST_DAY = np.datetime64("2026-01-05T00:00:00.000")
SEED = 0


def decide_in_order(cases: Dataset) -> tuple[IntArray, IntArray]:
    """Return the decision on each case, and how many vendors were asked."""
    names = [feature.name for feature in MARKET.catalogue.features]
    n_cases, n_vendors = cases.targets.size, MARKET.prices.size
    decisions, counts = np.zeros(n_cases, np.int64), np.full(n_cases, n_vendors)
    is_open = np.ones(n_cases, np.bool_)
    for n_asked in range(1, n_vendors + 1):
        shown = np.where(MARKET.vendor_of < n_asked, cases.values, np.nan)
        known = dict(zip(names, shown.T, strict=True))
        size, trust = (
            read_mean(np.column_stack([known[name] for name in readings]))
            for readings in (SIZE_READINGS, TRUST_READINGS)
        )
        distances = np.hypot(size[:, None] - SIZES, trust[:, None] - TRUSTS)
        nearest, second = np.sort(distances, axis=1)[:, :2].T
        decisions[is_open] = distances.argmin(axis=1)[is_open]
        is_sure = is_open & (second - nearest > MARGIN)
        counts[is_sure] = n_asked
        is_open &= ~is_sure
    return decisions, counts


def read_mean(readings: FloatArray) -> FloatArray:
    """Return the mean of the readings that are known; 0 without any."""
    is_known = ~np.isnan(readings)
    sums = np.where(is_known, readings, 0.0).sum(axis=1)
    mean: FloatArray = sums / np.maximum(is_known.sum(axis=1), 1)
    return mean


def make_rows(first: int, n_cases: int) -> pa.Table:
    """Return the calls of some cases, `first` being the number of the first one."""
    random = np.random.default_rng([SEED, first])
    cases = make_cases(n_cases, random)
    decisions, counts = decide_in_order(cases)
    own = np.repeat(np.arange(n_cases), counts)
    vendors = np.arange(own.size) - np.repeat(np.cumsum(counts) - counts, counts)
    seconds = random.lognormal(-0.5, 0.5, own.size)
    ends = np.cumsum(seconds)
    waited = ends - (ends - seconds)[np.cumsum(counts) - counts][own]
    numbers = first + np.arange(n_cases)
    starts = FIRST_DAY + (numbers * (86_400_000 // CASES_A_DAY)).astype("m8[ms]")
    decided = starts + np.bincount(own, seconds * 1000).astype("m8[ms]")
    labels = np.array(CLASSES)
    head = {
        "case": np.char.add("c", numbers.astype(str))[own],
        "decided_at": np.datetime_as_string(decided + np.timedelta64(1000))[own],
        "vendor": np.char.add("vendor", vendors.astype(str)),
        "at": np.datetime_as_string(starts[own] + (waited * 1000).astype("m8[ms]")),
        "price": MARKET.prices[vendors],
        "latency_s": seconds.round(3),
    }
    is_answer = MARKET.vendor_of == vendors[:, None]
    answers = write_answers(cases.values[own], is_answer)
    tail = {"decision": labels[decisions][own], "outcome": labels[cases.targets][own]}
    return pa.table({**head, **answers, **tail})


def write_answers(values: FloatArray, is_answer: BoolArray) -> dict[str, pa.Array]:
    """Return the answers by feature, null where the vendor of the row has another."""
    is_null = np.isnan(values) | ~is_answer
    return {
        feature.name: pa.array(
            values[:, idx].round(4)
            if feature.type == "number"
            else np.nan_to_num(values[:, idx]).astype(np.int64),
            mask=is_null[:, idx],
        )
        for idx, feature in enumerate(MARKET.catalogue.features)
    }


def make_spec() -> dict[str, Any]:
    catalogue = MARKET.catalogue
    features: list[dict[str, Any]] = [
        {"name": feature.name, "type": feature.type, "group": feature.group}
        for feature in catalogue.features
    ]
    groups = [
        {"name": group.name, "price": (group.price or 0) / MICROS}
        | {"billing": "per_call"}
        for group in catalogue.groups
    ]
    classes = {name: name for name in CLASSES}
    return {"name": "made", "target": "outcome", "classes": classes} | {
        **{"cost_unit": "USD", "features": features, "groups": groups},
        **{"validation": {"folds": 3}, "seed": SEED},
    }


def write_log(n_cases: int, folder: Path) -> None:
    """Write a log and its spec into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text(json.dumps(make_spec(), indent=1))
    schema = make_rows(0, 1).schema
    with pa.csv.CSVWriter(folder / "log.csv", schema) as writer:
        for first in range(0, n_cases, CASES_AT_ONCE):
            rows = make_rows(first, min(CASES_AT_ONCE, n_cases - first))
            writer.write_table(rows.cast(schema))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_cases", type=int)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    write_log(options.n_cases, options.folder)


if __name__ == "__main__":
    main()
