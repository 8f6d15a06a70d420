"""Makes a clean table messy, as one's own tables are: for tests and for trials by hand.

    python -m benchmarks.mess heart.csv -o messy.csv --target label

Adds an index and an identifier, a column of dates, codes and words for missing, one
stray word among numbers, and white space. The same seed makes the same mess.
"""

import argparse
import csv
import gzip
import random
from datetime import date, timedelta
from pathlib import Path

WORDS = ("n/a", "-", "None", "#N/A", ".", "NA", "")
CODE = "-999"
STRAY = "$5"
SPACES = (" {}", "{} ", " {} ")
#: Share of the cells of a column that are missing, and that have white space.
MISSING_SHARE = 0.05
SPACE_SHARE = 0.1
FIRST_DAY = date(2019, 1, 1)

Rows = list[dict[str, str]]


def read_clean(path: Path) -> Rows:
    """Read a CSV table, also a compressed one."""
    content = path.read_bytes()
    plain = gzip.decompress(content) if path.suffix == ".gz" else content
    return list(csv.DictReader(plain.decode().splitlines()))


def is_number(cell: str) -> bool:
    """Whether a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def mess_up(rows: Rows, target: str, seed: int) -> Rows:
    """Return a table with the mess; its target has white space and nothing worse."""
    draw = random.Random(seed)
    names = [name for name in rows[0] if name != target]
    numbers = [
        name
        for name in names
        if all(is_number(row[name]) or row[name] == "" for row in rows)
        and len({row[name] for row in rows}) > 20
    ]
    made = [dict(row) for row in rows]
    for name in names:
        marks = (*WORDS, CODE) if name in numbers else ("NA", "")
        for row in made:
            if draw.random() < MISSING_SHARE:
                row[name] = draw.choice(marks)
    if numbers:
        draw.choice(made)[numbers[0]] = STRAY
    for row in made:
        for name in row:
            if draw.random() < SPACE_SHARE:
                row[name] = draw.choice(SPACES).format(row[name])
    ids = draw.sample(range(100_000, 1_000_000), len(made))
    days = [FIRST_DAY + timedelta(draw.randrange(900)) for _ in made]
    return [
        {"": str(number), "patient_id": str(ids[number]), "seen": f"{days[number]}"}
        | {f" {name} " if name == names[-1] else name: row[name] for name in row}
        for number, row in enumerate(made)
    ]


def write_rows(path: Path, rows: Rows) -> None:
    """Write a table as CSV."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mess")
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--target", default="label")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write_rows(given.out, mess_up(read_clean(given.data), given.target, given.seed))


if __name__ == "__main__":
    main()
