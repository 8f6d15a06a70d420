"""The README's commands, extracted and run as they stand."""

import shutil

import pytest

from tests.app.serving import serving
from tests.app.tours import ROOT, blocks, read_page, run, shown

README = read_page("README.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tour")
    shutil.copytree(ROOT / "app" / "demo", place / "app" / "demo")
    return place


@pytest.fixture(scope="module")
def toured(folder):
    """How each command of the tour ended, in order."""
    return [run(one.command, folder) for one in shown(README)]


def test_commands_of_the_tour_work_in_order(toured, folder):
    assert len(toured) >= 6
    assert [one.stderr for one in toured if one.returncode] == []
    assert "ready to train" in toured[0].stdout
    assert (folder / "predictions.csv").read_text().count("\n") == 304


def test_curl_tour_works_against_a_real_server(folder, tmp_path):
    (tour,) = blocks(README, "sh")

    with serving(tmp_path) as address:
        finished = run(tour.replace("http://127.0.0.1:8000", address), folder)

    assert finished.returncode == 0, finished.stderr
    assert "event: succeeded" in finished.stdout
    assert '"stop_reason":"client_stopped"' in finished.stdout
    assert '"kind":"charge","amount":1.0,"unit":"CAD"' in finished.stdout


@pytest.mark.usefixtures("toured")
def test_python_examples_work(folder):
    (folder / "examples.py").write_text("\n".join(blocks(README, "python")))

    finished = run("python examples.py", folder)

    assert finished.returncode == 0, finished.stderr


def test_two_commands_stand_at_the_top():
    head = README.splitlines()[:5]

    assert [line.split("#")[0].strip() for line in head if "make" in line] == [
        "make demo",
        "make test",
    ]
