"""What the system says of memory."""

from pathlib import Path

import pytest

from app.memory import available_bytes

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


def test_system_that_does_not_tell_sets_no_limit(tmp_path: Path) -> None:
    assert available_bytes(tmp_path / "none", tmp_path) is None
