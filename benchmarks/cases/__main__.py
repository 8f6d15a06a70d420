"""What is learnt from logged cases: `make cases`. Fills in docs/learning.md.

Draws that were played are kept in benchmarks/results/cases.json: it goes on where it
was stopped. `python -m benchmarks.cases TABLE LEARNER DRAW` plays one, `… tables` none.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.cases.experiments import EXPLORED, LEARNERS, play
from benchmarks.documents import fill

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "learning.md"
RESULTS = ROOT / "benchmarks" / "results" / "cases.json"

TABLES = ("heart_cleveland", "pima", "hepatitis", "bupa")
N_DRAWS = {"boosting": 20, "panels": 20, "one tree": 20}
#: The columns of the documents' tables.
LEARNT = ("full", "logged", "as missing", "old", "old + full", "old + logged")
LEARNT = (*LEARNT, "old + as missing")
EXPLORING = ("logged", *(f"explored {one:g}" for one in EXPLORED), "full")
# By table, learner and draw: error and log-loss by what was trained on.
Results = dict[str, dict[str, list[float]]]


def key_of(table: str, learner: str, number: int) -> str:
    return f"{table} | {learner} | {number}"


def read_results() -> Results:
    if not RESULTS.is_file():
        return {}
    found: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def play_and_keep(table: str, learner: str, number: int) -> None:
    """Play one draw unless it was played before."""
    key = key_of(table, learner, number)
    if key in read_results():
        return
    played = play(table, learner, number)
    found = {name: [round(x, 5) for x in one] for name, one in played.items()}
    # Read again, since others may have played meanwhile.
    results = read_results() | {key: found}
    lines = (f"{json.dumps(k)}: {json.dumps(results[k])}" for k in sorted(results))
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(key, {name: one[0] for name, one in found.items()}, flush=True)


def rows_of(results: Results, columns: tuple[str, ...]) -> Iterator[list[object]]:
    """Yield the rows of a table of errors in percent, means over all draws.

    Each but the first column has the standard error of its difference from the first.
    """
    for table in TABLES:
        for learner in LEARNERS:
            start = f"{table} | {learner} | "
            draws = [one for key, one in results.items() if key.startswith(start)]
            if len(draws) < 2:
                continue
            errors = 100 * np.array(
                [[one[name][0] for name in columns] for one in draws]
            )
            means = errors.mean(axis=0)
            apart = (errors - errors[:, :1]).std(axis=0, ddof=1) / len(draws) ** 0.5
            cells = [f"{means[0]:.1f}"]
            for mean, one in zip(means[1:], apart[1:], strict=True):
                cells.append(f"{mean:.1f} ± {one:.1f}")
            yield [table.replace("_", " "), learner, len(draws), *cells]


def main(words: list[str]) -> None:
    """Play one draw, or all, and write the document's tables."""
    if len(words) == 3:
        play_and_keep(words[0], words[1], int(words[2]))
    elif not words:
        for learner, n_draws in N_DRAWS.items():
            for number in range(n_draws):
                for table in TABLES:
                    play_and_keep(table, learner, number)
    results = read_results()
    tables = {
        "cases-learnt": rows_of(results, LEARNT),
        "cases-explored": rows_of(results, EXPLORING),
    }
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(fill(text, tables), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
