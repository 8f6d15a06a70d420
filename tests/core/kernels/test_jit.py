"""The cache of a kernel, without numba: what is asked of it, and when it is emptied."""

import pytest
from numba.core import event

from askless.core.kernels import jit


class CacheFile:
    """What numba keeps of one kernel's machine code."""

    def __init__(self, stamp, problem=None):
        self._source_stamp = stamp
        self.problem = problem
        self.is_empty = False

    def _load_index(self):
        if self.problem:
            raise self.problem

    def flush(self):
        self.is_empty = True


class Compiled:
    """A kernel, as numba hands it back."""

    def __init__(self, stamp, problem=None):
        self._cache = self
        self._cache_file = CacheFile(stamp, problem)


def calling(called, other):
    """Return a function that calls one kernel, and something else."""
    names = {"called": called, "other": other}
    exec("def function():\n    called(); other(); len([])", names)
    return names["function"]


def test_cache_notices_edits_of_the_kernels_that_are_called():
    compiled = Compiled("own")

    found = jit.watch_callees(compiled, calling(Compiled("called"), print))

    assert found is compiled
    assert compiled._cache_file._source_stamp == ("own", "called")
    assert not compiled._cache_file.is_empty


@pytest.mark.parametrize("problem", [AttributeError(), ImportError()])
def test_cache_that_names_a_lost_record_is_emptied(problem):
    compiled = Compiled("own", problem)

    jit.watch_callees(compiled, calling(print, print))

    assert compiled._cache_file.is_empty


def test_uncompiled_function_is_left_as_it_is():
    assert jit.watch_callees(print, calling(print, print)) is print


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
