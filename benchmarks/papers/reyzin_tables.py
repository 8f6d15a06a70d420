"""Reyzin (2010), his tables beside ours."""

import numpy as np

from benchmarks.documents import Rows, percent, plus_minus, signed
from benchmarks.intervals import Interval, interval, outer_rank
from benchmarks.papers.results import column, mean, measured
from benchmarks.papers.reyzin import COUNTS, EVERY, TITLES, find_marks
from benchmarks.papers.reyzin_crossings import LEVELS, READ, SAMPLES, compare_tables
from benchmarks.papers.runs import Results
from core.arrays import FloatArray

SHOWN = (11, 31, 101, 311, 1001, 2501)
COUNTS_SHOWN = (4, 16, 64)
PAPER_FEATURES = {"census": 130, "splice": 239, "ocr17": 402, "ocr49": 402}
VOTES = ("sampled", "top", "top_rounds", "prefix")


def titles(results: Results) -> list[str]:
    """Sets measured, in the paper's order."""
    return measured(results, TITLES)


def fit_of_excess(results: Results, title: str) -> tuple[float, float]:
    """Determination of log(excess error) by the draws and by their logarithm.

    Over the marks where the excess is at least a tenth of AdaBoost's error, thinned to
    even steps of the logarithm.
    """
    full = float(mean(results, title, "adaboost"))
    excess = mean(results, title, "errors") - full
    wanted = np.unique(np.searchsorted(find_marks(), 1.15 ** np.arange(58)))
    idxs = np.array([i for i in wanted if i < excess.size and excess[i] > full / 10])
    draws, logs = find_marks()[idxs], np.log(excess[idxs])
    fits = [np.corrcoef(one, logs)[0, 1] ** 2 for one in (draws, np.log(draws))]
    return float(fits[0]), float(fits[1])


def unread(results: Results, title: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share of features unread; what even draws would leave; by marks.

    The last: even draws over the features that some round of AdaBoost reads.
    """
    read, n_features, n_used = (
        column(results, title, key) for key in ("read", "n_features", "n_used")
    )
    n_features, n_used = n_features[:, None], n_used[:, None]
    even = (1 - 1 / n_features) ** find_marks()
    used_left = n_used * (1 - 1 / n_used) ** find_marks()
    even_used = (n_features - n_used + used_left) / n_features
    shares = (1 - read / n_features, even, even_used)
    return tuple(one.mean(axis=0) for one in shares)


def differences(results: Results, title: str, one: str) -> list[Interval]:
    """Paired difference of error from the sampled vote's, by number of features."""
    paired = column(results, title, one) - column(results, title, "sampled")
    return [interval(by_count) for by_count in paired.T]


def shown(value: float, key: str) -> str:
    """Write a number of draws, or percent of the features."""
    if np.isinf(value):
        return f"not by {find_marks()[-1]:,}"
    return f"{value:,.0f}" if key == SAMPLES else f"{value:.1f}"


def marked(text: str, is_inside: bool) -> str:
    """Mark what leaves the paper's figure outside."""
    return text if is_inside else f"{text} ✗"


def write_sizes(results: Results) -> Rows:
    rows = []
    for title in titles(results):
        [found] = compare_tables(results, title)["errors"]
        errors = column(results, title, "adaboost")
        n_features, n_used = (
            f"{mean(results, title, key):.0f}" for key in ("n_features", "n_used")
        )
        split = f"{found.split_low:.1f} to {found.split_high:.1f}"
        judged = (marked(split, found.is_of_split), percent(errors.std(ddof=1)))
        whole = marked(plus_minus(interval(errors)), found.is_of_mean)
        counts = (n_features, PAPER_FEATURES[title], n_used, found.theirs)
        rows.append((title, *counts, *judged, whole))
    return rows


def write_crossings(results: Results, key: str) -> Rows:
    rows = []
    for title in titles(results):
        cells = compare_tables(results, title)[key]
        for level, one in zip(LEVELS, cells, strict=True):
            low, high = shown(one.split_low, key), shown(one.split_high, key)
            split = f"{shown(one.median, key)} ({low} to {high})"
            low, high = shown(one.low, key), shown(one.high, key)
            whole = f"{shown(one.mean, key)} ({low} to {high})"
            rows.append(
                (
                    title if level == LEVELS[0] else "",
                    f"{level} %",
                    shown(one.theirs, key),
                    marked(split, one.is_of_split),
                    marked(whole, one.is_of_mean),
                )
            )
    return rows


def write_reading(results: Results) -> Rows:
    names = titles(results)
    if not names:
        return ""
    found = {title: compare_tables(results, title) for title in names}
    last = [one[SAMPLES][-1] for one in found.values()]
    n_splits = min(len(results["sets"][title]) for title in names)
    rank = outer_rank(n_splits)
    n_beyond, cell = min(
        (one.n_beyond, f"{title} at {level} % in Table {number}")
        for title, tables in found.items()
        for number, key in ((2, SAMPLES), (3, READ))
        for level, one in zip(LEVELS, tables[key], strict=True)
    )
    n_early = sum(one.median < one.mean for one in last)
    n_below = sum(one.theirs < one.mean for one in last)
    n_inside, n_all = n_splits + 1 - 2 * rank, n_splits + 1
    rows = (
        ("splits", n_splits),
        ("the range of one more split, ranks from either end", rank),
        ("holds one more split in", f"{n_inside} of {n_all} cases"),
        (
            "the median split crosses the last level first on",
            f"{n_early} of {len(last)}",
        ),
        (
            "the paper's figure lies below our mean curve's on",
            f"{n_below} of {len(last)}",
        ),
        ("the paper's figure farthest out", cell),
        ("splits as far out as that or farther", f"{n_beyond} of {n_splits}"),
    )
    return rows


def write_draws(results: Results) -> Rows:
    marks = find_marks()
    idxs = [int(np.argmin(abs(marks - one))) for one in SHOWN]
    rows = []
    for title in titles(results):
        errors = column(results, title, "errors")
        cells = [plus_minus(interval(errors[:, idx]), 1) for idx in idxs]
        fits = (f"{one:.2f}" for one in fit_of_excess(results, title))
        rows.append((title, *cells, *fits))
    return rows


def write_unread(results: Results) -> Rows:
    marks = find_marks()
    rows = []
    for title in titles(results):
        shares = unread(results, title)
        n_features = float(mean(results, title, "n_features"))
        idxs = [int(np.argmin(abs(marks - one))) for one in (31, 101, n_features, 1001)]
        cells = [" / ".join(percent(one[i], 1) for one in shares) for i in idxs]
        rows.append((title, f"{n_features:.0f}", *cells))
    return rows


def write_apart(results: Results) -> Rows:
    marks = find_marks()[::EVERY]
    idx = int(np.argmin(abs(marks - 101)))
    keys = ("apart", "hoeffding")
    return [
        (title, *(percent(mean(results, title, key)[idx], 1) for key in keys))
        for title in titles(results)
    ]


def write_votes(results: Results) -> Rows:
    rows = []
    for title in titles(results):
        gaps = differences(results, title, "top_rounds")
        for count in COUNTS_SHOWN:
            idx = COUNTS.index(count)
            cells = [percent(mean(results, title, key)[idx], 1) for key in VOTES]
            rows.append((title, count, *cells, signed(gaps[idx], 1)))
    return rows


TABLES = {
    "reyzin-sizes": write_sizes,
    "reyzin-draws-needed": lambda results: write_crossings(results, SAMPLES),
    "reyzin-features-read": lambda results: write_crossings(results, READ),
    "reyzin-reading": write_reading,
    "reyzin-draws": write_draws,
    "reyzin-unread": write_unread,
    "reyzin-apart": write_apart,
    "reyzin-votes": write_votes,
}
