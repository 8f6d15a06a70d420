"""Find shifts in the calls to a provider: of misses, failures, latency and price.

Calls come in order. Each end of the trace compares its last calls with a reference of
earlier ones, so that no state is kept between two looks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray

ShiftKind = Literal["misses", "failures", "latency", "price"]

#: The last calls that are compared, by their number.
WINDOWS = np.array([25, 50, 100, 200])
#: Calls that no reference has: those that may come after the change.
LAG = 200
#: Calls of a reference; with fewer than the least nothing is tested.
LEAST_REFERENCE, REFERENCE = 300, 2_000
#: Log likelihood ratios at which a shift is named in the longest window. Misses that
#: rise are what matters most, and have the largest share of the false alarms.
MISSES_LEVEL, OTHER_LEVEL = 6.5, 7.5
#: More that a window half as long has to reach, since twice as many fit a trace.
HALVING = 1.0
#: Times beyond those that most answers of the reference keep, and how far beyond.
TAIL, SLACK = 0.1, 1.1
#: A shift is listed for so many calls.
HELD = 200
#: The calls that one look reads.
MOST_CALLS = REFERENCE + LAG + HELD


@dataclass(frozen=True, slots=True)
class Trace:
    """Calls to one provider, the oldest first."""

    #: of each call: whether it brought no answer
    is_failed: BoolArray
    #: of each answer: whether it was empty
    is_empty: BoolArray
    #: of each answer, in milliseconds
    latencies: FloatArray
    #: of each call with a value, in micro-units
    prices: Sequence[int]


@dataclass(frozen=True, slots=True)
class Shift:
    """A change that was named: a share, a time in milliseconds, or a price."""

    kind: ShiftKind
    before: float
    after: float
    n_before: int
    n_after: int
    #: of the last call or answer that it was named by, from the end of the trace
    n_since: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Hits before and after at some ends of a trace."""

    #: calls up to each end, (n_ends,)
    ends: IntArray
    #: hits and calls of the reference, (n_ends,)
    n_hits: IntArray
    n_before: IntArray
    #: hits in each window, (n_ends, n_windows)
    n_later: IntArray


def list_shifts(trace: Trace) -> tuple[Shift, ...]:
    """Return what has changed in the last `HELD` calls of a trace, each kind once.

    Notes
    -----
    A window-limited generalised likelihood ratio (Lai 1995; Page 1954 and Lorden 1971
    for a known rate; Siegmund and Venkatraman 1995 for an unknown one). Of the last w
    calls, h have a hit, of the m calls of the reference g. The score is w KL(h/w, q) +
    m KL(g/m, q) with q = (g + h)/(m + w): as the rate before is estimated too, a short
    reference raises no more false alarms than a long one. Latencies are tested by the
    share of answers slower than nine in ten of the reference, and of those faster than
    nine in ten. Calls are taken as independent. `docs/buying.md` has the measured
    rates.
    """
    empty = trace.is_empty
    shifts = [
        *find_share_shift("misses", empty, (MISSES_LEVEL, OTHER_LEVEL)),
        *find_share_shift("failures", trace.is_failed, (OTHER_LEVEL, np.inf)),
        *find_latency_shift(trace.latencies),
        *find_price_shift(trace.prices),
    ]
    return tuple(shifts)


def find_share_shift(
    kind: ShiftKind, is_hit: BoolArray, levels: tuple[float, float]
) -> Iterator[Shift]:
    """Yield the newest shift of a share, by the levels of a rise and of a fall."""
    ends = list_ends(is_hit.size)
    for hits, level in zip((is_hit, ~is_hit), levels, strict=True):
        place = find_named(count_hits(hits, ends), level)
        if place is not None:
            end, window = place
            before = is_hit[max(0, end - LAG - REFERENCE) : end - LAG]
            after = is_hit[end - window : end]
            means = float(before.mean()), float(after.mean())
            yield Shift(kind, *means, before.size, window, is_hit.size - end)
            return


def find_latency_shift(latencies: FloatArray) -> Iterator[Shift]:
    """Yield the newest shift of times, to slower answers before faster ones."""
    ends = list_ends(latencies.size)
    for signed in (latencies, -latencies):
        place = find_named(count_beyond(signed, ends), OTHER_LEVEL)
        if place is not None:
            end, window = place
            before = latencies[max(0, end - LAG - REFERENCE) : end - LAG]
            after = latencies[end - window : end]
            yield Shift(
                "latency",
                float(np.quantile(before, 1 - TAIL)),
                float(np.quantile(after, 1 - TAIL)),
                *(before.size, window, latencies.size - end),
            )
            return


def find_price_shift(prices: Sequence[int]) -> Iterator[Shift]:
    """Yield the newest price that no earlier call had, named at its first call."""
    first = {price: place for place, price in reversed([*enumerate(prices)])}
    place = max(first.values(), default=0)
    if place > 0 and len(prices) - place <= HELD:
        n_since = len(prices) - place - 1
        yield Shift("price", prices[place - 1], prices[place], place, 1, n_since)


def list_ends(n_calls: int) -> IntArray:
    """Return the ends that are looked at, those with a reference among the last."""
    least = max(LEAST_REFERENCE + LAG, n_calls - HELD + 1)
    return np.arange(least, n_calls + 1)


def count_hits(is_hit: BoolArray, ends: IntArray) -> Counts:
    """Count hits before and after each end."""
    sums = np.concatenate([[0], np.cumsum(is_hit)])
    starts = np.maximum(0, ends - LAG - REFERENCE)
    n_hits = sums[ends - LAG] - sums[starts]
    n_later = sums[ends, None] - sums[ends[:, None] - WINDOWS]
    return Counts(ends, n_hits, ends - LAG - starts, n_later)


def count_beyond(values: FloatArray, ends: IntArray) -> Counts:
    """Count values beyond the upper tail of each end's own reference."""
    starts = np.maximum(0, ends - LAG - REFERENCE)
    n_hits, n_later = [], []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        reference, later = values[start : end - LAG], values[end - LAG : end]
        place = int((1 - TAIL) * (reference.size - 1))
        edge = float(np.partition(reference, place)[place])
        # Values of the lower tail come negated.
        limit = edge * SLACK if edge > 0 else edge / SLACK
        n_hits.append(np.count_nonzero(reference > limit))
        sums = np.cumsum(later[::-1] > limit)
        n_later.append(sums[WINDOWS - 1])
    shape = (ends.size, WINDOWS.size)
    counted = np.array(n_later, dtype=np.int64).reshape(shape)
    return Counts(ends, np.array(n_hits, dtype=np.int64), ends - LAG - starts, counted)


def find_named(counts: Counts, level: float) -> tuple[int, int] | None:
    """Return the newest end at which a rise is named, and its window; None: nowhere."""
    scores = score_rises(counts)
    named = np.flatnonzero(scores.max(axis=1, initial=-np.inf) >= level)
    if not named.size:
        return None
    row = named[-1]
    return int(counts.ends[row]), int(WINDOWS[scores[row].argmax()])


def score_rises(counts: Counts) -> FloatArray:
    """Return how surely the share has risen at each end, (n_ends, n_windows).

    The log likelihood ratio, less `HALVING` for each time that the window is halved.
    """
    before = (counts.n_hits / counts.n_before)[:, None]
    after = counts.n_later / WINDOWS
    both = counts.n_before[:, None] + WINDOWS
    pooled = (counts.n_hits[:, None] + counts.n_later) / both
    scores = WINDOWS * divergence(after, pooled)
    scores += counts.n_before[:, None] * divergence(before, pooled)
    scores -= HALVING * np.log2(WINDOWS[-1] / WINDOWS)
    return np.where(after > before, scores, -np.inf)


def divergence(share: FloatArray, other: FloatArray) -> FloatArray:
    """Return Kullback and Leibler's divergence of two Bernoulli distributions.

    `other` is within (0, 1) wherever `share` is.
    """
    least = np.finfo(float).tiny
    hits = share * np.log(np.maximum(share, least) / np.maximum(other, least))
    rest = np.maximum(1 - share, least) / np.maximum(1 - other, least)
    return hits + (1 - share) * np.log(rest)
