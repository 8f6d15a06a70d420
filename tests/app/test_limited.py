"""Children with limits: what comes back, and what their ends mean."""

import gc
import io
import os
import signal
import tempfile
import time

import pytest

from askless.app.errors import UnwantedError
from askless.app.processes.child import ChildLostError
from askless.app.processes.limited import ChildLimits, run_limited
from askless.app.uploads.bounds import UNBOUNDED
from askless.app.uploads.parsing import examine_file
from askless.core.errors import Refusal, RefusedError

LIMITS = ChildLimits(memory_bytes=200_000_000, timeout_s=60.0)


def repeat(file, times):
    return times * file.read()


def take(_file, n_bytes):
    return len(bytearray(n_bytes))


def refuse(_file):
    raise RefusedError([Refusal("table", "must be so", "a value")])


def crash(_file):
    raise KeyError("canary")


def end(_file, number):
    os.kill(os.getpid(), number)


def leave(_file):
    os._exit(3)


def stay(_file):
    time.sleep(600)


def run(function, *arguments, limits=LIMITS, **more):
    return run_limited(limits, io.BytesIO(b"abc"), function, *arguments, **more)


@pytest.mark.parametrize("make", [io.BytesIO, tempfile.SpooledTemporaryFile, None])
def test_value_comes_back_whatever_the_bytes_are_in(make, tmp_path):
    source = make() if make else (tmp_path / "file").open("wb+")
    with source:
        source.write(b"abc")

        assert run_limited(LIMITS, source, repeat, 2) == b"abcabc"


def test_a_table_of_many_columns_takes_what_its_cells_do():
    header = ",".join(f"column_{number}" for number in range(1_000))
    table = "\n".join([header, *[",".join(["0.1234"] * 1_000)] * 400]).encode()

    found = run_limited(LIMITS, io.BytesIO(table), examine_file, UNBOUNDED)

    assert found.n_rows == 400


def count_frozen(_file):
    return gc.get_freeze_count()


def test_what_is_imported_before_a_fork_is_not_collected_in_each_child():
    assert run_limited(LIMITS, None, count_frozen) > 10_000


def test_child_that_takes_too_much_memory_is_a_refusal_with_the_limit():
    with pytest.raises(RefusedError, match="at most 200 MB of memory"):
        run(take, 300_000_000)

    assert run(take, 100_000_000) == 100_000_000


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_child_that_is_ended_is_out_of_memory(number):
    with pytest.raises(RefusedError, match="at most 200 MB of memory"):
        run(end, number)


def test_child_that_takes_too_long_is_a_refusal_with_the_limit():
    limits = ChildLimits(LIMITS.memory_bytes, timeout_s=0.01)

    with pytest.raises(RefusedError, match=r"take at most 0\.01 seconds"):
        run(stay, limits=limits)


def test_child_ends_when_nobody_waits_any_more():
    with pytest.raises(UnwantedError):
        run(stay, is_wanted=lambda: False)


def test_refusals_come_back():
    with pytest.raises(RefusedError) as caught:
        run(refuse)

    assert caught.value.refusals == (Refusal("table", "must be so", "a value"),)


def test_mistakes_of_ours_are_told_without_a_value():
    with pytest.raises(ChildLostError, match="KeyError") as caught:
        run(crash)
    with pytest.raises(ChildLostError, match="code 3"):
        run(leave)

    assert "in crash" in str(caught.value)
    assert "canary" not in str(caught.value).replace('KeyError("canary")', "")
