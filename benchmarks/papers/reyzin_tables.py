"""Reyzin (2010), his tables beside ours, and what became of his claims."""

from functools import partial

import numpy as np

from benchmarks.documents import Rows, percent, plus_minus, signed
from benchmarks.intervals import Interval, interval, outer_rank
from benchmarks.papers.results import SetResults, Sets, Verdict, count_held, grade
from benchmarks.papers.reyzin import COUNTS, EVERY, find_marks
from benchmarks.papers.reyzin_crossings import LEVELS, READ, SAMPLES, compare_tables
from core.arrays import FloatArray

SHOWN = (11, 31, 101, 311, 1001, 2501)
COUNTS_SHOWN = (4, 16, 64)
PAPER_FEATURES = {"census": 130, "splice": 239, "ocr17": 402, "ocr49": 402}
VOTES = ("sampled", "top", "top_rounds", "prefix")

# How near to AdaBoost's error and how few of the features count, in percent.
CLOSE, FEW = 10, 50


def fit_of_excess(found: SetResults) -> tuple[float, float]:
    """Determination of log(excess error) by the draws and by their logarithm.

    Over the marks where the excess is at least a tenth of AdaBoost's error, thinned to
    even steps of the logarithm.
    """
    full = float(found.mean("adaboost"))
    excess = found.mean("errors") - full
    wanted = np.unique(np.searchsorted(find_marks(), 1.15 ** np.arange(58)))
    idxs = np.array([i for i in wanted if i < excess.size and excess[i] > full / 10])
    draws, logs = find_marks()[idxs], np.log(excess[idxs])
    fits = [np.corrcoef(one, logs)[0, 1] ** 2 for one in (draws, np.log(draws))]
    return float(fits[0]), float(fits[1])


def unread(found: SetResults) -> dict[str, FloatArray]:
    """Share of features unread; what even draws would leave; by marks.

    `even_used`: even draws over the features that some round of AdaBoost reads.
    """
    n_features, n_used = (
        found.column(key)[:, None] for key in ("n_features", "n_used")
    )
    even = (1 - 1 / n_features) ** find_marks()
    used_left = n_used * (1 - 1 / n_used) ** find_marks()
    even_used = (n_features - n_used + used_left) / n_features
    measured = 1 - found.column("read") / n_features
    shares = {"measured": measured, "even": even, "even_used": even_used}
    return {key: one.mean(axis=0) for key, one in shares.items()}


def differences(found: SetResults, one: str) -> list[Interval]:
    """Paired difference of error from the sampled vote's, by number of features."""
    gaps = found.column(one) - found.column("sampled")
    return [interval(by_count) for by_count in gaps.T]


def shown(value: float, key: str) -> str:
    """Write a number of draws, or percent of the features."""
    if np.isinf(value):
        return f"not by {find_marks()[-1]:,}"
    return f"{value:,.0f}" if key == SAMPLES else f"{value:.1f}"


def marked(text: str, is_inside: bool) -> str:
    """Mark what leaves the paper's figure outside."""
    return text if is_inside else f"{text} ✗"


def write_sizes(sets: Sets) -> Rows:
    for title, found in sets.items():
        [one] = compare_tables(found)["errors"]
        errors = found.column("adaboost")
        n_features, n_used = (
            f"{found.mean(key):.0f}" for key in ("n_features", "n_used")
        )
        split = marked(f"{one.split_low:.1f} to {one.split_high:.1f}", one.is_of_split)
        whole = marked(plus_minus(interval(errors)), one.is_of_mean)
        counts = (n_features, PAPER_FEATURES[title], n_used, one.theirs)
        yield title, *counts, split, percent(errors.std(ddof=1)), whole


def write_crossings(key: str, sets: Sets) -> Rows:
    for title, found in sets.items():
        for level, one in zip(LEVELS, compare_tables(found)[key], strict=True):
            low, high = shown(one.split_low, key), shown(one.split_high, key)
            split = f"{shown(one.median, key)} ({low} to {high})"
            low, high = shown(one.low, key), shown(one.high, key)
            whole = f"{shown(one.mean, key)} ({low} to {high})"
            judged = (marked(split, one.is_of_split), marked(whole, one.is_of_mean))
            label = title if level == LEVELS[0] else ""
            yield label, f"{level} %", shown(one.theirs, key), *judged


def write_reading(sets: Sets) -> Rows:
    found = {title: compare_tables(one) for title, one in sets.items()}
    last = [one[SAMPLES][-1] for one in found.values()]
    n_splits = min(len(one.records) for one in sets.values())
    rank = outer_rank(n_splits)
    n_beyond, cell = min(
        (one.n_beyond, f"{title} at {level} % in Table {number}")
        for title, tables in found.items()
        for number, key in ((2, SAMPLES), (3, READ))
        for level, one in zip(LEVELS, tables[key], strict=True)
    )
    n_early = sum(one.median < one.mean for one in last)
    n_below = sum(one.theirs < one.mean for one in last)
    inside = f"{n_splits + 1 - 2 * rank} of {n_splits + 1} cases"
    early, below = (f"{count} of {len(last)}" for count in (n_early, n_below))
    yield "splits", n_splits
    yield "the range of one more split, ranks from either end", rank
    yield "holds one more split in", inside
    yield "the median split crosses the last level first on", early
    yield "the paper's figure lies below our mean curve's on", below
    yield "the paper's figure farthest out", cell
    yield "splits as far out as that or farther", f"{n_beyond} of {n_splits}"


def write_draws(sets: Sets) -> Rows:
    idxs = [int(np.argmin(abs(find_marks() - one))) for one in SHOWN]
    for title, found in sets.items():
        errors = found.column("errors")
        cells = [plus_minus(interval(errors[:, idx]), 1) for idx in idxs]
        yield title, *cells, *(f"{one:.2f}" for one in fit_of_excess(found))


def write_unread(sets: Sets) -> Rows:
    marks = find_marks()
    for title, found in sets.items():
        shares, n_features = unread(found).values(), float(found.mean("n_features"))
        idxs = [int(np.argmin(abs(marks - one))) for one in (31, 101, n_features, 1001)]
        cells = [" / ".join(percent(one[i], 1) for one in shares) for i in idxs]
        yield title, f"{n_features:.0f}", *cells


def write_apart(sets: Sets) -> Rows:
    idx = int(np.argmin(abs(find_marks()[::EVERY] - 101)))
    for title, found in sets.items():
        shares = (found.mean(key)[idx] for key in ("apart", "hoeffding"))
        yield title, *(percent(one, 1) for one in shares)


def write_votes(sets: Sets) -> Rows:
    for title, found in sets.items():
        gaps = differences(found, "top_rounds")
        for count in COUNTS_SHOWN:
            idx = COUNTS.index(count)
            cells = [percent(found.mean(key)[idx], 1) for key in VOTES]
            yield title, count, *cells, signed(gaps[idx], 1)


def judge_table(key: str, sets: Sets) -> Verdict:
    """Compare figure by figure with where one more split of ours would lie."""
    found = {title: compare_tables(one)[key] for title, one in sets.items()}
    figures = [one for cells in found.values() for one in cells]
    is_inside = [one.is_of_split for one in figures]
    outside = [t for t, one in found.items() if not all(c.is_of_split for c in one)]
    n_mean = sum(one.is_of_mean for one in figures)
    return grade(is_inside), count_held(is_inside) | {
        "n_mean": n_mean,
        "outside": outside,
    }


def judge_bound(sets: Sets) -> Verdict:
    """Corollary 3, on the mean over the test rows, each with its own theta."""
    pairs = [(one.mean("apart"), one.mean("hoeffding")) for one in sets.values()]
    held = [bool((apart <= bound).all()) for apart, bound in pairs]
    return "reproduced" if all(held) else "not reproduced", count_held(held)


def judge_law(sets: Sets) -> Verdict:
    """Which law the fall of the error follows."""
    fits = [fit_of_excess(one) for one in sets.values()]
    is_power = [power > exponential for exponential, power in fits]
    return "not reproduced" if all(is_power) else "partly", count_held(is_power)


def judge_approach(sets: Sets) -> Verdict:
    """Does the error surely come within 10 %, surely with half of the features?"""
    is_close, is_few, shares = [], [], []
    for title, found in sets.items():
        ends, full = found.column("errors")[:, -1], found.column("adaboost")
        read = compare_tables(found)[READ][LEVELS.index(CLOSE)]
        is_close.append(interval(ends - (1 + CLOSE / 100) * full).high <= 0)
        is_few.append(read.high < FEW)
        shares.append(f"{title} {shown(read.mean, READ)} %")
    is_open = not any(is_close) or not any(is_few)
    verdict = "undecided" if is_open else grade([*is_close, *is_few])
    counts = {"n_close": sum(is_close), "n_few": sum(is_few), "n_all": len(sets)}
    limits = {"n_draws": find_marks()[-1], "close": CLOSE, "few": FEW}
    return verdict, {**counts, **limits, "shares": shares}


def judge_bins(sets: Sets) -> Verdict:
    """More features stay unread than the bound for even draws says."""
    is_above = []
    for found in sets.values():
        measured, even, even_used = unread(found).values()
        is_above.append((measured >= even).all() and (measured >= even_used).all())
    return "reproduced" if all(is_above) else "partly", count_held(is_above)


def judge_votes(sets: Sets) -> Verdict:
    """Deterministic voting beside sampling at the same number of features."""
    four = COUNTS.index(4)
    gaps = [one for found in sets.values() for one in differences(found, "top_rounds")]
    trap = [t for t, found in sets.items() if differences(found, "top")[four].low > 0]
    n_less, n_more = sum(one.high < 0 for one in gaps), sum(one.low > 0 for one in gaps)
    counts = {"n_less": n_less, "n_more": n_more, "n_all": len(gaps)}
    return "answered", {**counts, "trap": trap}


TABLES = {
    "reyzin-sizes": write_sizes,
    "reyzin-draws-needed": partial(write_crossings, SAMPLES),
    "reyzin-features-read": partial(write_crossings, READ),
    "reyzin-reading": write_reading,
    "reyzin-draws": write_draws,
    "reyzin-unread": write_unread,
    "reyzin-apart": write_apart,
    "reyzin-votes": write_votes,
}
JUDGES = {
    "errors": partial(judge_table, "errors"),
    SAMPLES: partial(judge_table, SAMPLES),
    READ: partial(judge_table, READ),
    "bound": judge_bound,
    "law": judge_law,
    "approach": judge_approach,
    "bins": judge_bins,
    "votes": judge_votes,
}
