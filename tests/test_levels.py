"""The levels of the tests: the files that they name are there."""

from pathlib import Path

import pytest

from tests.levels import FULL_FILES

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("path", sorted(FULL_FILES))
def test_each_file_of_level_full_is_there(path: str) -> None:
    assert (ROOT / path).is_file()
