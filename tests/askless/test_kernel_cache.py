"""Machine code is kept by the sources of all kernels, and only that of ours."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from askless.kernel_cache import STALE_S, choose_folder

CALLEE = """
from askless.core.kernels.jit import kernel

@kernel
def pick():
    return {}
"""
CALLER = """
from askless.core.kernels.jit import kernel
from callee import pick

@kernel
def call():
    return pick()
"""
PROGRAM = """
import sys
from pathlib import Path

import numba
from askless.core import machine_code
from askless.kernel_cache import choose_folder

kernels = Path(sys.argv[1])
machine_code.choose_folder = lambda given: choose_folder(given, kernels)
sys.path.insert(0, str(kernels))
from caller import call

print(call(), sum(call.stats.cache_hits.values()), call.stats.cache_path)
print(numba.njit(cache=True)(choose_folder).stats.cache_path)
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "callee.py").write_text(CALLEE.format(1))
    (folder / "caller.py").write_text(CALLER)
    return folder


def test_the_same_sources_have_the_same_folder(kernels: Path, tmp_path: Path) -> None:
    given = str(tmp_path / "given")

    folder = choose_folder(given, kernels)

    assert choose_folder(given, kernels) == folder
    assert Path(folder).parent == Path(given)
    assert Path(folder).is_dir()


def test_an_edit_of_any_file_has_another_folder(kernels: Path) -> None:
    before = choose_folder("", kernels)

    (kernels / "callee.py").write_text(CALLEE.format(2))

    assert choose_folder("", kernels) != before


def test_stale_folders_go_and_those_just_used_stay(kernels: Path) -> None:
    folders = []
    for number in range(3):
        (kernels / "callee.py").write_text(CALLEE.format(number))
        folders.append(Path(choose_folder("", kernels)))
    long_ago = time.time() - STALE_S - 60
    (folders[0] / "kept.nbc").touch()
    os.utime(folders[0], (long_ago, long_ago))

    choose_folder("", kernels)

    assert [folder.exists() for folder in folders] == [False, True, True]


def test_copies_in_other_places_keep_theirs(kernels: Path, tmp_path: Path) -> None:
    given, other = str(tmp_path / "given"), tmp_path / "other"
    other.mkdir()
    (other / "callee.py").write_text(CALLEE.format(1))
    folder = Path(choose_folder(given, other))
    os.utime(folder, (0, 0))

    assert choose_folder(given, kernels) != str(folder)

    assert folder.exists()


def test_where_nothing_can_be_written_the_next_place_is_taken(
    kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked, home = tmp_path / "blocked", tmp_path / "home"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))

    assert Path(choose_folder(str(blocked), kernels)).parent == kernels / "__pycache__"
    (kernels / "__pycache__").rename(tmp_path / "away")
    (kernels / "__pycache__").touch()
    assert Path(choose_folder(str(blocked), kernels)).parent == home / "numba"
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert choose_folder(str(blocked), kernels) == str(blocked)


def run(kernels: Path, given: Path) -> list[str]:
    """Return what a program prints that calls a kernel: see `PROGRAM`."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(kernels)],
        capture_output=True,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(given), "NUMBA_DISABLE_JIT": "0"},
        text=True,
    ).stdout.splitlines()


# Three processes that compile; which folder each takes is tested above.
@pytest.mark.full
def test_an_edited_callee_in_another_file_is_compiled_anew(
    kernels: Path, tmp_path: Path
) -> None:
    given, copy = tmp_path / "given", tmp_path / "copy"

    first, others = run(kernels, given)
    # As docker-entrypoint.sh does: nothing is compiled again.
    shutil.copytree(given, copy)
    again, _ = run(kernels, copy)
    (kernels / "callee.py").write_text(CALLEE.format(2))
    edited, _ = run(kernels, copy)

    assert first.startswith(f"1 0 {given}/askless-")
    assert again == first.replace("1 0", "1 1").replace(str(given), str(copy))
    assert edited.startswith(f"2 0 {copy}/askless-")
    # A function of somebody else's stays where numba puts it.
    assert others.startswith(f"{given}/")
    assert "askless-" not in others
