"""The shared data sets as `Dataset`s, with given costs, for any choice of rows.

They lie outside the repository: in the folder that `ASKLESS_DATA` names, else in
`shared/data` beside it.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from core.arrays import FloatArray, IntArray
from core.table.catalogue import UNSEEN, Catalogue, Feature
from core.table.dataset import ClassLabel, Dataset

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
TARGET = "label"
MICROS = 1_000_000

# Sets of several classes that the papers use with two.
JOINED = {
    "splice": {"N": "neither", "EI": "junction", "IE": "junction"},
    # Huang et al. don't name their two classes; "cp" against the rest is the usual cut.
    "ecoli": dict.fromkeys(("im", "pp", "imU", "om", "omL", "imL", "imS"), "other"),
}


class MissingDataError(Exception):
    """A set that is not there, or not of two classes; one line says which and why."""


def find_folder() -> Path:
    """Return the folder of the shared data sets."""
    return Path(os.environ.get("ASKLESS_DATA") or FOLDER)


@dataclass(frozen=True)
class Table:
    """A set as it was read: categories as codes over all its rows."""

    name: str
    features: tuple[Feature, ...]
    classes: tuple[ClassLabel, ...]
    values: FloatArray
    targets: IntArray

    @property
    def n_samples(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_features(self) -> int:
        return len(self.features)

    def training(
        self, rows: npt.ArrayLike, costs: Sequence[int] | IntArray | None = None
    ) -> Dataset:
        """Rows to train on; `costs` in micro-units, 1 unit each by default.

        Of a category's values only those of these rows are known.
        """
        row_idxs = np.asarray(rows)
        micros = (
            [MICROS] * self.n_features if costs is None else [int(c) for c in costs]
        )
        values = self.values[row_idxs]
        features = []
        for idx, (feature, cost) in enumerate(zip(self.features, micros, strict=True)):
            column = values[:, idx]
            seen = feature.categories
            if feature.type == "category":
                codes = np.unique(column[~np.isnan(column)])
                seen = tuple(feature.categories[int(code)] for code in codes)
                values[:, idx] = recode(column, feature.categories, seen)
            features.append(replace(feature, cost=cost, categories=seen))
        return self._dataset(values, row_idxs, Catalogue(tuple(features)))

    def testing(self, rows: npt.ArrayLike, training: Dataset) -> Dataset:
        """Rows to test on, in the terms of a training's catalogue."""
        row_idxs = np.asarray(rows)
        values = self.values[row_idxs]
        for idx, feature in enumerate(training.catalogue.features):
            if feature.type == "category":
                all_seen = self.features[idx].categories
                values[:, idx] = recode(values[:, idx], all_seen, feature.categories)
        return self._dataset(values, row_idxs, training.catalogue)

    def _dataset(
        self, values: FloatArray, row_idxs: IntArray, catalogue: Catalogue
    ) -> Dataset:
        n_rows = row_idxs.size
        return Dataset(
            catalogue=catalogue,
            classes=self.classes,
            values=np.ascontiguousarray(values),
            targets=self.targets[row_idxs],
            weights=np.full(n_rows, 1.0 / n_rows),
        )


def recode(column: FloatArray, old: Sequence[str], new: Sequence[str]) -> FloatArray:
    """Codes into `old` as codes into `new`; `UNSEEN` for what `new` lacks."""
    positions = {category: float(code) for code, category in enumerate(new)}
    codes = np.array([*(positions.get(category, UNSEEN) for category in old), np.nan])
    return codes[np.where(np.isnan(column), len(old), column).astype(np.int64)]


def load(name: str, *, is_two_class: bool = True) -> Table:
    """Read a set by its name in the manifest.

    Of two classes, some joined as in the papers; or with the classes as they are.
    """
    folder = find_folder()
    manifest_path = folder / "manifest.json"
    if not manifest_path.is_file():
        where = "the folder that ASKLESS_DATA names, else ../shared/data"
        raise MissingDataError(f"{name}: no data folder ({where})")
    entry = json.loads(manifest_path.read_text()).get(name)
    if entry is None or not (folder / entry["file"]).is_file():
        raise MissingDataError(f"{name}: no such set in the data folder")
    columns = read_columns(folder / entry["file"])
    joined = JOINED.get(name, {}) if is_two_class else {}
    labels = np.array([joined.get(label, label) for label in columns.pop(TARGET)])
    class_names, targets = np.unique(labels, return_inverse=True)
    if is_two_class and class_names.size != 2:
        raise MissingDataError(f"{name}: has {class_names.size} classes, not two")
    features, values = [], []
    for column_name, cells in columns.items():
        feature, column = read_feature(
            column_name, cells, is_nominal(column_name, entry["nominal_features"])
        )
        features.append(feature)
        values.append(column)
    return Table(
        name=name,
        features=tuple(features),
        classes=tuple(ClassLabel(str(one), str(one)) for one in class_names),
        values=np.column_stack(values),
        targets=targets.astype(np.int64),
    )


def read_columns(path: Path) -> dict[str, list[str]]:
    """Read every cell of a CSV file as text."""
    with pa.input_stream(str(path), compression="detect") as stream:
        content = stream.read()
    header = content.split(b"\n", 1)[0].decode().strip().split(",")
    table = pyarrow.csv.read_csv(
        pa.BufferReader(content),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string())
        ),
    )
    return {name: table.column(name).to_pylist() for name in table.column_names}


def is_nominal(name: str, nominal: list[str] | str) -> bool:
    """Whether a column is nominal; the manifest writes "60 of 60" for all of them."""
    if isinstance(nominal, str):
        some, _, every = nominal.partition(" of ")
        assert some == every
        return True
    return name in nominal


def read_feature(
    name: str, cells: Sequence[str], nominal: bool
) -> tuple[Feature, FloatArray]:
    """Type a column: category if nominal, boolean if 0 and 1 only, else number."""
    if nominal:
        categories = tuple(sorted(set(cells) - {""}))
        codes = {category: float(code) for code, category in enumerate(categories)}
        values = np.array([codes.get(cell, np.nan) for cell in cells])
        return Feature(name, "category", categories=categories), values
    is_boolean = set(cells) <= {"0", "1", ""}
    values = np.array([float(cell) if cell else np.nan for cell in cells])
    return Feature(name, "boolean" if is_boolean else "number"), values
