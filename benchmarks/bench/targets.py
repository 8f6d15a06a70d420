"""Whether each target of targets.csv is reached."""

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import read_rows

TARGETS = Path(__file__).with_suffix(".csv")


def judge(parts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every target whose part was measured, with the figure and the verdict.

    A target's path leads to its figure in the part, the greatest where there are more.
    """
    judged = []
    for row in read_rows(TARGETS):
        if row["part"] not in parts:
            continue
        found = reduce(
            lambda one, key: one[key], row["path"].split(), parts[row["part"]]
        )
        figure = float(np.max(found)) * float(row["scale"])
        limit, is_floor = float(row["limit"]), row["bound"] == "at least"
        is_reached = figure >= limit if is_floor else figure <= limit
        judged.append(
            {
                "part": row["part"],
                "what": row["what"],
                "limit": int(limit) if limit.is_integer() else limit,
                "is_floor": is_floor,
                "figure": round(figure, 4),
                "unit": row["unit"],
                "verdict": "reached" if is_reached else "not reached",
            }
        )
    return judged
