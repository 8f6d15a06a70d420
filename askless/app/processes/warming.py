"""Compile kernels in a child process beside this one: a first start is faster."""

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from askless.app.processes.child import Child, forkserver
from askless.core import kernels
from askless.core.warm import warm_up


@contextmanager
def compiling_beside(*, many_rows: bool) -> Iterator[None]:
    """Let a child compile all kernels, once the block has to compile one.

    A first start spends most of its time compiling, which takes one core. What either
    process has compiled, the other one loads. The block's end waits for the child.
    `many_rows` as in `askless.core.warm.warm_up`.
    """
    children: list[Child] = []

    def start_child() -> None:
        children.append(Child.start(forkserver(warm), warm, many_rows))

    with kernels.watch_compiling(start_child):
        try:
            yield
            for child in children:
                child.process.join()
        finally:
            for child in children:
                child.end()


def warm(channel: Connection, many_rows: bool) -> None:
    """Compile or load every kernel in the child, those of boosting first."""
    del channel
    warm_up(many_rows=many_rows)
