"""The demo's tables are those of their sources, and their specs fit them."""

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from askless.app.documents.files import load_spec
from askless.app.uploads.streams import read_columns
from askless.core.catalogue.prices import from_micros
from askless.core.pipeline.check import check_training

DEMO = Path(__file__).resolve().parents[2] / "app" / "demo"


def read(name: str) -> tuple[list[list[str]], list[str]]:
    """The cells of a table without its target, and the target."""
    with (DEMO / name).open(newline="") as lines:
        _, *rows = csv.reader(lines)
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def test_breast_cancer_is_scikit_learns() -> None:
    source = load_breast_cancer()

    cells, labels = read("breast-cancer.csv")

    np.testing.assert_array_equal(np.array(cells, np.float64), source.data)
    assert labels == [source.target_names[wanted] for wanted in source.target]


def test_diabetes_is_scikit_learns_above_the_threshold_that_is_told() -> None:
    source = load_diabetes(scaled=False)

    cells, labels = read("diabetes.csv")

    np.testing.assert_array_equal(np.array(cells, np.float64), source.data)
    assert labels == [str(int(wanted > 140)) for wanted in source.target]


@pytest.mark.parametrize(
    ("name", "total"), [("heart", 323.97), ("breast-cancer", 39), ("diabetes", 40.27)]
)
def test_a_spec_fits_its_table_and_costs_what_is_told(name: str, total: float) -> None:
    spec = load_spec(DEMO / f"{name}.json")
    columns = read_columns(DEMO / f"{name}.csv", spec.table.text_columns)

    dataset = check_training(columns, spec).dataset

    catalogue = dataset.catalogue
    costs = [feature.cost for feature in catalogue.features]
    costs += [group.price or group.fee for group in catalogue.groups]
    assert from_micros(sum(costs)) == total
    assert f"costs {total}" in (DEMO / "README.md").read_text(encoding="utf-8")
    assert spec.note is not None
    assert "Not for clinical use." in spec.note
