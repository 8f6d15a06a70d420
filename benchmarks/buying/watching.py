"""How soon a provider's shift is named, and how seldom where nothing has changed.

`python -m benchmarks.buying.watching` prints both by seeded simulation; docs/buying.md
has the figures. Calls are independent. Latencies are log-normal with a spread of .5.
A life begins with its first calls, so that the rates have short references in them.
"""

import argparse
from collections.abc import Callable

import numpy as np

from askless.core.arrays import BoolArray, FloatArray
from askless.core.model.shifts import (
    LAG,
    LEAST_REFERENCE,
    MISSES_LEVEL,
    OTHER_LEVEL,
    Counts,
    count_beyond,
    count_hits,
    score_rises,
)

SHARES = (0.05, 0.2, 0.5)
FAILURES = 0.01
SPREAD = 0.5
REFERENCES = (300, 500, 1_000, 2_000)
SLOWER = (1.25, 1.5, 2.0)
CALLS_OF_A_LIFE = 20_000

Counting = Callable[[FloatArray, np.ndarray], Counts]
Rng = np.random.Generator


def first_named(counts: Counts, level: float) -> tuple[int, bool]:
    """Return how many calls pass to the first naming, or to the end of the life."""
    is_named = (score_rises(counts) >= level).any(axis=1)
    place = int(is_named.argmax())
    return (place + 1, True) if is_named[place] else (is_named.size, False)


def rate(
    make: Callable[[], FloatArray], count: Counting, level: float, n: int
) -> float:
    """Return namings a call in lives without a change."""
    lives = [make() for _ in range(n)]
    ends = np.arange(LEAST_REFERENCE + LAG, lives[0].size + 1)
    passed = [first_named(count(life, ends), level) for life in lives]
    calls, named = (
        sum(length for length, _ in passed),
        sum(is_named for _, is_named in passed),
    )
    print(f"  {named} in {calls:,} calls", flush=True)
    return named / calls


def false_alarms(rng: Rng, n_lives: int) -> None:
    size = CALLS_OF_A_LIFE + LEAST_REFERENCE + LAG
    few = max(1, n_lives // 4)

    def draw(share: float) -> Callable[[], BoolArray]:
        return lambda: rng.random(size) < share

    def time() -> FloatArray:
        return np.round(300 * np.exp(SPREAD * rng.standard_normal(size)))

    print("failures up")
    others = rate(draw(FAILURES), count_hits, OTHER_LEVEL, n_lives)
    print("slower")
    others += rate(time, count_beyond, OTHER_LEVEL, few)
    print("faster")
    others += rate(lambda: -time(), count_beyond, OTHER_LEVEL, few)
    for share in SHARES:
        print(f"misses {share}, up and down")
        ups = rate(draw(share), count_hits, MISSES_LEVEL, n_lives)
        downs = rate(draw(1 - share), count_hits, OTHER_LEVEL, n_lives)
        print(f"  a provider: one in {1 / (ups + downs + others):,.0f} calls")


def detections(rng: Rng, n_lives: int) -> None:
    for n_before in REFERENCES:
        ends = np.arange(n_before + LAG + 1, n_before + 2 * LAG + 1)
        delays = []
        for _ in range(n_lives):
            life = np.concatenate(
                [rng.random(n_before + LAG) < 0.2, rng.random(LAG) < 0.4]
            )
            place, is_named = first_named(count_hits(life, ends), MISSES_LEVEL)
            delays.append(place if is_named else np.inf)
        share, median = np.mean(np.isfinite(delays)), np.median(delays)
        print(f"misses .2 to .4 after {n_before}: {share:.4f}, median {median:.0f}")
    for factor in SLOWER:
        ends = np.arange(1_000 + LAG + 1, 1_000 + 2 * LAG + 1)
        delays = []
        for _ in range(n_lives // 20):
            life = 300 * np.exp(SPREAD * rng.standard_normal(1_000 + 2 * LAG))
            life[-LAG:] *= factor
            place, is_named = first_named(count_beyond(life, ends), OTHER_LEVEL)
            delays.append(place if is_named else np.inf)
        share, median = np.mean(np.isfinite(delays)), np.median(delays)
        print(f"{factor} times as slow: {share:.3f}, median {median:.0f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lives", type=int, default=600)
    parser.add_argument("--cases", type=int, default=10_000)
    asked = parser.parse_args()
    detections(np.random.default_rng(42), asked.cases)
    false_alarms(np.random.default_rng(43), asked.lives)
