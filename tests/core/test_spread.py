"""Work on several items at once."""

from threading import Event

import pytest

from askless.core.spread import map_in_threads


def test_things_come_in_their_order():
    assert list(map_in_threads(str, range(50))) == [str(number) for number in range(50)]


def test_nothing_is_made_of_nothing():
    assert list(map_in_threads(str, [])) == []


def test_error_of_a_thing_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(map_in_threads(lambda one: 1 / one, [1, 0]))


def test_who_stops_early_leaves_the_rest_undone():
    done, never = [], Event()

    def work(one: int) -> int:
        # All of them would take so long that closing surely comes first.
        never.wait(0.02 if one else 0)
        done.append(one)
        return one

    working = map_in_threads(work, range(100))
    next(working)
    working.close()

    assert len(done) < 100
