"""The searches (004), as tables and verdicts."""

import numpy as np

from benchmarks.documents import Rows, listed, percent, signed
from benchmarks.intervals import Interval, Sides, interval, sides
from benchmarks.papers.results import Verdict, measured, records
from benchmarks.papers.runs import Results
from benchmarks.papers.search import LEARNERS, MADE_TRAINING, MARKS, SEARCHES, SETS
from core.arrays import FloatArray

SHOWN = (10, 50, 100, 200)

# How far above the whole search an error may end.
POINT = 0.01


def curves(results: Results, title: str, search: str, key: str) -> FloatArray:
    """Errors or seconds: a row per repetition, a column per mark."""
    return np.array([one[search][key] for one in records(results, title)])


def curve(results: Results, title: str, search: str, key: str) -> FloatArray:
    """The rounds at the marks, or means over the repetitions; errors in percent."""
    if key == "rounds":
        return np.array(find_marks(results, title), dtype=np.float64)
    means = curves(results, title, search, key).mean(axis=0)
    return 100 * means if key == "errors" else means


def titles(results: Results) -> list[str]:
    """Sets and learners that were measured, in one order."""
    wanted = [f"{name} {learner}" for name in SETS for learner in LEARNERS]
    return measured(results, wanted)


def find_marks(results: Results, title: str) -> list[int]:
    """The rounds at which errors and seconds were taken."""
    return list(MARKS[: curves(results, title, "all", "errors").shape[1]])


def difference(
    results: Results, title: str, first: str, second: str, mark: int | None = None
) -> Interval | None:
    """Error of one search above another's, paired; at a mark or at the end.

    None where the run was shorter than the mark.
    """
    marks = find_marks(results, title)
    if mark is not None and mark not in marks:
        return None
    place = -1 if mark is None else marks.index(mark)
    ours, theirs = (
        curves(results, title, search, "errors")[:, place] for search in (first, second)
    )
    return interval(ours - theirs)


def speed(results: Results, title: str, search: str) -> Interval:
    """Seconds of the whole search over another's, paired, at the end; logarithm."""
    whole, ours = (
        curves(results, title, one, "seconds")[:, -1] for one in ("all", search)
    )
    return interval(np.log(whole / ours))


def compare(
    results: Results, first: str, second: str, mark: int | None = None, bound: float = 0
) -> Sides:
    """Where one search surely errs less than another and a bound, and where more."""
    found = {
        title: difference(results, title, first, second, mark)
        for title in titles(results)
    }
    return sides({title: one for title, one in found.items() if one}, bound)


def judge_time(results: Results) -> Verdict | None:
    """The claim is judged by the paper's own constant, b = 1."""
    words, held = [], []
    for search in ("ucb_unscaled", "ucb"):
        speeds = {one: speed(results, one, search) for one in titles(results)}
        faster, near = sides(speeds).more, compare(results, search, "all", bound=POINT)
        held.append((len(faster), len(near.less)))
        words.append(
            f"`{search}`: surely faster than the whole search in {len(faster)} of "
            f"{len(speeds)} cases, surely within a point of its error in "
            f"{len(near.less)}, surely beyond on {listed(near.more)}"
        )
    if not titles(results):
        return None
    verdict = "reproduced" if set(held[0]) == {len(titles(results))} else "partly"
    return "not reproduced" if 0 in held[0] else verdict, "; ".join(words)


def judge_blind(results: Results) -> Verdict | None:
    """UCB beside the blind search, early and at the end."""
    words = [
        f"`{search}` errs surely less {when} on {listed(one.less)}, more on "
        f"{listed(one.more)}"
        for search in ("ucb", "ucb_unscaled")
        for mark, when in ((MARKS[0], f"after {MARKS[0]} rounds"), (None, "at the end"))
        for one in [compare(results, search, "lazy", mark)]
    ]
    return ("answered", "; ".join(words)) if titles(results) else None


def write_sizes(results: Results) -> Rows:
    rows = []
    for name in SETS:
        found = [one for two in LEARNERS for one in records(results, f"{name} {two}")]
        if found:
            n_rows = found[0]["rows"]
            n_training = MADE_TRAINING if name == "made" else 2 * n_rows // 3
            counts = (n_rows, found[0]["features"], n_training)
            rows.append((name, *(f"{one:,}" for one in counts)))
    return rows


def write_searches(results: Results, key: str) -> Rows:
    rows = []
    for title in titles(results):
        marks = find_marks(results, title)
        for search in SEARCHES:
            means = curves(results, title, search, key).mean(axis=0)
            write = percent if key == "errors" else "{:.2f}".format
            cells = [write(means[marks.index(n)]) if n in marks else "" for n in SHOWN]
            label = [title, f"{marks[-1]:,}"] if search == "all" else ["", ""]
            last = "" if search == "all" else set_against(results, title, search, key)
            rows.append([*label, search, *cells, write(means[-1]), last])
    return rows


def set_against(results: Results, title: str, search: str, key: str) -> str:
    """How far a search errs above the whole one, or how much faster it is."""
    if key == "errors":
        gap = difference(results, title, search, "all")
        return signed(gap) if gap else ""
    one = speed(results, title, search)
    low, high = np.exp(one.low), np.exp(one.high)
    return f"{np.exp(one.mean):.1f} × ({low:.1f} to {high:.1f})"


def write_blind(results: Results) -> Rows:
    rows = []
    for title in titles(results):
        for search in ("ucb", "ucb_unscaled"):
            gaps = [
                difference(results, title, search, "lazy", one)
                for one in (*SHOWN, None)
            ]
            cells = [signed(one) if one else "" for one in gaps]
            rows.append([title if search == "ucb" else "", f"{search} − lazy", *cells])
    return rows


TABLES = {
    "search-sizes": write_sizes,
    "search-errors": lambda results: write_searches(results, "errors"),
    "search-seconds": lambda results: write_searches(results, "seconds"),
    "search-blind": write_blind,
}
JUDGES = {"time": judge_time, "blind": judge_blind}
