"""The shared data sets as `Dataset`s, with given costs, for any choice of rows.

They lie outside the repository: in the folder that `ASKLESS_DATA` names, else in
`shared/data` beside it.
"""

import csv
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from askless.app.uploads import read_table
from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature
from askless.core.table.dataset import ClassLabel, Dataset

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
TARGET = "label"
MICROS = 1_000_000
Value = TypeVar("Value")

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


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read a small table of ours, with a heading, that stands beside a module."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def read_each(
    names: Iterable[str], read: Callable[[str], Value]
) -> tuple[dict[str, Value], dict[str, str]]:
    """Return what is read of each set that is there, and why the others are lacking."""
    found, lacking = {}, {}
    for name in names:
        try:
            found[name] = read(name)
        except MissingDataError as error:
            lacking[name] = str(error)
    return found, lacking


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
        micros = [MICROS] * self.n_features if costs is None else costs
        columns = self.values[np.asarray(rows)].T
        features = []
        for feature, cost, column in zip(self.features, micros, columns, strict=True):
            seen = feature.categories
            if feature.type == "category":
                codes = np.unique(column[~np.isnan(column)])
                seen = tuple(feature.categories[int(code)] for code in codes)
            features.append(replace(feature, cost=int(cost), categories=seen))
        return self.encode(rows, Catalogue(tuple(features)))

    def encode(self, rows: npt.ArrayLike, catalogue: Catalogue) -> Dataset:
        """Rows in the terms of a catalogue: a training's, to test it."""
        row_idxs = np.asarray(rows)
        values = self.values[row_idxs]
        for idx, feature in enumerate(catalogue.features):
            if feature.type == "category":
                all_seen = self.features[idx].categories
                values[:, idx] = recode(values[:, idx], all_seen, feature.categories)
        return Dataset(
            catalogue=catalogue,
            classes=self.classes,
            values=np.ascontiguousarray(values),
            targets=self.targets[row_idxs],
            weights=np.full(row_idxs.size, 1.0 / row_idxs.size),
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
    table = read_table(folder / entry["file"])
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    joined = JOINED.get(name, {}) if is_two_class else {}
    labels = np.array([joined.get(label, label) for label in columns.pop(TARGET)])
    class_names, targets = np.unique(labels, return_inverse=True)
    if is_two_class and class_names.size != 2:
        raise MissingDataError(f"{name}: has {class_names.size} classes, not two")
    nominal = entry["nominal_features"]
    # The manifest writes "60 of 60" for all of them.
    is_nominal = [isinstance(nominal, str) or column in nominal for column in columns]
    features, values = zip(*map(read_feature, columns.items(), is_nominal), strict=True)
    return Table(
        name=name,
        features=features,
        classes=tuple(ClassLabel(str(name), str(name)) for name in class_names),
        values=np.column_stack(values),
        targets=targets.astype(np.int64),
    )


def read_prices(name: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the costs of a set's manifest in units, and its groups."""
    path = find_folder() / "manifest.json"
    entry = json.loads(path.read_text(encoding="utf-8"))[name]
    return dict(entry["costs"]), dict(entry["cost_detail"]["groups"])


def read_feature(
    column: tuple[str, Sequence[str | None]], is_nominal: bool
) -> tuple[Feature, FloatArray]:
    """Type a column: category if nominal, boolean if 0 and 1 only, else number."""
    name, cells = column
    if is_nominal:
        categories = tuple(sorted({cell for cell in cells if cell}))
        codes = {category: float(code) for code, category in enumerate(categories)}
        values = np.array([codes.get(cell, np.nan) for cell in cells])
        return Feature(name, "category", categories=categories), values
    is_boolean = set(cells) <= {"0", "1", None}
    values = np.array([float(cell) if cell else np.nan for cell in cells])
    return Feature(name, "boolean" if is_boolean else "number"), values
