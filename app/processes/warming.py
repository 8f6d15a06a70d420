"""Kernels compiled by two processes at once, each from its own end."""

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from app.processes.child import Child, forkserver
from core import kernels
from core.warm import warm_up


@contextmanager
def compiling_beside() -> Iterator[None]:
    """Let a child compile all kernels, once the block has to compile one.

    A first start spends most of its time compiling, which takes one core. What either
    process has compiled, the other one loads. At the end of the block all is compiled.
    """
    children: list[Child] = []
    with kernels.watch_compiling(
        lambda: children.append(Child.start(forkserver(warm), warm))
    ):
        try:
            yield
            for child in children:
                child.process.join()
        finally:
            for child in children:
                child.end()


def warm(channel: Connection) -> None:
    """Be the child: compile, or load, every kernel."""
    del channel
    warm_up()
