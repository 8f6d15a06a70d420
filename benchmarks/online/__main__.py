"""Measure online boosting beside river and batch boosting: `make bench-online`.

What benchmarks/results/online.json holds is not measured again; delete it to do so.
"""

import statistics
import sys
from collections.abc import Iterator

from benchmarks.online import ours, peers, speed, tables
from benchmarks.online.kept import Kept
from benchmarks.online.streams import STREAMS


def compare_streams(kept: Kept) -> Iterator[str]:
    """Return lines of a table: error of each, and the ratios to river's best."""
    yield "| stream | river, its best | ours | ratio | half the cost | ratio |"
    yield "|---|---|--:|--:|--:|--:|"
    for name in STREAMS:
        best, title = find_best(kept, name)
        mine = errors_of(kept, f"askless {name} seed ", f"stumps {peers.N_STUMPS}")
        half = errors_of(
            kept, f"askless {name} seed ", f"stumps {peers.N_STUMPS} half cost"
        )
        cells = [f"{show(best)} {title}", show(mine), show(ratios(mine, best))]
        cells += [show(half), show(ratios(half, best))]
        yield f"| {name} | {' | '.join(cells)} |"


def find_best(kept: Kept, name: str) -> tuple[list[float], str]:
    """Return the errors, by seed, and the title of the peer of least median error."""
    found = []
    for peer in peers.every_peer():
        end = f"stumps {peers.N_STUMPS} {peer.title}"
        errors = errors_of(kept, f"river {name} seed ", end)
        if len(errors) == peers.N_SEEDS:
            found.append((statistics.median(errors), errors, peer.title))
    _, errors, title = min(found)
    return errors, title


def errors_of(kept: Kept, start: str, end: str) -> list[float]:
    """Return the errors of all seeds that were measured."""
    keys = (f"{start}{seed} {end}" for seed in range(peers.N_SEEDS))
    return [kept.records[key]["error"] for key in keys if key in kept.records]


def ratios(ones: list[float], others: list[float]) -> list[float]:
    """Return the ratio for each seed."""
    return [one / other for one, other in zip(ones, others, strict=True)]


def show(numbers: list[float]) -> str:
    """Return the median, the least and the greatest."""
    middle = statistics.median(numbers)
    return f"{middle:.3f} ({min(numbers):.3f} to {max(numbers):.3f})"


def compare_tables(kept: Kept) -> Iterator[str]:
    """Return lines of a table: online ÷ batch by budget."""
    heads = ["none" if share is None else f"{share:.0%}" for share in tables.SHARES]
    yield f"| table | {' | '.join(heads)} |"
    yield "|---" + "|--:" * len(heads) + "|"
    for name in tables.NAMES:
        start = f"table {name} draw "
        records = [
            record for key, record in kept.records.items() if key.startswith(start)
        ]
        if not records:
            continue
        means = [
            [
                statistics.fmean(one)
                for one in zip(*(r[who] for r in records), strict=True)
            ]
            for who in ("online", "batch")
        ]
        cells = [f"{a / b:.2f}" for a, b in zip(*means, strict=True)]
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> int:
    """Measure what is missing, and print all of it."""
    kept = Kept()
    for name in STREAMS:
        peers.play_all(kept, name)
    ours.play_all(kept)
    tables.play_all(kept)
    speed.play_all(kept)
    print(*compare_streams(kept), "", *compare_tables(kept), sep="\n")
    found = kept.records["speed"]
    print(f"rows a second: ours {found['askless']}, river {found['river']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
