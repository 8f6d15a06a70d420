"""Blobs: what is written whole or not at all."""

import errno
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from app.settings import Settings
from app.store.blobs import Blobs
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


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_blob_without_a_row_is_removed_at_once(
    client: TestClient, engine: sa.Engine, settings: Settings, table: bytes
) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER no_room BEFORE INSERT ON datasets"
            " BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )

    sent = client.post("/datasets", **form(table))

    assert sent.status_code == 500
    assert list((settings.home_dir / "uploads").iterdir()) == []
