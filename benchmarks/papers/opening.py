"""The head of the document: how it was made, and the verdicts of all parts."""

from __future__ import annotations

from benchmarks.papers.document import Verdict, minutes, table
from benchmarks.papers.runs import Results

TITLES = {
    "000": "Reyzin (2010)",
    "001": "Huang, Powers, Reyzin (2015)",
    "002": "Sebban, Nock (1999)",
    "003": "slides on ensemble methods",
    "004": "Kégl, Busa-Fekete (2009)",
}


def write(all_results: dict[str, Results], verdicts: list[Verdict], quick: bool) -> str:
    """Title, provenance, verdicts."""
    spent = {
        name: minutes(one)
        for name, one in all_results.items()
        if "version" in one["settings"]
    }
    parts = [
        "# Evidence",
        QUICK if quick else "",
        HOW,
        "Processor time of the figures below, on one core: "
        + ", ".join(f"{name} {time:.1f} min" for name, time in spent.items())
        + ".",
        "## Verdicts",
        verdicts_table(verdicts),
    ]
    return "\n\n".join(one for one in parts if one)


QUICK = (
    "> **A quick run** (`make evidence QUICK=1`): few repetitions, wide intervals, and "
    "verdicts accordingly, all of it measured by this run. The full document is "
    "docs/evidence.md."
)
HOW = (
    "Written by `make evidence` (`python -m benchmarks.papers`) from the papers' "
    "text, the shared data sets and our engine; every number was computed by that "
    "command and is stored in `benchmarks/results/papers_*.json`. It goes on where "
    "it was stopped and plays nothing twice; `make evidence QUICK=1` is the same "
    "with few repetitions, all of it below `build/evidence/`.\n\n± and “95 %” are "
    "intervals of the mean over random splits (Student's t, paired where two "
    "algorithms are compared; bootstrap where said). “Surely” means that such an "
    "interval excludes the contrary, one comparison at a time: of many at once a few "
    "are sure by chance. Splits of one set share rows, so the intervals speak of "
    "these sets, not of the populations behind them. Nothing is tuned on test "
    "rows but k of 002, which was chosen on two of the sets that it is judged on."
)


def verdicts_table(verdicts: list[Verdict]) -> str:
    """All claims in the order of the papers."""
    rows = [
        (
            f"{one.paper} {TITLES.get(one.paper, '')}".strip(),
            one.claim,
            f"**{one.verdict}**",
            one.why,
        )
        for one in verdicts
    ]
    return table(("paper", "claim", "verdict", "measured, and why"), rows)
