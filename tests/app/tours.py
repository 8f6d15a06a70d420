"""Commands that a page shows, extracted and run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
# Stands in a page for output that is left out.
LEFT_OUT = "…"


class Shown(NamedTuple):
    """A command of a page, and the lines that follow it there."""

    command: str
    lines: list[str]


def read_page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def shown(page: str) -> list[Shown]:
    """Return the commands after a $ and what is shown of their output, in order."""
    found: list[Shown] = []
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Shown(line.removeprefix("$ "), []))
            elif line != LEFT_OUT:
                found[-1].lines.append(line)
    return found


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as in the repository's folder, with the environment's own."""
    binaries = Path(sys.executable).parent
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=os.environ
        | {
            "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            # A terminal of the usual width, in which tables are laid.
            "COLUMNS": "100",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
