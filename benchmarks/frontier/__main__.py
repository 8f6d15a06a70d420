"""Measure what is missing and fill in docs/frontier.md: `make frontier [QUICK=1]`.

A quick run has a folder of its own, build/frontier/quick, for document and figures.
`--again PARTY` plays those jobs of a party anew that are of another commit of core/.
"""

import argparse
import sys
from pathlib import Path

from benchmarks import data, plots
from benchmarks.documents import ROOT, Place, fill
from benchmarks.frontier import jobs, tables
from benchmarks.frontier.draws import SETS, load
from benchmarks.frontier.found import gather
from benchmarks.frontier.parties import PARTIES
from benchmarks.frontier.pictures import draw_frontier
from benchmarks.lines import Lines, find_core, write

SOURCE = ROOT / "docs" / "frontier.md"
BUILD = ROOT / "build" / "frontier"
WHOLE = Place(ROOT / "benchmarks" / "results" / "frontier.json", SOURCE)
QUICK = Place(BUILD / "quick" / "frontier.json", BUILD / "quick" / "frontier.md")
QUICK_NOTE = (
    "> **A quick run** (`make frontier QUICK=1`): two draws of few sets. The full "
    "document is docs/frontier.md.\n\n"
)

QUICK_SETS = ("ecoli", "heart_cleveland", "bupa")
N_DRAWS, N_QUICK_DRAWS = 6, 2
# The last five are filled in by commands of their own.
NAMES = (
    *("runs", *tables.TABLES),
    *("generated", "shuffled", "promises", "named", "mean-budgets"),
)


def write_document(lines: Lines, place: Place) -> None:
    """Fill in the regions of the document from what is kept, and draw its picture."""
    filled = fill(SOURCE.read_text(encoding="utf-8"), tables.write_all(lines))
    head, body = filled.split("\n\n", 1)
    note = QUICK_NOTE if place is QUICK else ""
    place.document.parent.mkdir(parents=True, exist_ok=True)
    place.document.write_text(f"{head}\n\n{note}{body}", encoding="utf-8")
    path = place.document.parent / "figures" / "frontier.svg"
    plots.save(draw_frontier(gather(lines)), path)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.frontier", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two draws of few sets")
    parser.add_argument("--sets", nargs="+", help="these only")
    parser.add_argument("--draws", type=int, help="so many")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", nargs="+", default=[], choices=PARTIES)
    parser.add_argument(
        "--document", action="store_true", help="write it from what is kept"
    )
    return parser.parse_args()


def main() -> int:
    """Play the missing jobs, then write the document."""
    arguments = read_arguments()
    place = QUICK if arguments.quick else WHOLE
    kept = BUILD / "quick" / "jobs.jsonl" if arguments.quick else BUILD / "jobs.jsonl"
    lines = jobs.read((place.results, kept))
    if not arguments.document:
        try:
            play_missing(arguments, lines, kept)
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 130
        lines = jobs.read((place.results, kept))
    write(place.results, lines)
    kept.unlink(missing_ok=True)
    write_document(lines, place)
    print(f"wrote {place.document}", file=sys.stderr)
    return 0


def play_missing(arguments: argparse.Namespace, lines: Lines, kept: Path) -> None:
    """Play what is not kept, and what `--again` names and is of another core/."""
    core, again = find_core(), arguments.again
    valid = {
        key: line
        for key, line in lines.items()
        if line["party"] not in again or line["core"] == core
    }
    titles = arguments.sets or (QUICK_SETS if arguments.quick else SETS)
    found, lacking = data.read_each(titles, load)
    for why in lacking.values():
        print(f"skipped {why}", file=sys.stderr)
    n_draws = arguments.draws or (N_QUICK_DRAWS if arguments.quick else N_DRAWS)
    missing = jobs.find_jobs(found, n_draws, valid)
    jobs.run(missing, kept, arguments.workers, jobs.make_parts())


if __name__ == "__main__":
    sys.exit(main())
