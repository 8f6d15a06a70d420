"""What became of the claims of Reyzin (2010)."""

from functools import partial

from benchmarks.documents import listed
from benchmarks.intervals import interval
from benchmarks.papers.results import Verdict, column, grade, mean
from benchmarks.papers.reyzin import COUNTS, find_marks
from benchmarks.papers.reyzin_crossings import LEVELS, READ, SAMPLES, compare_tables
from benchmarks.papers.reyzin_tables import (
    differences,
    fit_of_excess,
    shown,
    titles,
    unread,
)
from benchmarks.papers.runs import Results

# How near to AdaBoost's error and how few of the features count, in percent.
CLOSE, FEW = 10, 50


def judge_table(key: str, results: Results) -> Verdict:
    """Compare figure by figure with where one more split of ours would lie."""
    found = {title: compare_tables(results, title)[key] for title in titles(results)}
    figures = [one for cells in found.values() for one in cells]
    is_inside = [one.is_of_split for one in figures]
    outside = [t for t, one in found.items() if not all(c.is_of_split for c in one)]
    return grade(is_inside), (
        f"{sum(is_inside)} of {len(figures)} figures lie where one more split of ours "
        f"would; outside on {listed(outside)}; "
        f"{sum(one.is_of_mean for one in figures)} in the 95 % interval of our mean"
    )


def judge_bound(results: Results) -> Verdict:
    """Corollary 3, on the mean over the test rows, each with its own theta."""
    pairs = [
        [mean(results, title, key) for key in ("apart", "hoeffding")]
        for title in titles(results)
    ]
    held = [bool((apart <= bound).all()) for apart, bound in pairs]
    verdict = "reproduced" if all(held) else "not reproduced"
    return verdict, f"at every number of draws on {sum(held)} of {len(held)} sets"


def judge_law(results: Results) -> Verdict:
    """Which law the fall of the error follows."""
    fits = [fit_of_excess(results, title) for title in titles(results)]
    n_powers = sum(power > exponential for exponential, power in fits)
    return "not reproduced" if n_powers == len(fits) else "partly", (
        "a power of the number of draws fits the excess over AdaBoost better than an "
        f"exponential on {n_powers} of {len(fits)} sets"
    )


def judge_approach(results: Results) -> Verdict:
    """Does the error surely come within 10 %, surely with half of the features?"""
    names, factor = titles(results), 1 + CLOSE / 100
    is_close, is_few, cells = [], [], []
    for title in names:
        ends = column(results, title, "errors")[:, -1]
        over = interval(ends - factor * column(results, title, "adaboost"))
        read = compare_tables(results, title)[READ][LEVELS.index(CLOSE)]
        is_close.append(over.high <= 0)
        is_few.append(read.high < FEW)
        cells.append(f"{title} {shown(read.mean, READ)} %")
    is_open = not any(is_close) or not any(is_few)
    return "undecided" if is_open else grade([*is_close, *is_few]), (
        f"after {find_marks()[-1]:,} draws surely within {CLOSE} % on {sum(is_close)} "
        f"of {len(names)} sets; surely fewer than {FEW} % of the features read by then "
        f"on {sum(is_few)} ({listed(cells)})"
    )


def judge_bins(results: Results) -> Verdict:
    """More features stay unread than the bound for even draws says."""
    is_above = []
    for title in titles(results):
        measured, even, even_used = unread(results, title)
        is_above.append((measured >= even).all() and (measured >= even_used).all())
    return "reproduced" if all(is_above) else "partly", (
        f"at every number of draws on {sum(is_above)} of {len(is_above)} sets, even of "
        "the features that AdaBoost reads"
    )


def judge_votes(results: Results) -> Verdict:
    """Deterministic voting beside sampling at the same number of features."""
    names, four = titles(results), COUNTS.index(4)
    cells = [
        one for title in names for one in differences(results, title, "top_rounds")
    ]
    trap = [one for one in names if differences(results, one, "top")[four].low > 0]
    return "answered", (
        "at the same number of features the hypotheses of most alpha err less in "
        f"{sum(one.high < 0 for one in cells)} of {len(cells)} cases and more in "
        f"{sum(one.low > 0 for one in cells)}; the features of most alpha err more at "
        f"4 features on {listed(trap)}"
    )


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
