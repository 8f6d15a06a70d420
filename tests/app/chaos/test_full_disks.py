"""No space is left: what can't be written is refused whole, and goes well later.

SQLite and uploads stand on a small disk of their own, where that can be mounted. What
stands in for PostgreSQL's full disk is that it lets nothing be written: transactions
are read-only by default.
"""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from askless.app.settings.settings import Settings
from askless.app.store.database.migrate import migrate
from tests.app.chaos.rows import count_rows, violations
from tests.app.chaos.servers_of_postgres import OwnPostgres, own_postgres
from tests.app.clinic import clinic, form, model_json, said
from tests.app.jobs import Jobs, noisy_spec, noisy_table, undisturbed, wait
from tests.app.test_worker import Launch

pytest_plugins = ["tests.app.conftest_server", "tests.app.test_worker"]
pytestmark = pytest.mark.chaos
TABLE, SPEC = noisy_table(), noisy_spec(2000)


class Disk:
    """A folder on a disk that can be filled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def full(self) -> Iterator[None]:
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as target:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while True:
                        target.write(bytes(size))
                except OSError:
                    continue
        try:
            yield
        finally:
            filler.unlink()


class ReadOnlyPostgres:
    """A server that can be told to write nothing."""

    def __init__(self, server: OwnPostgres) -> None:
        self.server = server

    @contextmanager
    def full(self) -> Iterator[None]:
        self.server.change("SET default_transaction_read_only = on")
        try:
            yield
        finally:
            self.server.change("RESET default_transaction_read_only")


Storage = Disk | ReadOnlyPostgres


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder with 24 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def storage(
    engine_name: str, home: Path, short_folder: Path, request: pytest.FixtureRequest
) -> Iterator[Storage]:
    if engine_name == "sqlite":
        migrate(f"sqlite:///{home / 'askless.db'}")
        yield Disk(home)
        return
    wheel = request.getfixturevalue("postgres_wheel")
    with own_postgres(wheel, short_folder) as made:
        yield ReadOnlyPostgres(made)


@pytest.fixture
def settings(storage: Storage, home: Path) -> Settings:
    url = storage.server.url if isinstance(storage, ReadOnlyPostgres) else None
    return Settings(home=home, database_url=url)


def insist(send: Callable[[], httpx.Response]) -> httpx.Response:
    """Send again what is answered that it may go well soon, as clients do."""
    for _ in range(20):
        answered = send()
        if answered.status_code != 503:
            break
        threading.Event().wait(0.1)
    return answered


def test_an_upload_is_refused_whole_and_taken_later(
    storage: Storage, settings: Settings, caller: httpx.Client, engine: sa.Engine
) -> None:
    upload: dict[str, Any] = form(noisy_table(20_000))
    caller.get("/datasets")

    with storage.full():
        refused = caller.post("/datasets", **upload)
        listed = insist(lambda: caller.get("/datasets"))
    taken = insist(lambda: caller.post("/datasets", **upload))

    assert refused.status_code == 503, refused.text
    assert refused.json()["type"] == "/problems/unavailable"
    assert refused.headers["retry-after"]
    assert listed.status_code == 200
    assert taken.status_code == 201
    assert count_rows(engine)["datasets"] == 1
    # Nothing is left behind of what could not be written.
    uploads = [path.name for path in (settings.home_dir / "uploads").iterdir()]
    assert uploads == [taken.json()["id"]]


def test_an_answer_charges_nothing_and_is_taken_later(
    storage: Storage, caller: httpx.Client, engine: sa.Engine
) -> None:
    caller.post("/models", json=model_json(clinic(), "clinic"))
    session = caller.post("/predict", json={"model": "clinic", "budget": 60}).json()
    path = f"/predict/{session['id']}"
    answers = {"answers": [said("age", 63), said("chol", 250)]}

    with storage.full():
        refused = [caller.post(f"{path}/answers", json=answers) for _ in range(3)]
        meanwhile = insist(lambda: caller.get(path))
    taken = insist(lambda: caller.post(f"{path}/answers", json=answers))

    assert {refusal.status_code for refusal in refused} == {503}
    assert meanwhile.json() == session
    assert taken.status_code == 200, taken.text
    assert taken.json()["budget"]["spent"] == 8.27
    assert taken.json()["version"] == 2
    assert violations(engine) == []


def test_a_training_waits_for_space_and_comes_to_the_same_model(
    storage: Storage, jobs: Jobs, launch: Launch
) -> None:
    (worker,) = launch(max_attempts=3, heartbeat_timeout_s=2.0)
    training = jobs.start(TABLE, SPEC)
    wait(lambda: jobs.get(training.id).share > 0.1)

    with storage.full():
        wait(lambda: any(line["level"] == "error" for line in worker.lines()))
        # For longer than a heartbeat counts, and longer than three of them.
        wait(lambda: n_failures(worker.lines()) >= 3, 60)
    # The stand-in ends PostgreSQL's connections, this test's too.
    jobs.engine.dispose()
    wait(lambda: jobs.get(training.id).state not in ("running", "queued"), 90)

    assert jobs.get(training.id).state == "succeeded", jobs.get(training.id).error
    assert jobs.document(training.id) == undisturbed(TABLE, SPEC)


def n_failures(log: list[dict[str, Any]]) -> int:
    return sum(line["level"] == "error" for line in log)
