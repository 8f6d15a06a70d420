"""The tour of docs/buying.md, command by command, against a real service."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.app.serving import serving
from tests.app.tours import ROOT, blocks, read_page, run

pytestmark = pytest.mark.full
PORT = "9009"


@pytest.fixture
def vendor_port() -> Iterator[str]:
    """The demo's vendors on a free port, for the one that the page names."""
    from askless.app.processes.ports import bind_port

    with bind_port("127.0.0.1", 0) as bound:
        port = str(bound.getsockname()[1])
    command = [sys.executable, "-m", "askless.app.demo.vendors", port]
    vendors = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=ROOT)
    assert vendors.stdin is not None
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            httpx.get(f"http://127.0.0.1:{port}/")
            break
        except httpx.ConnectError:
            time.sleep(0.1)
    yield port
    vendors.stdin.close()
    vendors.wait(20)


def test_the_tour_works_as_written(tmp_path: Path, vendor_port: str) -> None:
    folder, home = tmp_path / "tour", tmp_path / "home"
    home.mkdir()
    (folder / "secrets").mkdir(parents=True)
    hosts = f'["127.0.0.1:{vendor_port}"]'
    settings = {
        "ASKLESS_SECRETS": str(folder / "secrets"),
        "ASKLESS_PROVIDER_HOSTS": hosts,
    }
    with serving(home, **settings) as address:
        before = f"export A={address} ASKLESS_HOME={home}\n" + "".join(
            f"export {name}='{value}'\n" for name, value in settings.items()
        )
        printed = ""
        for block in blocks(read_page("docs/buying.md"), "bash"):
            done = run(before + block.replace(PORT, vendor_port), folder)
            assert done.returncode == 0, (block, done.stdout, done.stderr)
            printed += done.stdout

    decisions = (folder / "decisions.csv").read_text().splitlines()
    assert len(decisions) == 11
    receipt = json.loads((folder / "receipt.json").read_text())
    assert receipt["state"] == "closed"
    assert receipt["bought"]
    assert "as it was written" in printed
    assert "Your waterfall costs" in printed
    assert (folder / "shadow.html").read_text().startswith("<!doctype html>")
    assert json.loads((folder / "shadow.json").read_text())["problems"] == {}
