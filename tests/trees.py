"""Parse each file of source, and walk through it, once a process."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file's syntax tree, which nobody may change."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes of a file's tree."""
    return list(ast.walk(tree))
