"""The levels of the tests: the files that they name are there."""

from pathlib import Path

from tests.levels import FULL_FILES

ROOT = Path(__file__).resolve().parents[1]


def test_each_file_of_level_full_is_there() -> None:
    assert [path for path in FULL_FILES if not (ROOT / path).is_file()] == []
