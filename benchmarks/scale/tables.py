"""A table of any length, made piece by piece: a Parquet file and its spec."""

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet

GROUP_ROWS = 250_000
N_FEATURES = 50
SEED = 5

Numbers = npt.NDArray[np.float64]


def make_table(folder: Path, n_rows: int) -> tuple[Path, Path]:
    """Return a table and its spec; made unless they are there."""
    path, spec = folder / f"{n_rows}.parquet", folder / f"{n_rows}.json"
    if not (path.exists() and spec.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        write_rows(partial, n_rows)
        spec.write_text(json.dumps(SPEC))
        partial.rename(path)
    return path, spec


SPEC = {
    "target": "y",
    "cost_unit": "EUR",
    "algorithm": "adaboost_bt_smoothed",
    "params": {"rounds": 100},
    "validation": {"folds": 5, "deal": "hashed"},
    "costs": {f"d{idx}": 1 + idx % 5 for idx in range(30)},
}


def write_rows(path: Path, n_rows: int) -> None:
    """Write so many rows, a row group at a time."""
    writer = None
    for start in range(0, n_rows, GROUP_ROWS):
        group = make_group(start, min(GROUP_ROWS, n_rows - start))
        writer = writer or pyarrow.parquet.ParquetWriter(path, group.schema)
        writer.write_table(group, row_group_size=GROUP_ROWS)
    assert writer is not None, "there are rows"
    writer.close()


def make_group(start: int, n_rows: int) -> pa.Table:
    """Return 30 numbers (6 with gaps), 10 whole ones, 5 flags, 5 of words, a class."""
    random = np.random.default_rng((SEED, start))
    columns, score = {}, np.zeros(n_rows)
    for idx in range(30):
        numbers = random.normal(size=n_rows)
        score += numbers * (0.5 if idx % 7 == 0 else 0.0)
        if idx % 5 == 0:
            numbers[random.random(n_rows) < 0.05] = np.nan
        columns[f"d{idx}"] = pa.array(numbers, from_pandas=True)
    for idx in range(10):
        counts = random.integers(0, 10 * (idx + 1) ** 2, n_rows)
        score += counts > 80 if idx == 3 else 0.0
        columns[f"i{idx}"] = pa.array(counts)
    for idx in range(5):
        flags = random.random(n_rows) < 0.3
        score += 0.4 * flags if idx == 0 else 0.0
        columns[f"b{idx}"] = pa.array(flags)
    for idx in range(5):
        words = np.array([f"w{number}" for number in range(4 + 8 * idx)])
        drawn = random.integers(0, words.size, n_rows)
        score += (drawn % 2) * 0.3
        columns[f"c{idx}"] = pa.array(words[drawn])
    is_ill = score + random.normal(size=n_rows) > 1.2
    columns["y"] = pa.array(np.where(is_ill, "ill", "well"))
    return pa.table(columns)
