"""What became of the claims of Reyzin (2010)."""

from __future__ import annotations

from benchmarks.documents import listed
from benchmarks.intervals import interval
from benchmarks.papers.results import Verdict, column, mean
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
CLAIMS = {
    "errors": "AdaBoost's errors (in the brackets of Tables 2 and 3)",
    SAMPLES: "Table 2: draws needed to come within 100 to 10 % of AdaBoost's error",
    READ: "Table 3: percent of the features read by then",
}


def judge(results: Results) -> list[Verdict]:
    """One per claim of the paper."""
    if not titles(results):
        return []
    found = [judge_table(results, *one) for one in CLAIMS.items()]
    return [
        *found,
        judge_bound(results),
        judge_law(results),
        judge_approach(results),
        judge_bins(results),
        judge_votes(results),
    ]


def judge_table(results: Results, key: str, claim: str) -> Verdict:
    """Compare figure by figure with where one more split of ours would lie."""
    found = {title: compare_tables(results, title)[key] for title in titles(results)}
    figures = [one for cells in found.values() for one in cells]
    n_all, n_inside = len(figures), sum(one.is_of_split for one in figures)
    outside = [t for t, one in found.items() if not all(c.is_of_split for c in one)]
    verdict = "reproduced" if n_inside == n_all else "partly"
    n_of_mean = sum(one.is_of_mean for one in figures)
    measured = (
        f"{n_inside} of {n_all} figures lie where one more split of ours would; "
        f"outside on {listed(outside)}; {n_of_mean} in the 95 % interval of our mean"
    )
    return Verdict("000", claim, verdict if n_inside else "not reproduced", measured)


def judge_bound(results: Results) -> Verdict:
    """Corollary 3, on the mean over the test rows, each with its own theta."""
    names = titles(results)
    held = [
        bool((mean(results, one, "apart") <= mean(results, one, "hoeffding")).all())
        for one in names
    ]
    return Verdict(
        "000",
        "Corollary 3: the draws part from the full vote at most exp(−Nθ²/2) often",
        "reproduced" if all(held) else "not reproduced",
        f"at every number of draws on {sum(held)} of {len(names)} sets",
    )


def judge_law(results: Results) -> Verdict:
    """How the error falls with the draws."""
    fits = [fit_of_excess(results, title) for title in titles(results)]
    n_powers = sum(power > exponential for exponential, power in fits)
    return Verdict(
        "000",
        "Figures 1, 2: the error falls exponentially in the number of draws",
        "not reproduced" if n_powers == len(fits) else "partly",
        f"a power of the number of draws fits the excess over AdaBoost better than an "
        f"exponential on {n_powers} of {len(fits)} sets",
    )


def judge_approach(results: Results) -> Verdict:
    """Does the error come within 10 %, and with less than half of the features?

    Each must be sure: the whole interval within.
    """
    names, factor = titles(results), 1 + CLOSE / 100
    is_close, is_few, cells = [], [], []
    for title in names:
        ends = column(results, title, "errors")[:, -1]
        over = interval(ends - factor * column(results, title, "adaboost"))
        read = compare_tables(results, title)[READ][LEVELS.index(CLOSE)]
        is_close.append(over.high <= 0)
        is_few.append(read.high < FEW)
        cells.append(f"{title} {shown(read.mean, READ)} %")
    verdict = "reproduced" if all(is_close) and all(is_few) else "partly"
    if not any(is_close) or not any(is_few):
        verdict = "undecided"
    return Verdict(
        "000",
        "The error comes quickly to AdaBoost's, with few of the features",
        verdict,
        f"after {find_marks()[-1]:,} draws surely within {CLOSE} % on {sum(is_close)} "
        f"of {len(names)} sets; surely fewer than {FEW} % of the features read by then "
        f"on {sum(is_few)} ({listed(cells)})",
    )


def judge_bins(results: Results) -> Verdict:
    """More features stay unread than the bound for even draws says."""
    is_above = []
    for title in titles(results):
        measured, even, even_used = unread(results, title)
        is_above.append((measured >= even).all() and (measured >= even_used).all())
    return Verdict(
        "000",
        "Balls and bins: far more features stay unread than even draws would leave",
        "reproduced" if all(is_above) else "partly",
        f"at every number of draws on {sum(is_above)} of {len(is_above)} sets, even of "
        "the features that AdaBoost reads",
    )


def judge_votes(results: Results) -> Verdict:
    """Deterministic voting beside sampling at the same number of features."""
    names = titles(results)
    cells = [
        one for title in names for one in differences(results, title, "top_rounds")
    ]
    better, worse = (
        sum(one.high < 0 for one in cells),
        sum(one.low > 0 for one in cells),
    )
    four = COUNTS.index(4)
    trap = [one for one in names if differences(results, one, "top")[four].low > 0]
    return Verdict(
        "000",
        "Open question: deterministic votes of most weight, or sampling?",
        "answered",
        f"at the same number of features the hypotheses of most alpha err less in "
        f"{better} of {len(cells)} cases and more in {worse}; the features of most "
        f"alpha err more at 4 features on {listed(trap)}",
    )
