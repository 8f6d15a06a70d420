"""Uploads that are no tables, or more than a table may be: refused, nothing kept."""

import gzip
import io
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import anyio
import pyarrow as pa
import pyarrow.parquet
import pytest
from anyio import CapacityLimiter
from fastapi import FastAPI, HTTPException
from fastapi.testclient import TestClient
from starlette.requests import ClientDisconnect

from askless.app.errors import UnwantedError
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from askless.app.uploads import parsing
from askless.core.errors import Refusal, RefusedError
from tests.app.clinic import MakeApp

pytest_plugins = ["tests.app.conftest_http"]


@pytest.fixture
def app(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    monkeypatch.setattr(parsing, "BYTES_OF_COLUMN", 200_000)
    monkeypatch.setattr(parsing, "CELL_BYTES", 1000)
    return make_app(is_local=True, max_rows=1000, parse_memory_bytes=200_000_000)


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def wide(n_columns: int) -> bytes:
    return b",".join(b"c%d" % number for number in range(n_columns)) + b"\n"


def hostile_contents() -> dict[str, tuple[bytes, str]]:
    """Return what is sent, by kind, and the rule that refuses it."""
    return {
        "nothing": (b"", "the file is empty"),
        "no row": (b"a,b\n", "must have at least one row"),
        "two names": (b"a,a\n1,2\n", "names must be unique"),
        "long row": (b"a,b\n1,2,3\n", "every row must have as many cells"),
        "other encoding": (b"\xff\xfe\n\xff\n", "must be CSV in UTF-8"),
        "half a file": (b"PAR1", "must be a whole Parquet file"),
        "columns": (wide(100_000), "header, of at most|at most 1,000 columns"),
        "columns of no name": (b"," * 1_000_000 + b"\n1\n", "at most 1,000 columns"),
        "line": (b"x" * 5_000_000, "must have a first line, its header, of at most"),
        "second line": (b"a,b\n1," + b"x" * 5_000_000, "4,006 bytes; not so in line 2"),
        "cell": (b"a,b\n1,2\n1," + b"x" * 2000, "a cell may have at most 1,000 bytes"),
        "open quote": (b'a,b\n1,"2\n' + b"1,2\n" * 900, "is a quote left open"),
        "rows": (b"a\n" + b"1\n" * 1001, "at most 1,000 rows; it has 1,001"),
        "gzip": (gzip.compress(b"0" * 250_000_000, 1), "must unpack to at most"),
        "repeated text": (parquet(a=["x" * 9_000_000] * 9), "a cell may have at most"),
        "Parquet rows": (parquet(a=pa.nulls(10**6)), "at most 1,000 rows"),
        "workbook": (b"PK\x03\x04", "is an Excel workbook or another ZIP archive"),
    }


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_what_is_no_table_is_refused_and_not_kept(
    client: TestClient, blobs: Blobs
) -> None:
    for content, rule in hostile_contents().values():
        answer = client.post("/datasets", files={"dataset": ("t.csv", content)})

        assert answer.status_code == 422
        assert any(re.search(rule, error["rule"]) for error in answer.json()["errors"])
        assert client.get("/datasets").json()["items"] == []
        assert list(blobs.names(before=datetime.max.replace(tzinfo=UTC))) == []


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\tables\\heart.csv", "heart.csv"),
        ("..", ".."),
        ("a/", "dataset"),
        ("\u202egnp.csv", "gnp.csv"),
    ],
)
def test_name_of_a_file_is_shown_without_its_path(
    client: TestClient, settings: Settings, table: bytes, name: str, shown: str
) -> None:
    made = client.post("/datasets", files={"dataset": (name, table)}).json()

    assert made["name"] == shown
    folder = settings.home_dir / "uploads"
    assert [path.name for path in folder.iterdir()] == [made["id"]]


class Waiting:
    """A request that has come in whole, and waits for what is read of a table."""

    def __init__(self, *, is_gone: bool = False) -> None:
        settings = SimpleNamespace(parse_timeout_s=0.01)
        places = CapacityLimiter(1)
        state = SimpleNamespace(settings=settings, reading_places=places)
        self.app = SimpleNamespace(state=state)
        self.is_gone = is_gone

    async def is_disconnected(self) -> bool:
        return self.is_gone


def read_while_wanted(is_wanted: Callable[[], bool]) -> None:
    while is_wanted():
        time.sleep(0.001)
    raise UnwantedError


def test_reading_ends_when_the_caller_hangs_up() -> None:
    async def read() -> None:
        request: Any = Waiting(is_gone=True)
        await read_in_turn(request, read_while_wanted)

    with pytest.raises(ClientDisconnect):
        anyio.run(read)


def test_caller_who_finds_no_place_is_to_come_again() -> None:
    async def read() -> None:
        request: Any = Waiting()
        await request.app.state.reading_places.acquire_on_behalf_of("another")
        await read_in_turn(request, read_while_wanted)

    with pytest.raises(HTTPException) as caught:
        anyio.run(read)

    assert caught.value.status_code == 503
    assert "Retry-After" in (caught.value.headers or {})


def test_place_is_free_again_after_a_refusal() -> None:
    def refuse(_: Callable[[], bool]) -> None:
        raise RefusedError([Refusal("table", "must be one")])

    async def read() -> int:
        request: Any = Waiting()
        with pytest.raises(RefusedError, match="must be one"):
            await read_in_turn(request, refuse)
        return await read_in_turn(request, lambda _: 7)

    assert anyio.run(read) == 7
