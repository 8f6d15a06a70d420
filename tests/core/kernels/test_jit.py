"""Who is called when a kernel is compiled."""

from numba.core import event

from askless.core.kernels import jit


def test_first_compiling_alone_is_told():
    told = []

    with jit.watch_compiling(lambda: told.append("once")):
        for _ in range(2):
            with event.trigger_event("numba:compile"):
                pass

    assert told == ["once"]


def test_compiling_is_told_to_nobody_afterwards():
    told = []

    with jit.watch_compiling(lambda: told.append("too late")):
        pass
    with event.trigger_event("numba:compile"):
        pass

    assert told == []
