"""Nothing imports through the links at the top of the repository."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guard.sitecustomize import LINKS

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", LINKS)
def test_links_are_refused_as_imports(name: str) -> None:
    assert (ROOT / name).is_symlink()
    with pytest.raises(AssertionError, match=f"import askless.{name}"):
        importlib.import_module(f"{name}.anything")


def test_processes_that_tests_start_refuse_them_too() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import core.errors"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "import askless.core" in ended.stderr
