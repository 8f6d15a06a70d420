"""Blobs: what is written whole or not at all."""

import errno
import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from tests.app.clinic import form

pytest_plugins = ["tests.app.conftest_http"]


class BrokenStream:
    """Gives some bytes, and then what a full disk gives."""

    def __init__(self) -> None:
        self.parts = [b"a,b\n"]

    def read(self, size: int) -> bytes:
        del size
        if self.parts:
            return self.parts.pop()
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_blob_that_can_not_be_written_whole_leaves_nothing(tmp_path: Path) -> None:
    stream: Any = BrokenStream()

    with pytest.raises(OSError, match="No space"):
        Blobs(f"file://{tmp_path}").write("dat_1", stream)

    assert list(tmp_path.iterdir()) == []


class SlowStream:
    """Lets another attempt write its blob in the middle of this one."""

    def __init__(self, blobs: Blobs) -> None:
        self.blobs, self.parts = blobs, [b"cc", b"aaaabb"]

    def read(self, size: int) -> bytes:
        if len(self.parts) == 1:
            self.blobs.write("job_1.csv", io.BytesIO(b"aaaabbcc"))
            assert self.blobs.open("job_1.csv").read() == b"aaaabbcc"
        del size
        return self.parts.pop() if self.parts else b""


def test_two_that_write_one_blob_leave_it_whole_at_every_moment(tmp_path: Path) -> None:
    """A job that was taken over is written by its old attempt too, if that lives."""
    blobs = Blobs(f"file://{tmp_path}")
    slow: Any = SlowStream(blobs)

    blobs.write("job_1.csv", slow)

    assert blobs.open("job_1.csv").read() == b"aaaabbcc"
    assert [path.name for path in tmp_path.iterdir()] == ["job_1.csv"]


def test_a_blob_that_goes_meanwhile_is_no_error(tmp_path: Path) -> None:
    """Every worker looks for orphans, and all of them at about the same time."""
    blobs = Blobs(f"file://{tmp_path}")
    for name in ("dat_1", "dat_2", "dat_3"):
        blobs.write(name, io.BytesIO(b"a"))
    names = blobs.names(before=datetime.now(UTC) + timedelta(days=1))
    first = next(names)

    for name in ("dat_1", "dat_2", "dat_3"):
        blobs.remove(name)
        blobs.remove(name)

    assert first.startswith("dat_")
    assert list(names) == []


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize("rows", ["datasets", "trainings"])
def test_a_blob_without_a_row_is_removed_at_once(
    client: TestClient,
    engine: sa.Engine,
    settings: Settings,
    table: bytes,
    spec: dict[str, Any],
    rows: str,
) -> None:
    """Also where the table is stored and its training is not."""
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"CREATE TRIGGER no_room BEFORE INSERT ON {rows}"
            " BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )

    sent = client.post("/train", **form(table, spec))

    assert sent.status_code == 500
    assert list((settings.home_dir / "uploads").iterdir()) == []
