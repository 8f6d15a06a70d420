"""What refusals cost: `python -m benchmarks.frontier.refusals [--draws N]`.

Every asked feature is refused in turn, under both sorts of prices. Plays what is
missing, keeps a line of JSON for each set, draw and sort of prices, and fills the
tables of docs/frontier.md. A run that is stopped goes on; `--again` plays anew what is
of another commit of core/, `--document` only writes the tables.
"""

import argparse
import sys
from functools import partial

from benchmarks import data
from benchmarks.documents import fill
from benchmarks.frontier import jobs
from benchmarks.frontier.draws import PROTOCOLS, SETS, load
from benchmarks.frontier.jobs import ROOT, Lines
from benchmarks.frontier.refusal_tables import write_all
from benchmarks.frontier.refused import play
from benchmarks.papers.runs import Job, Measurement

DOCUMENT = ROOT / "docs" / "frontier.md"
RESULTS = ROOT / "benchmarks" / "results" / "refusals.json"
KEPT = ROOT / "build" / "frontier" / "refusals.jsonl"
PARTY = "refusals"
N_DRAWS = 2


def find_missing(lines: Lines, titles: list[str], n_draws: int) -> list[Job]:
    """Jobs that have no line, draw after draw."""
    return [
        Job(number, f"{protocol} {PARTY}", title)
        for number in range(n_draws)
        for title in titles
        for protocol in PROTOCOLS
        if (number, title, protocol, PARTY) not in lines
    ]


def make_parts() -> dict[str, Measurement]:
    return {
        f"{protocol} {PARTY}": Measurement({}, {}, partial(play, protocol))
        for protocol in PROTOCOLS
    }


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks.frontier.refusals", description=__doc__
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="these only")
    parser.add_argument("--draws", type=int, default=N_DRAWS, help="so many")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="those of another core/")
    parser.add_argument("--document", action="store_true", help="write it only")
    return parser.parse_args()


def play_missing(arguments: argparse.Namespace, lines: Lines) -> None:
    """Play jobs that have no line, or with `--again` one of another core/."""
    core = jobs.find_core()
    valid = {
        key: line
        for key, line in lines.items()
        if not arguments.again or line["core"] == core
    }
    found, lacking = data.read_each(arguments.sets, load)
    for why in lacking.values():
        print(f"skipped {why}", file=sys.stderr)
    missing = find_missing(valid, list(found), arguments.draws)
    jobs.run(missing, KEPT, arguments.workers, make_parts())


def main() -> int:
    """Play the missing jobs, then store the results and fill in the table."""
    arguments = read_arguments()
    if not arguments.document:
        try:
            play_missing(arguments, jobs.read((RESULTS, KEPT)))
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 130
    lines = jobs.read((RESULTS, KEPT))
    jobs.write(RESULTS, lines)
    KEPT.unlink(missing_ok=True)
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(fill(text, write_all(lines)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
