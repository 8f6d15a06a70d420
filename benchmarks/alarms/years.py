"""Years of a model's cases, looked at each week as its monitor is."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.alarms import (
    LEAST_CASES,
    Alarm,
    Evidence,
    FeatureEvidence,
    OutcomeEvidence,
    find_alarms,
)
from askless.core.model.drift import stability_index
from askless.core.model.figures import wilson_interval

N_WEEKS, WEEKS_SEEN = 52, 13
# Of the features one half are numbers, the others categories of so many values.
N_CATEGORIES = 4


class Year(NamedTuple):
    """A model's cases of a year; with all changes 0 they are like its training."""

    n_trained: int
    n_features: int
    cases_per_week: int
    #: of the first number's mean, in standard deviations
    shift: float = 0.0
    #: by how much errors are more frequent than training found
    more_errors: float = 0.0
    #: week from which on these hold
    changes_in: int = 0


class Looked(NamedTuple):
    """The looks of one year: how many had an alarm, and the first one's week."""

    n_looks: int
    n_alarms: int
    first: int | None


class Rows(NamedTuple):
    """Numbers, categories, the chance of each label and whether it is wrong."""

    numbers: FloatArray
    categories: FloatArray
    chances: FloatArray
    is_wrong: FloatArray


def draw_rows(year: Year, n_rows: int, random: np.random.Generator) -> Rows:
    """Draw rows like those of training."""
    half = year.n_features // 2
    numbers = random.standard_normal((n_rows, year.n_features - half))
    draws = random.exponential(1.0, (n_rows, half))
    categories = np.minimum(np.floor(draws), N_CATEGORIES - 1.0)
    chances = random.uniform(0.6, 1.0, n_rows)
    is_wrong = (random.random(n_rows) > chances).astype(np.float64)
    return Rows(numbers, categories, chances, is_wrong)


def look_weekly(year: Year, random: np.random.Generator) -> Looked:
    """Look at the last 13 weeks of cases, each week of a year."""
    training = draw_rows(year, year.n_trained, random)
    weeks = [draw_rows(year, year.cases_per_week, random) for _ in range(N_WEEKS)]
    for week in weeks[year.changes_in :]:
        week.numbers[:, 0] += year.shift
        is_spoilt = random.random(year.cases_per_week) < year.more_errors
        week.is_wrong[is_spoilt] = 1.0
    alarms = []
    for place in range(N_WEEKS):
        seen = weeks[max(0, place + 1 - WEEKS_SEEN) : place + 1]
        cases = Rows(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))
        alarms.append(bool(judge(training, cases)))
    first = alarms.index(True) if any(alarms) else None
    return Looked(N_WEEKS, sum(alarms), first)


def judge(training: Rows, cases: Rows) -> tuple[Alarm, ...]:
    """Return the alarms of some cases; new cases alone are no alarm here."""
    n_trained, n_cases = training.chances.size, cases.chances.size
    if n_cases < LEAST_CASES:
        return ()
    error = float(training.is_wrong.mean())
    most_error = wilson_interval(error, n_trained)[1]
    wrong, spread = int(cases.is_wrong.sum()), cases.chances * (1.0 - cases.chances)
    sums = float(cases.chances.sum()), float(spread.sum())
    outcomes = OutcomeEvidence(n_cases, wrong, most_error, *sums, None)
    features = [*gather_numbers(training, cases), *gather_categories(training, cases)]
    return find_alarms(Evidence(n_trained, n_cases, features, outcomes, 0))


def gather_numbers(training: Rows, cases: Rows) -> Iterator[FeatureEvidence]:
    """Yield what the numbers of cases say."""
    n_trained, n_cases = training.chances.size, cases.chances.size
    low, high = training.numbers.min(axis=0), training.numbers.max(axis=0)
    outside = ((cases.numbers < low) | (cases.numbers > high)).sum(axis=0)
    clipped = np.clip(cases.numbers, low, high).mean(axis=0)
    shifts = (clipped - training.numbers.mean(axis=0)) / training.numbers.std(axis=0)
    for idx, (shift, count) in enumerate(zip(shifts, outside, strict=True)):
        index = float(shift**2)
        yield FeatureEvidence(idx, n_trained, n_cases, int(count), True, index, 1)


def gather_categories(training: Rows, cases: Rows) -> Iterator[FeatureEvidence]:
    """Yield what the categories of cases say."""
    n_trained, n_cases = training.chances.size, cases.chances.size
    first = training.numbers.shape[1]
    for idx in range(training.categories.shape[1]):
        counts = np.bincount(training.categories[:, idx].astype(np.int64))
        shares = {float(code): count / n_trained for code, count in enumerate(counts)}
        index = stability_index(cases.categories[:, idx], shares)
        degrees = len(shares) - 1
        place = first + idx
        yield FeatureEvidence(place, n_trained, n_cases, 0, False, index, degrees)
