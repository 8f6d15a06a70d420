"""Measurements as lines of JSON, which a run adds to and reads again.

Lines are added to a file below build/ as jobs end, so a run that was stopped goes on;
the results in the repository are the same lines, sorted. Each says of which version of
its benchmark and of which commit of askless/core it is.
"""

import json
import subprocess
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.documents import ROOT

CORE = "askless/core"
Line = dict[str, Any]
Lines = dict[tuple[Any, ...], Line]


def read(paths: Iterable[Path], key: Sequence[str], version: int) -> Lines:
    """Read what is kept of a version; of one key the line read last."""
    lines = [
        json.loads(line)
        for path in paths
        if path.is_file()
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    valid = [line for line in lines if line.get("version") == version]
    return {tuple(line[name] for name in key): line for line in valid}


def write(path: Path, lines: Lines) -> None:
    """Write all lines, sorted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.dumps(lines[key], separators=(",", ":")) for key in sorted(lines)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def add(path: Path, line: Line) -> None:
    """Add a line to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def find_core() -> str:
    """Return the last commit of core/, with a + where it has changed since."""
    git = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=False)
    commit = git(["git", "log", "-1", "--format=%h", "--", CORE]).stdout.strip()
    changed = git(["git", "status", "--porcelain", "--", CORE]).stdout
    return f"{commit or 'unknown'}{'+' if changed else ''}"
