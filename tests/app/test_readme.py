"""The README's commands, extracted and run as they stand."""

import re
import shutil

import pytest

from askless.app.documents.files import load_model
from askless.core.session import machine
from tests.app.serving import serving
from tests.app.tours import ROOT, blocks, read_page, run, shown

README = read_page("README.md")
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tour")
    shutil.copytree(ROOT / "app" / "demo", place / "app" / "demo")
    return place


@pytest.fixture(scope="module")
def toured(folder):
    """How each command of the tour ended, in order."""
    return [run(command.command, folder) for command in shown(README)]


def test_commands_of_the_tour_work_in_order(toured, folder):
    assert len(toured) >= 6
    assert [command.stderr for command in toured if command.returncode] == []
    assert "ready to train" in toured[0].stdout
    assert (folder / "predictions.csv").read_text().count("\n") == 304


def test_case_of_the_tour_goes_on_after_its_refusal(toured):
    (asked,) = (
        page
        for page, ended in zip(shown(README), toured, strict=True)
        if "askless ask" in page.command
        for page in (ended.stdout,)
    )

    assert re.findall(r"^([0-9]+)\. ", asked, re.MULTILINE) == ["1", "2", "3", "4"]
    assert "Stopped: stopped on request" in asked


def test_curl_tour_and_client_work_against_a_real_server(folder, tmp_path):
    (tour,) = blocks(README, "sh")
    (by_client,) = (block for block in blocks(README, "python") if ADDRESS in block)

    with serving(tmp_path) as address:
        finished = run(tour.replace(ADDRESS, address), folder)
        (folder / "client.py").write_text(by_client.replace(ADDRESS, address))
        played = run("python client.py", folder)

    assert finished.returncode == 0, finished.stderr
    assert played.returncode == 0, played.stderr
    assert re.fullmatch(r"(no )?disease 1\.0\n", played.stdout)
    assert "event: succeeded" in finished.stdout
    assert '"stop_reason":"client_stopped"' in finished.stdout
    asked = re.findall(r"^\{'number': 3, 'feature': '(\w+)'", finished.stdout, re.M)
    assert len(asked) == 1
    assert set(asked).isdisjoint({"cp", "sex"})
    assert '"kind":"charge","amount":1.0,"unit":"CAD"' in finished.stdout


@pytest.mark.usefixtures("toured")
def test_python_examples_work(folder):
    examples = [block for block in blocks(README, "python") if ADDRESS not in block]
    (folder / "examples.py").write_text("\n".join(examples))

    finished = run("python examples.py", folder)

    assert finished.returncode == 0, finished.stderr


@pytest.mark.usefixtures("toured")
def test_probability_of_the_page_of_calls_is_that_of_the_tours_model(folder):
    ensemble = load_model(folder / "heart-model.json").ensemble
    idxs = ensemble.catalogue.feature_idxs
    male = ensemble.catalogue.features[idxs["sex"]].categories.index("male")
    known = {idxs["age"]: 63.0, idxs["sex"]: float(male)}

    state = machine.start(ensemble, 60_000_000, known=known)

    shown = re.search(r'"probability":([0-9.]+)', read_page("docs/api.md"))
    chance = max(machine.forecast(ensemble, state).probabilities)
    assert shown is not None
    # Ridges are solved by the machine's own library, in its last digits.
    assert chance == pytest.approx(float(shown[1]), abs=0.02)


def test_two_commands_stand_at_the_top():
    head = README.splitlines()[:5]

    assert [line.split("#")[0].strip() for line in head if "make" in line] == [
        "make demo",
        "make test",
    ]
