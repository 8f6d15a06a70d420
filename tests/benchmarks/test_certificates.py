"""Repetitions of setting rows aside: counted as sessions are, judged on all rows."""

import numpy as np
import pytest

from askless.core.model.certificates import EARLY_RULES, Certification, Level
from askless.core.session.traces import Traces, find_stops
from benchmarks.certificates.repetitions import Population

N_ROWS = 400
BOUNDS = (2, 4)


@pytest.fixture(scope="module")
def population() -> Population:
    """Labels that become final, step by step, the more probable the sooner."""
    random = np.random.default_rng(0)
    confidences = np.sort(random.uniform(0.5, 1.0, (N_ROWS, 6)), axis=1)
    is_final = random.random((N_ROWS, 6)) < confidences**0.3
    is_final[:, -1] = True
    spends = np.tile(np.arange(6), (N_ROWS, 1))
    traces = Traces(confidences, is_final.astype(np.int64), spends, np.zeros((1, 2)))
    stops = find_stops(traces, EARLY_RULES, BOUNDS)
    guide = tuple(map(tuple, stops.count().tolist()))
    spends = tuple(stops.spends.sum(axis=1).tolist())
    level = Level(None, "panels", BOUNDS, guide, spends, (), (), 5, ())
    certification = Certification(N_ROWS, N_ROWS, EARLY_RULES, (), ())
    return Population(certification, level, stops, 5.0)


def test_rows_are_counted_as_often_as_they_are_drawn(population: Population) -> None:
    times = np.array([np.ones(N_ROWS), np.full(N_ROWS, 3.0)])

    counts = population.count(times)

    once = population.stops.count()
    assert (counts[:, 0] == once).all()
    assert (counts[:, 1] == 3 * once).all()


def test_certificates_hold_in_their_share_of_repetitions(
    population: Population,
) -> None:
    found = population.repeat(0.1, n_aside=200, n_repetitions=200, seed=0)

    assert found.share_certified > 0.5
    assert 0 < found.mean_disagreement <= 0.1
    assert found.share_above <= found.share_above_somewhere <= 0.1
    assert found.mean_saved > 0


def test_rules_are_judged_on_all_rows(population: Population) -> None:
    # The loosest of all differs where the first label isn't the last.
    place = max(
        range(len(EARLY_RULES)), key=lambda one: population.stops.differs[one].sum()
    )
    share = population.stops.differs[place].mean()

    found = population.judge([place, None], alpha=float(share) - 0.01)

    assert found.mean_disagreement == pytest.approx(share / 2)
    assert (found.share_above, found.share_certified) == (0.5, 0.5)
    spent = population.stops.spends[place].mean()
    assert found.mean_saved == pytest.approx((1.0 - spent / 5.0) / 2)
