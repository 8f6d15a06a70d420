"""Object stores on this machine, of packages: S3 by moto, Google's by an emulator."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket
from typing import Any

import pyarrow.fs
import pyarrow.parquet
import pytest

from tests.app.jobs import wait

BUCKET = "clinic"


class Bucket:
    """A bucket: `system` writes to it, `environment` lets others read."""

    system: Any
    environment: dict[str, str]
    #: what its addresses begin with
    scheme: str

    def write(self, name: str, table: Any, group: int = 2) -> None:
        with self.system.open_output_stream(f"{BUCKET}/{name}") as stream:
            pyarrow.parquet.write_table(table, stream, row_group_size=group)

    def write_bytes(self, name: str, content: bytes) -> None:
        with self.system.open_output_stream(f"{BUCKET}/{name}") as stream:
            stream.write(content)

    def read_bytes(self, name: str) -> bytes:
        with self.system.open_input_stream(f"{BUCKET}/{name}") as stream:
            return bytes(stream.read())

    def remove(self, name: str) -> None:
        self.system.delete_file(f"{BUCKET}/{name}")


class ObjectStore(Bucket):
    """A bucket of S3, and where its server listens."""

    scheme = "s3://"

    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self.environment = {
            "AWS_ACCESS_KEY_ID": "reader",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": f"http://{self.address}",
        }
        self.system = pyarrow.fs.S3FileSystem(
            access_key="writer",
            secret_key="secret",
            region="us-east-1",
            scheme="http",
            endpoint_override=self.address,
            allow_bucket_creation=True,
        )
        self.system.create_dir(BUCKET)


class GoogleStore(Bucket):
    """A bucket of Google's, which anybody may read."""

    scheme = "gs://anonymous@"

    def __init__(self, port: int) -> None:
        address = f"127.0.0.1:{port}"
        self.environment = {"CLOUD_STORAGE_EMULATOR_ENDPOINT": f"http://{address}"}
        self.system = pyarrow.fs.GcsFileSystem(
            anonymous=True, endpoint_override=address, scheme="http", project_id="tests"
        )
        self.system.create_dir(BUCKET)


@contextmanager
def serve_objects() -> Iterator[ObjectStore]:
    moto: Any = pytest.importorskip(
        "moto.server", reason="needs moto[s3], flask and flask-cors, of the group dev"
    )
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield ObjectStore(server.get_host_and_port()[1])
    finally:
        server.stop()


@contextmanager
def serve_google_objects() -> Iterator[GoogleStore]:
    pytest.importorskip(
        "gcp_storage_emulator", reason="needs gcp-storage-emulator, of the group dev"
    )
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Not in this process: its answers would wait for who asks.
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory"]
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait(lambda: is_listening(port))
        yield GoogleStore(port)
    finally:
        server.kill()
        server.wait()


def is_listening(port: int) -> bool:
    with socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
