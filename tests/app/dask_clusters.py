"""A Dask cluster on this machine: a scheduler and workers, each a process, by TLS."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from distributed import Client, Security

from askless.app.settings.places import ClusterPlace
from tests.app.jobs import wait

LOCAL = "127.0.0.1"


@dataclass
class DaskCluster:
    """A scheduler, and workers that may be killed and replaced."""

    folder: Path
    place: ClusterPlace
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def open_client(self) -> Client:
        """Return a client of the engine's own, by which tests look in."""
        place = self.place
        security = Security(
            tls_ca_file=str(place.ca),
            tls_client_cert=str(place.cert),
            tls_client_key=str(place.key),
            require_encryption=True,
        )
        return Client(place.address, security=security, set_as_default=False)

    def pids(self) -> dict[str, int]:
        """Return the process of each worker, by its address."""
        with self.open_client() as client:
            return dict(client.run(os.getpid))

    def grow(self, n_workers: int) -> None:
        """Start workers until there are so many that live."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < n_workers:
            self.workers.append(
                start(self.folder, "worker", self.place.address, *WORKER)
            )
        wait(lambda: len(self.pids()) == n_workers)

    def shrink(self, n_workers: int) -> None:
        """Kill workers until no more than so many live."""
        for worker in self.workers[n_workers:]:
            worker.kill()
            worker.wait()

    def stop(self) -> None:
        """End all processes."""
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


# Health and figures are served beside, without encryption: to this machine alone.
HIDDEN = ("--host", LOCAL, "--no-dashboard", "--dashboard-address", f"{LOCAL}:0")
WORKER = ("--no-nanny", "--nthreads", "2", "--memory-limit", "0", *HIDDEN)


@contextmanager
def dask_cluster(folder: Path, n_workers: int) -> Iterator[DaskCluster]:
    """Start a scheduler and workers with certificates of their own."""
    place = write_certificates(folder)
    told = folder / "scheduler.json"
    told.unlink(missing_ok=True)
    arguments = ["--port", "0", "--protocol", "tls", *HIDDEN]
    scheduler = start(folder, "scheduler", *arguments, "--scheduler-file", str(told))
    wait(told.exists)
    wait(lambda: bool(told.read_text()))
    address = json.loads(told.read_text())["address"]
    cluster = DaskCluster(
        folder, ClusterPlace(address, place.ca, place.cert, place.key), scheduler
    )
    try:
        cluster.grow(n_workers)
        yield cluster
    finally:
        cluster.stop()


def write_certificates(folder: Path) -> ClusterPlace:
    """Write an authority, a certificate and its key as files; the place is nowhere."""
    made = Security.temporary()
    texts = {
        "ca.pem": made.tls_ca_file,
        "cert.pem": made.tls_client_cert,
        "key.pem": made.tls_client_key,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    paths = (folder / name for name in texts)
    return ClusterPlace("tls://127.0.0.1:1", *paths)


def start(folder: Path, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a process of the cluster, as who runs one does."""
    files = [
        *("--tls-ca-file", str(folder / "ca.pem")),
        *("--tls-cert", str(folder / "cert.pem")),
        *("--tls-key", str(folder / "key.pem")),
    ]
    log = (folder / f"{kind}.log").open("ab")
    environment = {
        "NUMBA_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    with log:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", kind, *arguments, *files],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
