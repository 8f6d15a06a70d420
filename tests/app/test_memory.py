"""What the system says of memory."""

import resource
from pathlib import Path

import pytest

from askless.app.processes.memory import available_bytes

INFO = "MemTotal:       16000 kB\nMemFree:         100 kB\nMemAvailable:   2000 kB\n"


def container(folder: Path, most: str) -> Path:
    (folder / "memory.max").write_text(most)
    (folder / "memory.current").write_text("300\n")
    return folder


@pytest.mark.parametrize(
    ("most", "expected"),
    [("max\n", 2_048_000), ("1300\n", 1000), ("9000000\n", 2_048_000), ("200\n", 0)],
)
def test_the_smaller_of_machine_and_container_counts(
    tmp_path: Path, most: str, expected: int
) -> None:
    info = tmp_path / "meminfo"
    info.write_text(INFO)

    assert available_bytes(info, container(tmp_path, most)) == expected


def test_limit_of_the_process_counts_too(tmp_path: Path) -> None:
    pages = tmp_path / "statm"
    pages.write_text("10 5 3 1 0 6 0\n")
    taken = 10 * resource.getpagesize()
    none = tmp_path / "none"

    assert available_bytes(none, none, taken + 77, pages) == 77
    assert available_bytes(none, none, 1, pages) == 0
    assert available_bytes(none, none, resource.RLIM_INFINITY, pages) is None


def test_system_that_does_not_tell_sets_no_limit(tmp_path: Path) -> None:
    assert available_bytes(tmp_path / "none", tmp_path) is None
