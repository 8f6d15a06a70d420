"""Measure what is missing and fill in docs/buying-evidence.md: `make buying [QUICK=1]`.

A quick run has a folder of its own, build/buying/quick, for document and figures. Each
seed and number of training cases is a line; the same command goes on where it was
stopped.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.buying import parties, tables
from benchmarks.documents import ROOT, Place, fill
from benchmarks.lines import Line, Lines, add, find_core, read, write

SOURCE = ROOT / "docs" / "buying-evidence.md"
BUILD = ROOT / "build" / "buying"
WHOLE = Place(ROOT / "benchmarks" / "results" / "buying.json", SOURCE)
QUICK = Place(BUILD / "quick" / "buying.json", BUILD / "quick" / "buying-evidence.md")
QUICK_NOTE = (
    "> **A quick run** (`make buying QUICK=1`): one seed, few cases. The full document "
    "is docs/buying-evidence.md.\n\n"
)
# The last is filled in by a command of its own.
NAMES = (*tables.TABLES, "known")
KEY = ("n_train", "seed")
# Raise it when the meaning of a figure changes.
VERSION = 2
N_SEEDS = 10


class Sizes(NamedTuple):
    """Training cases that are tried, test cases, and seeds."""

    training: tuple[int, ...]
    n_test: int
    n_seeds: int


FULL, FEW = Sizes((600, 2000), 4000, N_SEEDS), Sizes((150,), 300, 1)


def list_missing(sizes: Sizes, lines: Lines) -> Iterator[tuple[int, int]]:
    """Yield numbers of training cases and seeds that have no line, seed after seed."""
    for seed in range(sizes.n_seeds):
        for n_train in sizes.training:
            if (n_train, seed) not in lines:
                yield n_train, seed


def measure(n_train: int, n_test: int, seed: int, show: Callable[[str], None]) -> Line:
    """Measure every party on the cases of a seed."""
    cases = parties.draw_cases(n_train, n_test, seed)
    line: Line = {"n_train": n_train, "seed": seed, "n_test": n_test}
    line |= {"version": VERSION, "core": find_core()}
    return {**line, **parties.play_all(cases, show)}


def write_document(lines: Lines, place: Place) -> None:
    """Fill in the regions of the document from what is kept."""
    text = fill(SOURCE.read_text(encoding="utf-8"), tables.write_all(lines))
    head, body = text.split("\n\n", 1)
    note = QUICK_NOTE if place is QUICK else ""
    place.document.parent.mkdir(parents=True, exist_ok=True)
    place.document.write_text(f"{head}\n\n{note}{body}", encoding="utf-8")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.buying", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, few cases")
    parser.add_argument("--seeds", type=int, help="so many")
    parser.add_argument("--training", type=int, nargs="+", help="so many cases only")
    parser.add_argument(
        "--document", action="store_true", help="write it from what is kept"
    )
    return parser.parse_args()


def play_missing(arguments: argparse.Namespace, lines: Lines, kept: Path) -> None:
    """Measure what is not kept, and add each line as soon as it is there."""
    sizes = FEW if arguments.quick else FULL
    sizes = sizes._replace(
        training=tuple(arguments.training or sizes.training),
        n_seeds=arguments.seeds or sizes.n_seeds,
    )
    for n_train, seed in list_missing(sizes, lines):
        line = measure(n_train, sizes.n_test, seed, show_progress)
        add(kept, line)
        show_progress(tables.summarise(line))


def show_progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Measure the missing lines, then write the document."""
    arguments = read_arguments()
    place = QUICK if arguments.quick else WHOLE
    kept = BUILD / "quick" / "lines.jsonl" if arguments.quick else BUILD / "lines.jsonl"
    lines = read((place.results, kept), KEY, VERSION)
    if not arguments.document:
        try:
            play_missing(arguments, lines, kept)
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 130
        lines = read((place.results, kept), KEY, VERSION)
    write(place.results, lines)
    kept.unlink(missing_ok=True)
    write_document(lines, place)
    print(f"wrote {place.document}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
