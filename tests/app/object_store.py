"""An S3 server on this machine, of a package: moto's."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow.fs
import pyarrow.parquet
import pytest

BUCKET = "clinic"


class ObjectStore:
    """A bucket, and where its server listens."""

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


@contextmanager
def serve_objects() -> Iterator[ObjectStore]:
    moto: Any = pytest.importorskip(
        "moto.server", reason="needs moto[s3], flask and flask-cors, of the extra dev"
    )
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield ObjectStore(server.get_host_and_port()[1])
    finally:
        server.stop()
