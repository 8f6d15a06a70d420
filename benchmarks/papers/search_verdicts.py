"""What became of the claim of Kegl and Busa-Fekete (2009), and a question of ours."""

from __future__ import annotations

from benchmarks.papers.document import Verdict, listed
from benchmarks.papers.runs import Results
from benchmarks.papers.search import MARKS
from benchmarks.papers.search_findings import faster, surely, titles, within


def verdicts(results: Results) -> list[Verdict]:
    """The claim is judged by the paper's own constant, b = 1."""
    n_cases = len(titles(results))
    if not n_cases:
        return []
    n_faster = len(faster(results, "ucb_unscaled"))
    n_within = len(within(results, "ucb_unscaled"))
    verdict = "reproduced" if n_faster == n_within == n_cases else "partly"
    if not n_faster or not n_within:
        verdict = "not reproduced"
    return [
        Verdict(
            "004",
            "UCB(k) cuts training time at little cost in error",
            verdict,
            f"{describe(results, 'ucb_unscaled')}; with our scaled bonus "
            f"{describe(results, 'ucb')}",
        ),
        Verdict(
            "004",
            "Our question (the paper only describes LazyBoost): does learning which "
            "features pay beat drawing them blindly?",
            "answered",
            f"{compare(results, 'ucb')}; {compare(results, 'ucb_unscaled')}",
        ),
    ]


def describe(results: Results, search: str) -> str:
    """How often a search is fast, and how often good."""
    n_cases = len(titles(results))
    text = (
        f"`{search}` surely faster than the whole search in "
        f"{len(faster(results, search))} of {n_cases} cases, surely within a point of "
        f"its error in {len(within(results, search))}"
    )
    beyond = within(results, search, surely=False)
    return text + (f", surely beyond on {listed(beyond)}" if beyond else "")


def compare(results: Results, search: str) -> str:
    """A search beside the blind one, early and at the end."""
    cells = []
    for mark, when in ((MARKS[0], f"after {MARKS[0]} rounds"), (None, "at the end")):
        less, more = surely(results, search, "lazy", mark)
        cells.append(f"less on {listed(less)} and more on {listed(more)} {when}")
    n_cases = len(titles(results))
    return f"of {n_cases} cases `{search}` errs surely {', '.join(cells)}"
