"""The notebook of docs/: its cells run in order, as its readers run them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))


def test_cells_of_the_notebook_run_in_order(tmp_path):
    pytest.importorskip("polars", reason="polars, of the group `dev`, is absent")
    shutil.copytree(ROOT / "app" / "demo", tmp_path / "app" / "demo")
    cells = (cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code")
    program = tmp_path / "notebook.py"
    program.write_text("\n\n".join("".join(cell["source"]) for cell in cells))

    finished = subprocess.run(
        [sys.executable, program.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "heart-model.json").exists()


def test_outputs_of_the_notebook_name_no_error_and_no_place_of_a_machine():
    text = json.dumps(NOTEBOOK)

    assert '"output_type": "error"' not in text
    assert "site-packages" not in text
