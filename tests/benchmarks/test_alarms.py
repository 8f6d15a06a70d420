"""Years of cases: stable ones raise no alarm, changed ones do."""

import numpy as np

from benchmarks.alarms.years import N_WEEKS, Year, look_weekly


def test_stable_years_have_no_alarm() -> None:
    random = np.random.default_rng(1)
    year = Year(n_trained=300, n_features=6, cases_per_week=20)

    found = [look_weekly(year, random) for _ in range(5)]

    assert {one.n_looks for one in found} == {N_WEEKS}
    assert sum(one.n_alarms for one in found) == 0


def test_a_change_is_found_after_it_and_not_before() -> None:
    random = np.random.default_rng(2)
    year = Year(300, 6, 40, shift=1.5, changes_in=20)

    found = look_weekly(year, random)

    assert found.first is not None
    assert 20 <= found.first <= 33
