"""Work on several things at once."""

from threading import Event

import pytest

from core.panels.spread import spread


def test_things_come_in_their_order():
    assert list(spread(str, range(50))) == [str(one) for one in range(50)]


def test_nothing_is_made_of_nothing():
    assert list(spread(str, [])) == []


def test_error_of_a_thing_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(spread(lambda one: 1 / one, [1, 0]))


def test_who_stops_early_leaves_the_rest_undone():
    done, never = [], Event()

    def work(one: int) -> int:
        # All of them would take so long that closing surely comes first.
        never.wait(0.02 if one else 0)
        done.append(one)
        return one

    working = spread(work, range(100))
    next(working)
    working.close()

    assert len(done) < 100
