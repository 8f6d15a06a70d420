"""What the document says of the searches (004)."""

from __future__ import annotations

from benchmarks.papers import document
from benchmarks.papers.document import percent, records, signed, table
from benchmarks.papers.runs import Results
from benchmarks.papers.search import LEARNERS, MADE, SEARCHES, SETS
from benchmarks.papers.search_findings import (
    curves,
    difference,
    marks,
    speed,
    titles,
)

SHOWN = (10, 50, 100, 200)


def section(results: Results) -> str:
    """Figures, tables and what differs from the paper."""
    if not titles(results):
        return ""
    return "\n\n".join(
        [
            "## 004: Kégl and Busa-Fekete (2009), UCB(k)",
            introduce(results),
            "`ucb` **deviates from the paper**: its bonus is b √(2 ln t/Tⱼ) with b the "
            "largest reward seen so far, where the paper's b is 1, the range that "
            "rewards could have. Rewards being far smaller, b = 1 sweeps the features "
            "almost by count alone. `ucb_unscaled` is the paper's.",
            "### Error and time against rounds",
            "![Test error against rounds](figures/search_error.svg)",
            "![Seconds against rounds](figures/search_seconds.svg)",
            "![Test error against seconds](figures/search_time.svg)",
            errors_table(results),
            seconds_table(results),
            "The features of ocr49 and adult_onehot have two or four values and share "
            "bytes, so that one pass over all of them for a stump costs about what "
            "looking at a few does; there the searches save time where trees look at "
            "their leaves' rows. Many numbers of many values are what they are for.",
            "### Our question: is learning better than drawing blindly?",
            "The paper describes LazyBoost, but compares nothing with it. Error of UCB "
            "above that of `lazy` in points, paired; below 0 it errs less:",
            blind_table(results),
        ]
    )


def introduce(results: Results) -> str:
    settings = results["settings"]
    sizes = [
        f"{name} ({one['rows']:,} × {one['features']:,})"
        for name in SETS
        for one in [find_record(results, name)]
        if one
    ]
    training, *_ = settings["made"]
    return (
        f"All rows of {document.listed(sizes)}; two thirds train, of `{MADE}` "
        f"{training:,}: that is a table of normal numbers, half of them of use, anew "
        f"for each repetition. {document.repetitions(results)} splits or tables; "
        f"`adaboost`; k = {settings['search_size']}; trees of {settings['leaves']} "
        f"leaves, products of {settings['factors']} stumps. Errors are means in "
        "percent, differences paired with 95 % intervals; seconds are those of "
        "boosting alone, processor time on one core. The paper's own figures are of "
        "the KDD Cup 2009 set (50,000 × 6,546), which we don't have, after 8,000 "
        "rounds; it gives no comparison with the whole search in numbers, so only its "
        "claim is judged."
    )


def find_record(results: Results, name: str) -> dict | None:
    """Any repetition of a set."""
    for learner in LEARNERS:
        found = records(results, f"{name} {learner}")
        if found:
            return found[0]
    return None


def at_marks(results: Results, title: str, search: str, key: str) -> list[float | None]:
    """Means at the shown marks, None beyond the end, and at the end."""
    means = curves(results, title, search, key).mean(axis=0)
    taken = marks(results, title)
    shown = [means[taken.index(one)] if one in taken else None for one in SHOWN]
    return [*shown, means[-1]]


def errors_table(results: Results) -> str:
    rows = []
    for title in titles(results):
        for search in SEARCHES:
            cells = [
                "" if one is None else percent(one)
                for one in at_marks(results, title, search, "errors")
            ]
            gap = None if search == "all" else difference(results, title, search, "all")
            rows.append(
                [*label(results, title, search), *cells, signed(gap) if gap else ""]
            )
    heading = ("set and learner", "rounds", "search", *(f"{n:,}" for n in SHOWN))
    return "Test error after so many rounds:\n\n" + table(
        (*heading, "at the end", "above `all`"), rows
    )


def seconds_table(results: Results) -> str:
    rows = []
    for title in titles(results):
        for search in SEARCHES:
            cells = [
                "" if one is None else f"{one:.2f}"
                for one in at_marks(results, title, search, "seconds")
            ]
            times = ""
            if search != "all":
                one = speed(results, title, search)
                times = f"{one.middle:.1f} × ({one.low:.1f} to {one.high:.1f})"
            rows.append([*label(results, title, search), *cells, times])
    heading = ("set and learner", "rounds", "search", *(f"{n:,}" for n in SHOWN))
    return "Seconds of boosting after so many rounds:\n\n" + table(
        (*heading, "at the end", "faster than `all`"), rows
    )


def label(results: Results, title: str, search: str) -> list[str]:
    """The first cells of a row; a title and its rounds once only."""
    rounds = f"{marks(results, title)[-1]:,}"
    return [title, rounds, search] if search == "all" else ["", "", search]


def blind_table(results: Results) -> str:
    rows = []
    for title in titles(results):
        for search in ("ucb", "ucb_unscaled"):
            gaps = [
                difference(results, title, search, "lazy", one)
                for one in (*SHOWN, None)
            ]
            cells = [signed(one) if one else "" for one in gaps]
            rows.append([title if search == "ucb" else "", f"{search} − lazy", *cells])
    heading = ("set and learner", "", *(f"{n:,}" for n in SHOWN), "at the end")
    return table(heading, rows)
