"""The benchmarks can be imported, and their documents have the tables they make."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "benchmarks").rglob("*.py")
)
PEERS = ("lightgbm", "matplotlib", "river", "xgboost")
ABSENT = [peer for peer in PEERS if not find_spec(peer)]

pytestmark = pytest.mark.skipif(
    bool(ABSENT),
    reason=f"packages of the group `bench` are absent: {', '.join(ABSENT)}",
)


def test_every_module_can_be_imported() -> None:
    assert all(map(import_module, MODULES))


@pytest.mark.parametrize("package", ["bench", "buying", "frontier", "papers"])
def test_a_document_has_a_region_for_every_table_and_no_other(package: str) -> None:
    find_regions = import_module("benchmarks.documents").find_regions
    command = import_module(f"benchmarks.{package}.__main__")

    regions = find_regions(command.SOURCE.read_text(encoding="utf-8"))

    assert sorted(regions) == sorted(command.NAMES)
