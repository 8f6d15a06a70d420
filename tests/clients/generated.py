"""`make test-clients`: generated clients train and play a session.

From the environment: CLIENTS, the folder of the programs that generate them.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from askless.app.main import create_app
from askless.app.settings.settings import Settings
from tests.app.serving import ROOT, serving

HERE = Path(__file__).parent
TOOLS = Path(os.environ.get("CLIENTS", ROOT / "build" / "clients" / "bin")).resolve()
DEMO = ROOT / "app" / "demo"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(create_app(Settings(home=tmp_path)).openapi()))
    return path


def run(folder: Path, *words: object) -> str:
    """Run a program in a folder; return what it says, warnings of its own too."""
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"}
    ended = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def play(folder: Path, *program: object, address: str) -> str:
    said = run(folder, *program, address, DEMO / "heart.csv", DEMO / "heart.json")
    return said.strip().splitlines()[-1]


def test_client_by_openapi_python_client(
    document: Path, tmp_path: Path, address: str
) -> None:
    tool = TOOLS / "openapi-python-client"
    made = ("--output-path", "generated", "--meta", "none", "--fail-on-warning")

    run(tmp_path, tool, "generate", "--path", document, *made)
    script = shutil.copy(HERE / "with_operations.py", tmp_path)

    played = play(tmp_path, TOOLS / "python", script, address=address)
    assert played.startswith("client_stopped 1.0")


def test_models_by_datamodel_code_generator(
    document: Path, tmp_path: Path, address: str
) -> None:
    tool = TOOLS / "datamodel-codegen"
    kind = ("--output-model-type", "pydantic_v2.BaseModel", "--formatters", "builtin")
    words = ("--input-file-type", "openapi")
    scopes = ("--openapi-scopes", "schemas", "paths")

    made = ("--output", "generated.py", *kind, *words, *scopes)
    run(tmp_path, tool, "--input", document, *made)
    script = shutil.copy(HERE / "with_models.py", tmp_path)

    played = play(tmp_path, TOOLS / "python", script, address=address)
    assert played.startswith("client_stopped 1.0")


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_types_by_openapi_typescript(
    document: Path, tmp_path: Path, address: str
) -> None:
    packages = ("openapi-typescript@7", "typescript@5", "@types/node@20")
    run(tmp_path, "npm", "install", "--no-audit", "--no-fund", *packages)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    bins = tmp_path / "node_modules" / ".bin"

    # Else fields with a default must be given.
    optional = ("--default-non-nullable", "false")
    words = (document, "-o", "generated.ts", *optional)
    run(tmp_path, bins / "openapi-typescript", *words)
    shutil.copy(HERE / "with_types.ts", tmp_path)
    options = ("--strict", "--target", "es2022", "--module", "nodenext")
    run(tmp_path, bins / "tsc", *options, "with_types.ts")

    played = play(tmp_path, "node", "with_types.js", address=address)
    assert played.startswith("client_stopped 1")
