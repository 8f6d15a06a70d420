"""Shares that sum to 1 are shown as percents that sum to 100."""

import pytest

from askless.app.words.wording import percents


@pytest.mark.parametrize(
    ("shares", "shown"),
    [
        ([1 / 3, 1 / 3, 1 / 3], ["34 %", "33 %", "33 %"]),
        ([0.545, 0.455], ["55 %", "45 %"]),
        ([0.29, 0.71], ["29 %", "71 %"]),
        ([0.004, 0.996], ["< 1 %", "> 99 %"]),
        ([0.0, 1.0], ["0 %", "100 %"]),
    ],
)
def test_percents_of_a_whole_sum_to_100(shares, shown):
    assert percents(shares) == shown
