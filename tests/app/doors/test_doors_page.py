"""The page of doors: its commands, run as they stand against a real server."""

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.app.serving import serving
from tests.app.tours import ROOT, blocks, read_page, run

PAGE = read_page("docs/doors.md")
ADDRESS = "http://127.0.0.1:8000"
# A model of the demo's table that takes a moment to train.
TRAIN = (
    "askless train app/demo/heart.csv --spec app/demo/heart.json -o small.json "
    "--algorithm adaboost_bt_smoothed --rounds 20 --folds 2"
)


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("doors")
    shutil.copytree(ROOT / "app" / "demo", place / "app" / "demo")
    done = run(TRAIN, place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def address(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the demo's model and the door open."""
    home = tmp_path_factory.mktemp("home")
    with serving(home, ASKLESS_DOORS='["inference"]') as found:
        model = (folder / "small.json").read_bytes()
        headers = {"Content-Type": "application/json"}
        with httpx.Client(base_url=found, timeout=120, trust_env=False) as client:
            made = client.post("/models", content=model, headers=headers)
        assert made.status_code == 201, made.text
        yield found


def test_entry_of_an_agents_program_has_whole_paths(folder: Path) -> None:
    (block,) = blocks(section("MCP"), "sh")

    entry = json.loads(run(block, folder).stdout)["mcpServers"]["askless"]

    assert Path(entry["command"]) == folder / ".venv" / "bin" / "askless"
    assert Path(entry["env"]["ASKLESS_HOME"]) == folder / ".askless"


def test_inference_by_curl_works(folder: Path, address: str) -> None:
    (block,) = blocks(section("Open Inference Protocol"), "sh")

    done = run(block.replace(ADDRESS, address), folder)

    assert done.returncode == 0, done.stderr
    described, predicted = (
        json.JSONDecoder().raw_decode(done.stdout, place)[0]
        for place in (0, done.stdout.index('{"model_name"'))
    )
    assert len(described["inputs"]) == 13
    assert [output["name"] for output in predicted["outputs"]] == [
        output["name"] for output in described["outputs"]
    ]


def test_inference_by_tritons_client_works(folder: Path, address: str) -> None:
    pytest.importorskip("tritonclient.http", reason="needs tritonclient[http]")
    (block,) = blocks(section("Open Inference Protocol"), "python")
    host, own_host = (text.removeprefix("http://") for text in (ADDRESS, address))
    (folder / "triton.py").write_text(block.replace(host, own_host))

    done = run("python triton.py", folder)

    assert done.returncode == 0, done.stderr
    assert re.match(r"\[b'[01]'\] \[\[", done.stdout)


def test_model_goes_to_mlflow_and_predicts_there(folder: Path, address: str) -> None:
    pytest.importorskip("mlflow", reason="needs the extra mlflow")
    (commands,) = blocks(section("MLflow"), "sh")
    (program,) = blocks(section("MLflow"), "python")
    (folder / "program.py").write_text(program)

    done = run(commands.replace(ADDRESS, address), folder)
    told = run(
        "askless predict heart-model.json app/demo/heart.csv --budget 60 -o told.csv "
        "&& python program.py",
        folder,
    )

    assert done.returncode == 0, done.stderr
    assert told.returncode == 0, told.stderr
    found = json.loads(done.stdout.splitlines()[-1])["predictions"]
    lines = [*csv.DictReader((folder / "told.csv").read_text().splitlines())]
    assert len(found) == len(lines) == 303
    for row, line in zip(found, lines, strict=True):
        assert [row["label"], row["features"]] == [line["label"], line["features"]]
        assert row["spend"] == float(line["spend"])
        assert row["probability"] == pytest.approx(float(line["probability"]), abs=1e-6)


def test_each_door_of_the_table_has_a_section() -> None:
    named = re.findall(r"^\| \[[^]]+\]\(#([a-z-]+)\)", PAGE, re.MULTILINE)
    titles = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)

    assert named == [title.lower().replace(" ", "-") for title in titles]
