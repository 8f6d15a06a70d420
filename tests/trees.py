"""Parse each file of source once a process."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file's syntax tree, which nobody may change."""
    return ast.parse(path.read_text(encoding="utf-8"))
