"""The README's commands, extracted and run as they stand."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.serving import serving

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tour")
    shutil.copytree(ROOT / "app" / "demo", place / "app" / "demo")
    return place


def run(command, folder):
    binaries = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def toured(folder):
    """How each command of the tour ended, in order."""
    commands = [
        line.removeprefix("$ ")
        for block in blocks("console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    return [run(command, folder) for command in commands]


def test_commands_of_the_tour_work_in_order(toured, folder):
    assert len(toured) >= 6
    assert [one.stderr for one in toured if one.returncode] == []
    assert "ready to train" in toured[0].stdout
    assert (folder / "predictions.csv").read_text().count("\n") == 304


def test_curl_tour_works_against_a_real_server(folder, tmp_path):
    (tour,) = blocks("sh")

    with serving(tmp_path) as address:
        finished = run(tour.replace("http://127.0.0.1:8000", address), folder)

    assert finished.returncode == 0, finished.stderr
    assert "event: succeeded" in finished.stdout
    assert '"stop_reason":"client_stopped"' in finished.stdout
    assert '"kind":"charge","amount":1.0,"unit":"CAD"' in finished.stdout


@pytest.mark.usefixtures("toured")
def test_python_examples_work(folder):
    (folder / "examples.py").write_text("\n".join(blocks("python")))

    finished = run(f"PYTHONPATH={ROOT} python examples.py", folder)

    assert finished.returncode == 0, finished.stderr


def test_two_commands_stand_at_the_top():
    head = README.splitlines()[:5]

    assert [line.split("#")[0].strip() for line in head if "make" in line] == [
        "make demo",
        "make test",
    ]
