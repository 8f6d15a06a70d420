"""Parse each file of source, and walk through it, once a process."""

import ast
import gc
from functools import cache
from pathlib import Path


def parse(path: Path) -> ast.Module:
    """Return a file's syntax tree.

    A tree has thousands of nodes and no cycles: the collector would only visit them.
    """
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()


def walk(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes below a node, and itself first; twice as fast as `ast.walk`."""
    nodes = [tree]
    for node in nodes:
        for field in node.__dict__.values():
            if isinstance(field, ast.AST):
                nodes.append(field)
            elif isinstance(field, list):
                nodes += [child for child in field if isinstance(child, ast.AST)]
    return nodes


# The same trees and nodes for all who ask; nobody may change one.
tree_of = cache(parse)
nodes_of = cache(walk)
